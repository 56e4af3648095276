// What `redirect:` of a rule says: who follows redirects, how many, and where to.

import LupinCore

extension DecodingContext {
    private static let redirectKeys = ["follow", "max", "deny", "cross_origin"]
    private static let redirectExample = "{follow: true, max: 10}"

    /// `redirect:` of a rule; `.some(nil)` where the client follows, nil when a problem was told.
    func redirect(_ entry: YAMLNode.Entry) -> RedirectPolicy?? {
        let node = entry.value
        guard case .map(let entries) = node.content else { return redirectWord(node) }
        var policy = RedirectPolicy()
        var follows: Bool?
        var isComplete = true
        for part in entries {
            switch part.key {
            case "follow":
                follows = boolean(part.value)
                isComplete = isComplete && follows != nil
            case "max":
                let count = number(part.value, in: 1...50, what: "max")
                policy.maxCount = count ?? policy.maxCount
                isComplete = isComplete && count != nil
            case "deny":
                let hosts = deniedHosts(part.value)
                policy.deny = hosts ?? []
                isComplete = isComplete && hosts != nil
            case "cross_origin":
                let choice = crossOrigin(part.value)
                policy.crossOrigin = choice ?? policy.crossOrigin
                isComplete = isComplete && choice != nil
            default:
                unknownKey(part, in: "redirect", known: Self.redirectKeys)
                isComplete = false
            }
        }
        guard isComplete else { return nil }
        guard let follows else {
            error(
                .key,
                "\"redirect\" has no \"follow\"",
                atKey: entry,
                hint: "write \(Self.redirectExample)"
            )
            return nil
        }
        return .some(follows ? policy : nil)
    }

    private func redirectWord(_ node: YAMLNode) -> RedirectPolicy?? {
        if node.scalarText == "pass" { return .some(nil) }
        let message = "expected pass or a map, found \(node.kindText)"
        error(.type, message, at: node, hint: "write \(Self.redirectExample)")
        return nil
    }

    private func deniedHosts(_ node: YAMLNode) -> [HostPattern]? {
        let patterns = items(node).map(hostPattern)
        return patterns.contains { $0 == nil } ? nil : patterns.compactMap { $0 }
    }

    private func crossOrigin(_ node: YAMLNode) -> RedirectPolicy.CrossOrigin? {
        let words = RedirectPolicy.CrossOrigin.allCases.map(\.rawValue)
        let expected = words.joined(separator: " or ")
        guard let text = text(node, expected: expected, example: "drop-credentials") else {
            return nil
        }
        if let choice = RedirectPolicy.CrossOrigin(rawValue: text) { return choice }
        unknownWord(node, text, for: "value", known: words)
        return nil
    }
}
