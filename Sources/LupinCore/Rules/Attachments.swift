// All that lupin attaches to one request, and what follows from it: who may have it, whether the
// response is stored, and with whom it is shared.

/// The attachments of one request to one origin.
package struct Attachments: Sendable {
    package private(set) var all: [Attached]
    /// The names of the rules that say so, and the version of their file.
    private let names: [String]
    private let version: String

    /// - Parameters:
    ///   - plan: nil where no rule matches.
    ///   - defaultCertificate: `upstream.tls.client_cert`.
    ///   - target: Where the request goes, after the steps of the rules.
    ///   - parent: The parent proxy on the way.
    ///   - version: That of the rules.
    package init(
        of plan: Plan?,
        defaultCertificate: CertificateFiles?,
        at target: Origin,
        by parent: ParentProxy?,
        version: String
    ) {
        all = plan?.attachments ?? []
        names = plan?.names ?? []
        self.version = version
        // Only where lupin itself speaks TLS with the origin.
        if target.scheme == .https, let files = plan?.clientCertificate ?? defaultCertificate {
            all.append(.clientCertificate(files))
        }
        if let parent, parent.userinfo != nil { all.append(.parentIdentity(parent)) }
    }

    /// These alone, of a file of that version.
    package init(_ all: [Attached], version: String = "") {
        self.all = all
        names = []
        self.version = version
    }

    /// Adds what came up on the way.
    package mutating func add(_ attachment: Attached) {
        if !all.contains(attachment) { all.append(attachment) }
    }

    package var isEmpty: Bool { all.isEmpty }

    /// What a shared cache makes of the response.
    package var storing: Attached.Storing { all.map(\.storing).max() ?? .asUsual }

    /// What parts responses to this request from others to the same URL; empty where nothing does.
    ///
    /// It may hold a password: only a keyed digest of it may be kept.
    package var partition: String {
        let parts = all.compactMap(\.partition)
        if parts.isEmpty { return "" }
        // Words for the rules are made here, and not for every request.
        let isDefined = all.contains(where: \.isDefinedByRules)
        let definition = isDefined ? ["rules \(version) \(names)"] : []
        return (parts + definition).map { "\($0)\n" }.joined()
    }

    /// For `explain`.
    package var texts: [String] { all.compactMap(\.text) }
}

extension Plan {
    /// Whether `access.credentials` is asked who the client is, for a request to `origin`.
    ///
    /// This is the one place that decides it: the engine, `explain` and everything that remembers
    /// requests ask here.
    package func isForOwner(
        at origin: Origin,
        isConnect: Bool,
        defaultCertificate: CertificateFiles?
    ) -> Bool {
        if isForOwner { return true }
        guard (clientCertificate ?? defaultCertificate) != nil else { return false }
        return Plan.showsCertificate(at: origin, isConnect: isConnect) || turnsToTLS
    }

    /// The same where no rule matches.
    package static func isForOwner(
        at origin: Origin,
        isConnect: Bool,
        defaultCertificate: CertificateFiles?
    ) -> Bool {
        defaultCertificate != nil && showsCertificate(at: origin, isConnect: isConnect)
    }

    /// A client certificate is shown where lupin itself speaks TLS with the origin.
    private static func showsCertificate(at origin: Origin, isConnect: Bool) -> Bool {
        origin.scheme == .https && !isConnect
    }

    /// Whether a step may lead a request in clear to an origin under TLS.
    private var turnsToTLS: Bool {
        steps.contains { entry in
            guard case .url(let step) = entry.step else { return false }
            return step.scheme == .https
        }
    }
}
