// Decodes `redirect:` of a rule: which side follows redirects, how many, and to which targets.

import LupinPolicy

extension DecodingContext {
    private static let redirectKeys = ["follow", "max", "deny", "cross_origin"]
    private static let redirectExample = "{follow: true, max: 10}"

    /// Decodes `redirect:`; `.some(nil)` when the client follows; returns nil after reporting a
    /// problem.
    func redirect(_ entry: YAMLNode.Entry) -> RedirectPolicy?? {
        let node = entry.value
        guard case .map(let entries) = node.content else { return redirectWord(node) }
        var policy = RedirectPolicy()
        var follows: Bool?
        let isComplete = every(entries, in: "redirect", known: Self.redirectKeys) { part in
            switch part.key {
            case "follow": set(&follows, boolean(part.value))
            case "max": set(&policy.maxCount, number(part.value, in: 1...50, what: "max"))
            case "deny": set(&policy.deny, all(part.value, hostPattern))
            default: set(&policy.crossOrigin, crossOrigin(part.value))
            }
        }
        guard isComplete else { return nil }
        guard let follows else {
            let message = "\"redirect\" has no \"follow\""
            return refuse(.key, message, at: entry, hint: "write \(Self.redirectExample)")
        }
        return .some(follows ? policy : nil)
    }

    private func redirectWord(_ node: YAMLNode) -> RedirectPolicy?? {
        if node.scalarText == "pass" { return .some(nil) }
        let isOff = node.scalarText.flatMap(Self.meaning) == false
        return wrongType(node, "pass or a map", write: isOff ? "pass" : Self.redirectExample)
    }

    private func crossOrigin(_ node: YAMLNode) -> RedirectPolicy.CrossOrigin? {
        let words = RedirectPolicy.CrossOrigin.allCases.map(\.rawValue)
        return word(node, words, example: "drop-credentials")
            .flatMap { RedirectPolicy.CrossOrigin(rawValue: $0) }
    }
}
