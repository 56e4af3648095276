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
        let example = "[\(words.joined(separator: ", "))]"
        if items(node).isEmpty {
            return refuse(.range, message, at: node, hint: "write \(example)")
        }
        var seen: Set<String> = []
        return all(node) { item in
            guard let name = text(item, expected: "a protocol", example: example) else {
                return nil
            }
            guard words.contains(name) else {
                return unknownWord(item, name, for: "protocol", known: words)
            }
            if seen.insert(name).inserted { return name }
            let message = "\"\(name)\" is in the list twice"
            return refuse(.duplicate, message, at: item, hint: "write it once")
        }
    }
}
