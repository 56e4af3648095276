// Why a cookie that a server wants to set is not kept.

/// The reason for ignoring a cookie.
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
}
