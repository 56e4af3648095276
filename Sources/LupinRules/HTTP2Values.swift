// What the file says about HTTP/2: which protocols are spoken on each side, and its limits.

import LupinCore

// MARK: Protocols

extension DecodingContext {
    /// `listen.protocols`; nil when a problem was told.
    func listenProtocols(_ node: YAMLNode) -> ListenProtocols? {
        let words = ["h1", "h2"]
        let names = protocols(node, words, ifNone: "a listener speaks at least one protocol")
        return names.map { names in
            ListenProtocols(names.map { $0 == "h2" ? .http2 : .http1 })
        }
    }

    /// `alpn:` in the order of the file; nil when a problem was told.
    func offeredProtocols(_ node: YAMLNode) -> [String]? {
        protocols(node, ["h2", "http/1.1"], ifNone: "at least one protocol must be offered")
    }

    /// A list of at least one of `words`, each once at most.
    private func protocols(_ node: YAMLNode, _ words: [String], ifNone message: String) -> [String]?
    {
        var names: [String] = []
        var isComplete = true
        for item in items(node) {
            let example = "[\(words.joined(separator: ", "))]"
            guard let name = text(item, expected: "a protocol", example: example) else {
                isComplete = false
                continue
            }
            if !words.contains(name) {
                unknownWord(item, name, for: "protocol", known: words)
                isComplete = false
            } else if names.contains(name) {
                let message = "\"\(name)\" is in the list twice"
                error(.duplicate, message, at: item, hint: "write it once")
                isComplete = false
            } else {
                names.append(name)
            }
        }
        if items(node).isEmpty {
            error(.range, message, at: node, hint: "write [\(words.joined(separator: ", "))]")
            isComplete = false
        }
        return isComplete ? names : nil
    }
}

// MARK: Limits

extension DecodingContext {
    /// A key of `limits.h2`; what was wrong was told and changes nothing.
    func decode(_ node: YAMLNode, _ setting: Setting, into limits: inout HTTP2Limits) {
        switch setting.key {
        case "streams":
            if let count = number(node, setting) ?? nil { limits.streams = count }
        case "resets":
            if let limit = rateLimit(node, setting) { limits.resets = limit }
        case "control":
            if let limit = rateLimit(node, setting) { limits.control = limit }
        case "table":
            if let bytes = size(node, setting) ?? nil { limits.tableBytes = bytes }
        case "window":
            if let bytes = size(node, setting) {
                limits.window = bytes.map { .fixed(bytes: $0) } ?? .auto
            }
        default:
            break
        }
    }
}
