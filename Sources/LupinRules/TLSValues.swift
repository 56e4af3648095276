// What the file says about TLS towards origins, and about interception.

import LupinCore
import LupinPolicy

// MARK: Towards origins

extension DecodingContext {
    /// `tls:` of a rule.
    func tlsOverrides(_ node: YAMLNode) -> TLSOverrides {
        var overrides = TLSOverrides()
        let example = "{min: \"1.2\"}"
        for entry in entries(node, of: "a map", example: example) ?? [] {
            switch entry.key {
            case "min": overrides.minimum = tlsVersion(entry.value)
            case "alpn": overrides.protocols = offeredProtocols(entry.value)
            case "ciphers": overrides.ciphers = ciphers(entry.value)
            case "close_notify": overrides.closeNotify = closeNotify(entry.value)
            default:
                unknownKey(entry, in: "tls", known: ["min", "alpn", "ciphers", "close_notify"])
            }
        }
        return overrides
    }

    private func closeNotify(_ node: YAMLNode) -> TLSOverrides.CloseNotify? {
        let words = TLSOverrides.CloseNotify.allCases.map(\.rawValue)
        return word(node, words, example: "optional")
            .flatMap { TLSOverrides.CloseNotify(rawValue: $0) }
    }

    private func tlsVersion(_ node: YAMLNode) -> TLSVersion? {
        guard let setting = SettingsTable.setting("upstream.tls.min") else { return nil }
        return word(node, setting)
    }

    /// `upstream.tls.roots`; nil when a problem was told.
    func trustAnchors(_ node: YAMLNode) -> TrustAnchorSettings? {
        if items(node).isEmpty {
            let message = "without trust anchors no origin passes"
            return refuse(.range, message, at: node, hint: "write [system]")
        }
        var anchors = TrustAnchorSettings()
        anchors.usesSystem = false
        let files = all(node) { item -> [String]? in
            guard let text = text(item, expected: "system or a file", example: "system") else {
                return nil
            }
            if text == "system" {
                anchors.usesSystem = true
                return []
            }
            let isBare = !text.contains("/") && !text.contains(".")
            if isBare, nearest(to: text, among: ["system"]) != nil {
                return unknownWord(item, text, for: "value", known: ["system", "a PEM file"])
            }
            return certificateChain(item, as: .certificates).map { [$0] }
        }
        guard let files else { return nil }
        anchors.files = files.flatMap { $0 }
        return anchors
    }

    /// A list of which OpenSSL takes something.
    private func ciphers(_ node: YAMLNode) -> String? {
        let example = "ECDHE+AESGCM"
        guard let text = text(node, expected: "a cipher list", example: example) else { return nil }
        let marks = Array("-_+:!@=".utf8)
        let isList = text.utf8.allSatisfy { byte in
            byte.asciiLowercased &- 0x61 < 26 || byte.isASCIIDigit || marks.contains(byte)
        }
        guard isList else {
            let hint = "names with colons between them: write \(example)"
            return refuse(.type, "\"\(text)\" is not a cipher list", at: node, hint: hint)
        }
        if let problem = surroundings.tls?.ciphers(text) {
            let message = "OpenSSL takes no cipher of \"\(text)\": \(problem)"
            let hint = "openssl ciphers -v '\(text)' shows what a list means; write \(example)"
            return refuse(.range, message, at: node, hint: hint)
        }
        return text
    }
}

// MARK: Interception

extension DecodingContext {
    /// `intercept.ca.cert`.
    func placeCertificate(_ node: YAMLNode, in authority: inout CertificateAuthoritySettings) {
        guard let path = authorityPath(node, .authority) else { return }
        let files = authority.files ?? defaultAuthority
        authority.files = normal(CertificateFiles(certificate: path, key: files?.key ?? ""))
    }

    /// `intercept.ca.key`.
    func placeKey(_ node: YAMLNode, in authority: inout CertificateAuthoritySettings) {
        guard let path = authorityPath(node, .authorityKey) else { return }
        if let contents = try? surroundings.readFile(path) {
            warnOfOpenKey(contents, path, at: node)
        }
        let files = authority.files ?? defaultAuthority
        authority.files = normal(CertificateFiles(certificate: files?.certificate ?? "", key: path))
    }

    /// Files that need not be there: the authority is made when it is first needed.
    private func authorityPath(_ node: YAMLNode, _ role: PathRole) -> String? {
        text(node, expected: "a path", example: "~/.config/lupin/ca.pem").flatMap {
            path($0, as: role, at: node)
        }
    }

    /// Tells a key or certificate whose other half has no place.
    func checkAuthority(_ authority: CertificateAuthoritySettings, _ entry: YAMLNode.Entry) {
        guard let files = authority.files, files.certificate.isEmpty || files.key.isEmpty else {
            return
        }
        let missing = files.key.isEmpty ? "key" : "cert"
        let message = "the user has no home directory for \"\(missing)\""
        error(.file, message, at: entry, hint: "write {cert: …, key: …}")
    }

    /// The default's place written out is the default.
    private func normal(_ files: CertificateFiles) -> CertificateFiles? {
        files == defaultAuthority ? nil : files
    }

    private var defaultAuthority: CertificateFiles? {
        var directory: String?
        if let base = surroundings.environment["XDG_CONFIG_HOME"], base.hasPrefix("/") {
            directory = base
        } else if let home = surroundings.home {
            directory = "\(home)/.config"
        }
        return directory.map {
            CertificateFiles(certificate: "\($0)/lupin/ca.pem", key: "\($0)/lupin/ca.key")
        }
    }
}
