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
        case "min":
            if let version = tlsVersion(node) { tls.minimum = version }
        case "alpn":
            if let protocols = offeredProtocols(node) { tls.protocols = protocols }
        case "roots":
            if let roots = trustAnchors(node) { tls.roots = roots }
        case "client_cert":
            if let files = certificateFiles(entry, off: "none") { tls.clientCertificate = files }
        case "require_trust_rule":
            if let value = boolean(node) { tls.demandsTrustRule = value }
        default:
            break
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
        guard
            let text = text(node, expected: words.joined(separator: " or "), example: "optional")
        else { return nil }
        if let value = TLSOverrides.CloseNotify(rawValue: text) { return value }
        unknownWord(node, text, for: "value", known: words)
        return nil
    }

    private func tlsVersion(_ node: YAMLNode) -> TLSVersion? {
        guard let setting = SettingsTable.setting("upstream.tls.min") else { return nil }
        return choice(node, setting).map { $0 == "1.3" ? .tls13 : .tls12 }
    }

    private func trustAnchors(_ node: YAMLNode) -> TrustAnchorSettings? {
        var anchors = TrustAnchorSettings()
        anchors.usesSystem = false
        var isComplete = true
        for item in items(node) {
            guard let text = text(item, expected: "system or a file", example: "system") else {
                isComplete = false
                continue
            }
            let isBare = !text.contains("/") && !text.contains(".")
            if text == "system" {
                anchors.usesSystem = true
            } else if isBare, nearest(to: text, among: ["system"]) != nil {
                unknownWord(item, text, for: "value", known: ["system", "a PEM file"])
                isComplete = false
            } else if let path = certificateChain(item) {
                anchors.files.append(path)
            } else {
                isComplete = false
            }
        }
        if items(node).isEmpty {
            error(
                .range,
                "without trust anchors no origin passes",
                at: node,
                hint: "write [system]"
            )
            isComplete = false
        }
        return isComplete ? anchors : nil
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
            error(
                .type,
                "\"\(text)\" is not a cipher list",
                at: node,
                hint: "names with colons between them: write \(example)"
            )
            return nil
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
            if let mode = choice(node, setting).flatMap(InterceptSettings.Mode.init) {
                intercept.mode = mode
            }
        case "intercept.except":
            let patterns = items(node).map(hostPattern)
            if !patterns.contains(nil) { intercept.except = patterns.compactMap { $0 } }
        case "intercept.ca.cert":
            if let path = authorityPath(node) { set(certificate: path, in: &intercept.authority) }
        case "intercept.ca.key":
            if let path = authorityPath(node) {
                if let contents = try? surroundings.readFile(path) {
                    warnOfOpenKey(contents, path, at: node)
                }
                set(key: path, in: &intercept.authority)
            }
        case "intercept.ca.leaf":
            if let life = duration(node, setting) ?? nil { intercept.authority.leafLifetime = life }
        case "intercept.ca.key_type":
            let type = choice(node, setting)
            if let type = type.flatMap(CertificateAuthoritySettings.KeyType.init) {
                intercept.authority.keyType = type
            }
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

    private func set(certificate: String, in authority: inout CertificateAuthoritySettings) {
        let files = authority.files ?? defaultAuthority
        authority.files = normal(CertificateFiles(certificate: certificate, key: files?.key ?? ""))
    }

    private func set(key: String, in authority: inout CertificateAuthoritySettings) {
        let files = authority.files ?? defaultAuthority
        authority.files = normal(CertificateFiles(certificate: files?.certificate ?? "", key: key))
    }

    /// Tells a key or certificate whose other half has no place.
    func checkAuthority(_ authority: CertificateAuthoritySettings, _ entry: YAMLNode.Entry) {
        guard let files = authority.files, files.certificate.isEmpty || files.key.isEmpty else {
            return
        }
        let missing = files.key.isEmpty ? "key" : "cert"
        error(
            .file,
            "the user has no home directory for \"\(missing)\"",
            atKey: entry,
            hint: "write {cert: …, key: …}"
        )
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
