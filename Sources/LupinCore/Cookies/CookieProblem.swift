// Why a cookie that a server wants to set is not kept.

/// The reason for ignoring a cookie.
///
/// Sentences never hold the cookie's name or value: values are secrets, and both are a peer's
/// bytes.
package enum CookieProblem: String, Error, Sendable, Equatable, CaseIterable {
    /// A control byte other than a tab.
    case controlByte
    /// lupin keeps texts, and would have to change the value.
    case notUTF8
    /// More than ``SetCookie/pairBytesMax`` for name and value.
    case tooLong
    /// Neither name nor value.
    case empty
    /// The path, its own or the request's, has more than ``SetCookie/attributeBytesMax``.
    case pathTooLong
    /// The Domain attribute is not the host itself.
    case foreignDomain
    /// Secure, over a connection that isn't.
    case insecureConnection
    /// It would take the place of a Secure cookie, over a connection that isn't.
    case overlaysSecure
    /// `__Secure-` or `__Host-`, without what the prefix promises.
    case brokenPrefix
    /// A nameless cookie whose value would be read as a name with a prefix.
    case prefixInValue
    /// All others of the host come first.
    case full

    /// The reason in words for people, to complete "a cookie was ignored: …".
    package var sentence: String {
        switch self {
        case .controlByte: "it has a control byte in it"
        case .notUTF8: "it is not UTF-8"
        case .tooLong: "its name and value have more than \(SetCookie.pairBytesMax) bytes"
        case .empty: "it has neither name nor value"
        case .pathTooLong: "its path has more than \(SetCookie.attributeBytesMax) bytes"
        case .foreignDomain:
            "its Domain is not the host that set it, and lupin keeps cookies host by host"
        case .insecureConnection: "it is Secure and did not come over https"
        case .overlaysSecure: "a Secure cookie has that name, and it did not come over https"
        case .brokenPrefix: "it is not what the prefix of its name promises"
        case .prefixInValue: "it has no name, and its value begins like a protected name"
        case .full: "the host has too many cookies"
        }
    }
}
