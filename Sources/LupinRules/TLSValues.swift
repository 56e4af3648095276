// What the file says about TLS towards origins, and about interception.

import LupinCore

// MARK: Towards origins

extension DecodingContext {
    /// A key of `upstream.tls`; what was wrong was told and changes nothing.
    func decode(
        _ entry: YAMLNode.Entry,
        _ setting: Setting,
        into tls: inout UpstreamTLSSettings
    ) {
        let node = entry.value
        switch setting.key {
        case "min": set(&tls.minimum, tlsVersion(node))
        case "alpn": set(&tls.protocols, offeredProtocols(node))
        case "roots": set(&tls.roots, trustAnchors(node))
        case "client_cert": set(&tls.clientCertificate, certificateFiles(entry, off: "none"))
        case "require_trust_rule": set(&tls.demandsTrustRule, boolean(node))
        default: break
        }
    }

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
        return choice(node, setting).map { $0 == "1.3" ? .tls13 : .tls12 }
    }

    private func trustAnchors(_ node: YAMLNode) -> TrustAnchorSettings? {
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
            return certificateChain(item).map { [$0] }
        }
        guard let files else { return nil }
        anchors.files = files.flatMap { $0 }
        return anchors
    }

    /// What OpenSSL's lists are made of; whether it knows the names is found at the start.
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
        return text
    }
}

// MARK: Interception

extension DecodingContext {
    /// A key of `intercept`, `intercept.client_rejects` or `intercept.ca`.
    func decode(_ node: YAMLNode, _ setting: Setting, into intercept: inout InterceptSettings) {
        switch setting.name {
        case "intercept.mode":
            set(&intercept.mode, choice(node, setting).flatMap(InterceptSettings.Mode.init))
        case "intercept.except": set(&intercept.except, all(node, hostPattern))
        case "intercept.ca.cert":
            if let path = authorityPath(node) { place(certificate: path, in: &intercept.authority) }
        case "intercept.ca.key":
            if let path = authorityPath(node) {
                if let contents = try? surroundings.readFile(path) {
                    warnOfOpenKey(contents, path, at: node)
                }
                place(key: path, in: &intercept.authority)
            }
        case "intercept.ca.leaf":
            set(&intercept.authority.leafLifetime, duration(node, setting))
        case "intercept.ca.key_type":
            let type = choice(node, setting)
            set(&intercept.authority.keyType, type.flatMap { .init(rawValue: $0) })
        default:
            break
        }
    }

    /// `intercept.client_rejects`, whose keys mean something together only.
    func rejection(_ entries: [YAMLNode.Entry], into intercept: inout InterceptSettings) {
        let known = SettingsTable.keys(in: "intercept.client_rejects")
        for entry in entries {
            guard let setting = SettingsTable.setting("intercept.client_rejects.\(entry.key)")
            else {
                unknownKey(entry, in: "client_rejects", known: known)
                continue
            }
            if setting.key == "for", let time = duration(entry.value, setting) ?? nil {
                intercept.tunnelsRejecting = time
            }
        }
        for entry in entries where entry.key == "then" {
            guard let setting = SettingsTable.setting("intercept.client_rejects.then") else {
                continue
            }
            if choice(entry.value, setting) == "fail" { intercept.tunnelsRejecting = nil }
        }
    }

    /// Files that need not be there: the authority is made when it is first needed.
    private func authorityPath(_ node: YAMLNode) -> String? {
        text(node, expected: "a path", example: "~/.config/lupin/ca.pem").flatMap {
            path($0, at: node)
        }
    }

    private func place(certificate: String, in authority: inout CertificateAuthoritySettings) {
        let files = authority.files ?? defaultAuthority
        authority.files = normal(CertificateFiles(certificate: certificate, key: files?.key ?? ""))
    }

    private func place(key: String, in authority: inout CertificateAuthoritySettings) {
        let files = authority.files ?? defaultAuthority
        authority.files = normal(CertificateFiles(certificate: files?.certificate ?? "", key: key))
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
