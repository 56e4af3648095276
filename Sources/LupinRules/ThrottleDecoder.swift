// What `throttle:` of a rule says: how many bytes a second may go in each direction.

import LupinCore

extension DecodingContext {
    /// `throttle:` of a rule: `none`, or a map; nil when a problem was told.
    func throttle(_ node: YAMLNode) -> ThrottleOverrides? {
        if node.scalarText == "none" { return ThrottleOverrides.none }
        guard case .map(let entries) = node.content else {
            let message = "expected none or a map, found \(node.kindText)"
            // A rate alone does not say for which direction it is meant.
            let rate = node.scalarText.flatMap { try? Units.rate($0) } == nil
            let example = rate ? "5MiB/s" : node.scalarText ?? ""
            error(.type, message, at: node, hint: "write {down: \(example)}")
            return nil
        }
        var throttle = ThrottleOverrides()
        var isComplete = true
        for entry in entries {
            guard entry.key == "up" || entry.key == "down" else {
                unknownKey(entry, in: "throttle", known: ["up", "down"])
                isComplete = false
                continue
            }
            guard let rate = throttleRate(entry) else {
                isComplete = false
                continue
            }
            if entry.key == "up" { throttle.up = .some(rate) } else { throttle.down = .some(rate) }
        }
        return isComplete ? throttle : nil
    }

    private func throttleRate(_ entry: YAMLNode.Entry) -> Int?? {
        guard let text = text(entry.value, expected: "a rate or none", example: "5MiB/s") else {
            return nil
        }
        if text == "none" { return .some(nil) }
        do {
            let rate = try Units.rate(text)
            guard rate <= TokenBucket.rateMax else {
                error(
                    .range,
                    "\(entry.key) \(text) is out of range",
                    at: entry.value,
                    hint: "allowed: 1/s to 1TiB/s, or none"
                )
                return nil
            }
            return .some(rate)
        } catch {
            self.error(.type, error.message, at: entry.value, hint: error.hint)
            return nil
        }
    }
}
