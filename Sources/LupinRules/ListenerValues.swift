// Decodes `listen:`: the addresses, TLS, and the authentication of clients.

import LupinCore
import LupinPolicy

extension DecodingContext {
    /// Decodes `listen:`; returns nil after reporting a problem.
    func listeners(_ entry: YAMLNode.Entry) -> [ListenerSettings]? {
        let example = "- address: 127.0.0.1:8080"
        guard case .list = entry.value.content else {
            if case .map = entry.value.content { return listener(entry.value).map { [$0] } }
            return wrongType(entry.value, "a list of listeners", write: example)
        }
        var result: [ListenerSettings] = []
        var lines: [Int] = []
        for item in items(entry.value) {
            guard let listener = listener(item) else { continue }
            let twin = result.firstIndex {
                $0.address == listener.address && $0.port == listener.port
            }
            if listener.port != 0, let index = twin {
                let message = "the address is in use: another listener has it"
                error(.bind, message, at: item, hint: "first on line \(lines[index])")
            }
            result.append(listener)
            lines.append(item.location.line)
        }
        if items(entry.value).isEmpty {
            error(.range, "there is no listener", at: entry.value, hint: "write \(example)")
        }
        return result.isEmpty ? nil : result
    }

    private func listener(_ node: YAMLNode) -> ListenerSettings? {
        guard
            let entries = entries(node, of: "a listener", example: "- address: 127.0.0.1:8080")
        else { return nil }
        var listener: ListenerSettings? = ListenerSettings()
        var address: YAMLNode?
        var protocols: ListenProtocols?
        var tls: CertificateFiles?
        var authentication: ClientAuthentication?
        for entry in entries {
            switch Setting.ListenerKey(rawValue: entry.key) {
            case .address:
                address = entry.value
                listener = listenerAddress(entry.value)
            case .protocols:
                protocols = listenProtocols(entry.value)
            case .authentication:
                // A problem was reported; a value of any kind satisfies the check of the address.
                authentication = clientAuthentication(entry.value) ?? ClientAuthentication.none
            case .tls:
                tls = certificateFiles(entry, off: "off") ?? nil
            case nil:
                unknownKey(entry, in: "listen", known: SettingsTable.keys(in: "listen"))
            }
        }
        if let listener, let address, authentication == nil, !listener.isForThisMachineOnly {
            let message = "others can reach \(listener.address.text) and use the proxy"
            let hint = "write auth: none if that is meant, or an address of 127.0.0.0/8"
            error(.bind, message, at: address, hint: hint)
        }
        if let protocols { listener?.protocols = protocols }
        listener?.tls = tls
        listener?.authentication = authentication ?? ClientAuthentication.none
        return listener
    }

    /// Decodes `none` or `basic: {file, realm}`; returns nil after reporting a problem.
    private func clientAuthentication(_ node: YAMLNode) -> ClientAuthentication? {
        let example = "basic: {file: htpasswd}"
        if case .scalar("none", _) = node.content { return ClientAuthentication.none }
        guard case .map(let schemes) = node.content, let scheme = schemes.first else {
            let found = node.kindText
            let message = "expected none or basic, found \(found)"
            return refuse(.type, message, at: node, hint: "write \(example)")
        }
        for entry in schemes where entry.key != "basic" {
            unknownKey(entry, in: "auth", known: ["basic"])
            return nil
        }
        guard let entries = entries(scheme.value, of: "a map", example: example) else { return nil }
        var file: String?
        var realm: String? = "lupin"
        for entry in entries {
            switch entry.key {
            case "file":
                file = passwordFile(entry.value)
                if file == nil { return nil }
            case "realm":
                realm = self.realm(entry.value)
            default:
                unknownKey(entry, in: "basic", known: ["file", "realm"])
                return nil
            }
        }
        guard let file else {
            error(.key, "\"basic\" has no \"file\"", at: scheme, hint: "write \(example)")
            return nil
        }
        return realm.map { .basic(file: file, realm: $0) }
    }

    private func passwordFile(_ node: YAMLNode) -> String? {
        guard
            let (path, contents) =
                file(node, as: .users, expected: "an htpasswd file", example: "htpasswd")
        else { return nil }
        if contents.isOpenToOthers {
            let message = "the password file \(path) is readable by group or others"
            let hint = "who reads it can guess passwords from it: chmod 600 \(path)"
            warning(.file, message, at: node, hint: hint)
        }
        return path
    }

    /// Decodes a realm that fits the quoted string of a challenge (RFC 9110 §5.6.4).
    private func realm(_ node: YAMLNode) -> String? {
        guard let text = text(node, expected: "a realm", example: "lupin") else { return nil }
        if text.utf8.allSatisfy({ (0x20...0x7E).contains($0) && $0 != 0x22 && $0 != 0x5C }) {
            return text
        }
        let message = "a realm is plain ASCII without quotes and backslashes"
        return refuse(.type, message, at: node, hint: "write lupin")
    }

    func listenerAddress(_ node: YAMLNode) -> ListenerSettings? {
        let example = "127.0.0.1:8080"
        guard let text = text(node, expected: "an address and a port", example: example) else {
            return nil
        }
        func refuse(_ code: Diagnostic.Code, _ message: String, _ hint: String) -> ListenerSettings?
        {
            error(code, message, at: node, hint: hint)
            return nil
        }
        if let scheme = text.firstRange(of: "://") {
            let rest = String(text[scheme.upperBound...].prefix { $0 != "/" })
            let hint = AuthorityText.listener(rest) == nil ? example : rest
            return refuse(.type, "\"\(text)\" is a URL, not an address", "write \(hint)")
        }
        guard let colon = text.lastIndex(of: ":") else {
            let isPort = Units.wholeNumber(text[...]) != nil
            let host = IPAddress(text) == nil ? "127.0.0.1" : text
            let hint = isPort ? "127.0.0.1:\(text)" : "\(host):8080"
            return refuse(.type, "\"\(text)\" is not an address with a port", "write \(hint)")
        }
        var name = text[..<colon]
        let portText = String(text[text.index(after: colon)...])
        if name.hasPrefix("["), name.hasSuffix("]") {
            name = name.dropFirst().dropLast()
        } else if name.contains(":") {
            let whole = IPAddress(text)
            return refuse(
                .host,
                "an IPv6 address needs brackets",
                whole.map { "write \"[\($0.text)]:8080\"" } ?? "write \"[\(name)]:\(portText)\""
            )
        }
        guard let port = number(portText, at: node, in: 0...65535, what: "port") else { return nil }
        guard let address = IPAddress(String(name)) else {
            let hint =
                switch name {
                case "localhost", "": "write 127.0.0.1:\(portText)"
                case "*": "write 0.0.0.0:\(portText)"
                default:
                    "write an address of this machine, such as 127.0.0.1:\(portText): names are "
                        + "not looked up here"
                }
            return refuse(.host, "\"\(name)\" is not an address", hint)
        }
        return ListenerSettings(address: address, port: UInt16(truncatingIfNeeded: port))
    }
}
