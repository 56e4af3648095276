// Values of single settings that are more than a number or a word: listeners, parent proxies,
// targets, and where the log goes.

import LupinCore

// MARK: Listeners

extension DecodingContext {
    /// `listen:`; nil when a problem was told.
    func listeners(_ entry: YAMLNode.Entry) -> [ListenerSettings]? {
        let example = "- address: 127.0.0.1:8080"
        guard case .list = entry.value.content else {
            if case .map = entry.value.content { return listener(entry.value).map { [$0] } }
            error(
                .type,
                "expected a list of listeners, found \(entry.value.kindText)",
                at: entry.value,
                hint: "write \(example)"
            )
            return nil
        }
        var result: [ListenerSettings] = []
        var lines: [Int] = []
        for item in items(entry.value) {
            guard let listener = listener(item) else { continue }
            if listener.port != 0, let index = result.firstIndex(of: listener) {
                error(
                    .bind,
                    "the address is in use: another listener has it",
                    at: item,
                    hint: "first on line \(lines[index])"
                )
            }
            result.append(listener)
            lines.append(item.place.line)
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
        var hasAuth = false
        for entry in entries {
            switch entry.key {
            case "address":
                address = entry.value
                listener = listenerAddress(entry.value)
            case "protocols":
                checkProtocols(entry.value)
            case "auth":
                hasAuth = true
                checkOff(entry, "listen.auth")
            case "tls":
                checkOff(entry, "listen.tls")
            default:
                unknownKey(entry, in: "listen", known: SettingsTable.keys(in: "listen"))
            }
        }
        if let listener, let address, !hasAuth, !listener.isForThisMachineOnly {
            error(
                .bind,
                "others can reach \(listener.address.text) and use the proxy",
                at: address,
                hint: "write auth: none if that is meant, or an address of 127.0.0.0/8"
            )
        }
        return listener
    }

    private func checkOff(_ entry: YAMLNode.Entry, _ name: String) {
        guard let setting = SettingsTable.setting(name),
            case .later(let what) = setting.availability, !isOff(entry.value, setting.offValues)
        else { return }
        unavailable(entry.key, what, atKey: entry)
    }

    private func checkProtocols(_ node: YAMLNode) {
        var hasHTTP1 = false
        for item in items(node) {
            guard let text = text(item, expected: "a protocol", example: "[h1]") else { return }
            switch text {
            case "h1": hasHTTP1 = true
            case "h2": unavailable("h2", "HTTP/2", at: item)
            default: unknownWord(item, text, for: "protocol", known: ["h1", "h2"])
            }
        }
        if !hasHTTP1, items(node).isEmpty {
            error(.range, "a listener speaks at least one protocol", at: node, hint: "write [h1]")
        }
    }

    private func listenerAddress(_ node: YAMLNode) -> ListenerSettings? {
        let example = "127.0.0.1:8080"
        guard let text = text(node, expected: "an address and a port", example: example) else {
            return nil
        }
        func refuse(_ code: Diagnostic.Code, _ message: String, _ hint: String) -> ListenerSettings?
        {
            error(code, message, at: node, hint: hint)
            return nil
        }
        guard let colon = text.lastIndex(of: ":") else {
            let hint = Units.wholeNumber(text[...]) != nil ? "127.0.0.1:\(text)" : "\(text):8080"
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
            let better: String =
                switch name {
                case "localhost", "": "127.0.0.1"
                case "*": "0.0.0.0"
                default: "127.0.0.1"
                }
            return refuse(
                .host,
                "\"\(name)\" is not an address",
                "write \(better):\(portText)"
            )
        }
        return ListenerSettings(address: address, port: UInt16(truncatingIfNeeded: port))
    }
}

extension ListenerSettings {
    /// Asked of networks and not of `isLoopback`, which sees loopback in addresses that carry one.
    fileprivate var isForThisMachineOnly: Bool {
        let loopback = [
            CIDR(.v4(0x7F00_0000), prefix: 8), CIDR(.v6(high: 0, low: 1), prefix: 128),
        ]
        return loopback.contains { $0.contains(address) }
    }
}

// MARK: Targets

extension DecodingContext {
    func deniedTargets(_ node: YAMLNode) -> [DeniedTarget]? {
        let words: [String: DeniedTarget] = [
            "link-local": .linkLocal, "self": .own, "private": .privateNetwork,
            "loopback": .loopback, "metadata": .metadata,
        ]
        let known = ["link-local", "self", "private", "loopback", "metadata"]
        var result: [DeniedTarget] = []
        var isComplete = true
        for item in items(node) {
            guard let text = text(item, expected: "a target", example: "link-local") else {
                isComplete = false
                continue
            }
            if let word = words[text] {
                result.append(word)
            } else if let network = CIDR(text) {
                result.append(.network(network))
            } else if !text.contains("."), nearest(to: text, among: known) != nil {
                unknownWord(item, text, for: "target", known: known)
                isComplete = false
            } else if let pattern = hostPattern(item) {
                result.append(.host(pattern))
            } else {
                isComplete = false
            }
        }
        return isComplete ? result : nil
    }

    func noProxy(_ node: YAMLNode) -> [NoProxyEntry]? {
        var result: [NoProxyEntry] = []
        var isComplete = true
        for item in items(node) {
            guard let text = text(item, expected: "a host or a network", example: "localhost")
            else {
                isComplete = false
                continue
            }
            if let entry = NoProxyEntry(text) {
                result.append(entry)
            } else {
                error(
                    .host,
                    "\"\(text)\" is not a host, an address or a network",
                    at: item,
                    hint: "write .corp.example, 10.0.0.0/8 or host:port"
                )
                isComplete = false
            }
        }
        return isComplete ? result : nil
    }
}

// MARK: The log

extension DecodingContext {
    func logDestination(_ node: YAMLNode) -> LogSettings.Destination? {
        guard let text = text(node, expected: "a destination", example: "stdout") else {
            return nil
        }
        switch text {
        case "stdout": return .stdout
        case "stderr": return .stderr
        default: break
        }
        let isBare = !text.contains("/") && !text.contains(".")
        if isBare, nearest(to: text, among: ["stdout", "stderr"]) != nil {
            unknownWord(node, text, for: "destination", known: ["stdout", "stderr", "a path"])
            return nil
        }
        return path(text, at: node).map { .file($0) }
    }

    /// `none`, `names`, `all` or a list of names.
    func loggedHeaders(_ node: YAMLNode) -> LogSettings.Headers? {
        if case .list = node.content {
            let names = texts(node, expected: "a field name", example: "[Content-Type]")
            return names.map { .listed($0.map { $0.lowercased() }) }
        }
        guard let text = text(node, expected: "none, names, all or a list", example: "names") else {
            return nil
        }
        switch text {
        case "none": return LogSettings.Headers.none
        case "names": return .names
        case "all": return .all
        default:
            unknownWord(node, text, for: "value", known: ["none", "names", "all", "a list"])
            return nil
        }
    }

    /// Only `exchange` is available.
    func checkLogLevel(_ node: YAMLNode, _ setting: Setting) {
        guard let level = choice(node, setting), level != "exchange" else { return }
        unavailable(level, "a line per \(level)", at: node)
    }
}
