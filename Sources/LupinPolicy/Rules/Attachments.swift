// All that lupin attaches to one request, and its consequences: who may use it, whether the
// response is stored, and with which requests it is shared.

package import LupinCore

/// The attachments of one request to one origin.
package struct Attachments: Sendable {
    package private(set) var all: [Attached]
    /// The names of the rules that define them, and the version of their file.
    private let names: [String]
    private let version: String

    /// - Parameters:
    ///   - plan: nil when no rule matches.
    ///   - defaultCertificate: `upstream.tls.client_cert`.
    ///   - target: The origin after the steps of the rules.
    ///   - parent: The parent proxy for the request.
    ///   - version: The version of the rules.
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
        // Only if lupin itself speaks TLS with the origin.
        if target.scheme == .https, let files = plan?.clientCertificate ?? defaultCertificate {
            all.append(.clientCertificate(files))
        }
        if let parent, parent.userinfo != nil { all.append(.parentIdentity(parent)) }
    }

    /// Creates the given attachments only, of a file with that version.
    package init(_ all: [Attached], version: String = "") {
        self.all = all
        names = []
        self.version = version
    }

    /// Adds an attachment that was found later.
    package mutating func add(_ attachment: Attached) {
        if !all.contains(attachment) { all.append(attachment) }
    }

    package var isEmpty: Bool { all.isEmpty }

    /// The effect of all attachments on storing the response in a shared cache.
    package var storing: Attached.Storing { all.map(\.storing).max() ?? .asUsual }

    /// Separates responses to this request from others for the same URL; empty without partition.
    ///
    /// It may contain a password: only a keyed digest of it may be stored.
    package var partition: String {
        let parts = all.compactMap(\.partition)
        if parts.isEmpty { return "" }
        // Formatted only if a part is defined by the rules, not for every request.
        let isDefined = all.contains(where: \.isDefinedByRules)
        let definition = isDefined ? ["rules \(version) \(names)"] : []
        return (parts + definition).map { "\($0)\n" }.joined()
    }

    /// Whether pages of other sites share no stored response with the owner's own requests.
    package var partsPages: Bool { all.contains { $0.forPages == .apart } }

    /// For `explain`.
    package var texts: [String] { all.compactMap(\.text) }
}

extension Plan {
    /// Whether `access.credentials` must allow the client, for a request to `origin`.
    ///
    /// The only place of this decision: the engine, `explain` and everything that remembers
    /// requests use it.
    package func isForOwner(
        at origin: Origin,
        isConnect: Bool,
        defaultCertificate: CertificateFiles?
    ) -> Bool {
        isForOwner
            || showsCertificate(at: origin, isConnect, defaultCertificate: defaultCertificate)
    }

    /// The same for requests that no rule matches.
    package static func isForOwner(
        at origin: Origin,
        isConnect: Bool,
        defaultCertificate: CertificateFiles?
    ) -> Bool {
        defaultCertificate != nil && showsCertificate(at: origin, isConnect: isConnect)
    }

    /// The first page of another site that may not use what is attached to its request; nil when
    /// there is none, or nothing is attached.
    ///
    /// The only place of this decision, as `isForOwner` is of that about the user.
    package func refusedPage(
        in pages: @autoclosure () -> [ForeignPage],
        at origin: Origin,
        isConnect: Bool,
        defaultCertificate: CertificateFiles?
    ) -> ForeignPage? {
        guard crossSite != .any,
            isForOwnPages
                || showsCertificate(at: origin, isConnect, defaultCertificate: defaultCertificate)
        else { return nil }
        return pages().first { !crossSite.admits($0) }
    }

    /// The same for a file that a folder of `respond` has for its owner alone.
    package func refusedPageOfFile(in pages: @autoclosure () -> [ForeignPage]) -> ForeignPage? {
        guard respond?.readsFile == true, respond?.namesFile == false, crossSite != .any else {
            return nil
        }
        return pages().first { !crossSite.admits($0) }
    }

    /// Why `page` does not get such a file, for its user.
    package static func refusal(ofFileFor page: ForeignPage, at origin: Origin) -> String {
        "This request comes from \(page.text). A file that its owner alone may read goes only to "
            + "requests of \(origin.scheme.name)://\(origin.authority) itself, of programs, and of "
            + "the pages that cross_site in the rule lists; chmod a+r lets all have it."
    }

    /// The same for requests that no rule matches.
    package static func refusedPage(
        in pages: @autoclosure () -> [ForeignPage],
        at origin: Origin,
        isConnect: Bool,
        defaultCertificate: CertificateFiles?
    ) -> ForeignPage? {
        let isForOwner = isForOwner(
            at: origin,
            isConnect: isConnect,
            defaultCertificate: defaultCertificate
        )
        return isForOwner ? pages().first : nil
    }

    /// Why `page` is refused, for its user.
    package static func refusal(of page: ForeignPage, by plan: Plan?, at origin: Origin) -> String {
        let texts = (plan?.attachments ?? []).filter { $0.forPages == .refused }.compactMap(\.text)
        let what = texts.isEmpty ? "a client certificate" : texts.joined(separator: ", ")
        let rule = plan?.owningRule.map { "The rule \"\($0)\"" } ?? "upstream.tls.client_cert"
        return "This request comes from \(page.text). \(rule) attaches \(what) only to requests of "
            + "\(origin.scheme.name)://\(origin.authority) itself, of programs, and of the pages "
            + "that cross_site in the rule lists."
    }

    /// Why a request to which rules attach credentials is refused for its method, for its user.
    package static func refusal(ofEcho method: Method) -> String {
        "A \(method.token) repeats the request to its client, and rules attach credentials to this "
            + "one (RFC 9110, section 9.3.8)."
    }

    private func showsCertificate(
        at origin: Origin,
        _ isConnect: Bool,
        defaultCertificate: CertificateFiles?
    ) -> Bool {
        guard (clientCertificate ?? defaultCertificate) != nil else { return false }
        return Plan.showsCertificate(at: origin, isConnect: isConnect) || turnsToTLS
    }

    /// Whether lupin itself speaks TLS with the origin, and so presents a client certificate.
    private static func showsCertificate(at origin: Origin, isConnect: Bool) -> Bool {
        origin.scheme == .https && !isConnect
    }

    /// Whether a step may change an http request to https.
    private var turnsToTLS: Bool {
        steps.contains { entry in
            guard case .url(let step) = entry.step else { return false }
            return step.scheme == .https
        }
    }
}
