// What the paths are for that a rules file names, and which of them lead to no secret.

/// A path in a rules file.
package struct NamedPath: Sendable, Hashable {
    package let role: PathRole
    /// Absolute, unless the file has no folder; it may have links.
    package let path: String

    package init(_ role: PathRole, _ path: String) { (self.role, self.path) = (role, path) }
}

/// What a rules file names by a path.
package enum PathRole: Sendable, CaseIterable {
    /// A list of hosts.
    case hosts
    /// Certificates of others: trust anchors, and those that are trusted as they are.
    case certificates
    /// A certificate of lupin's own, whose key has a path of its own.
    case certificate
    case key
    /// The certificate of the local CA, and its key.
    case authority, authorityKey
    /// Who may use lupin, with digests of passwords.
    case users
    case program
    case secret
    case cookies
    /// Where a token is kept.
    case token
    /// A file or folder that answers requests.
    case answers
    case log
    /// A folder of lupin's own: stored responses, captured exchanges.
    case folder
    /// Where lupin answers its user.
    case socket

    /// Whether what is there is shown to everybody by its nature, as long as no key lies with it.
    package var isPublic: Bool {
        switch self {
        case .certificates, .certificate, .authority: true
        case .hosts, .key, .authorityKey, .users, .program, .secret, .cookies, .token, .answers,
            .log, .folder, .socket:
            false
        }
    }
}
