// Why a cookie that a server sets is not stored.

/// The reason for ignoring a cookie.
package enum CookieProblem: String, Error, Sendable, Equatable, CaseIterable {
    /// A control byte other than a tab.
    case controlByte
    /// More than ``SetCookie/pairBytesMax`` for name and value.
    case tooLong
    /// Neither name nor value.
    case empty
    /// The path, its own or the request's, has more than ``SetCookie/attributeBytesMax``.
    case pathTooLong
    /// The Domain attribute is not the host itself.
    case foreignDomain
    /// Secure, over a connection that is not secure.
    case insecureConnection
    /// It would replace a Secure cookie, over a connection that is not secure.
    case overlaysSecure
    /// `__Secure-` or `__Host-`, without the properties that the prefix requires.
    case brokenPrefix
    /// A nameless cookie whose value would be read as a name with a prefix.
    case prefixInValue
    /// All other cookies of the host have priority.
    case full
}
