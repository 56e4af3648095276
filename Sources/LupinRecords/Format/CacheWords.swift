// The words for what the cache did, from a member of Cache-Status (RFC 9211).

/// What filters find, and what a line for people says.
enum CacheWords {
    /// The words of a member such as `lupin; fwd=uri-miss; stored`.
    ///
    /// They are the names of its parameters, and the values of `fwd` and `detail`. A miss of any
    /// kind is a `miss` too, and what is older than its lifetime is `stale`.
    static func all(_ status: String) -> [String] {
        var words: [String] = []
        for (name, value) in parameters(of: status) {
            words.append(String(name))
            if name == "ttl", value?.hasPrefix("-") == true { words.append("stale") }
            guard let value, name == "fwd" || name == "detail" else { continue }
            words.append(value.filter { $0 != "\"" })
            if name == "fwd", value.hasSuffix("-miss") { words.append("miss") }
        }
        return words
    }

    /// `hit`, `stale`, `stored`, `revalidated` or `collapsed`; empty where the client got what the
    /// origin sent, and the cache kept nothing of it.
    static func short(_ status: String) -> String {
        let parameters = parameters(of: status)
        func has(_ name: Substring) -> Bool { parameters.contains { $0.name == name } }
        let isLate = parameters.contains { $0.name == "ttl" && $0.value?.hasPrefix("-") == true }
        if isLate { return "stale" }
        if has("hit") { return "hit" }
        if has("stored") { return "stored" }
        if has("collapsed") { return "collapsed" }
        let isValid = parameters.contains { $0.name == "fwd-status" && $0.value == "304" }
        return isValid ? "revalidated" : ""
    }

    private static func parameters(of status: String) -> [(name: Substring, value: Substring?)] {
        status.split(separator: ";").dropFirst().compactMap { parameter in
            let parts = parameter.split(separator: "=", maxSplits: 1)
            guard let name = parts.first?.drop(while: { $0 == " " }) else { return nil }
            return (name, parts.count == 2 ? parts[1] : nil)
        }
    }
}
