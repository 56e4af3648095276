// Decodes `throttle:` of a rule: the bytes per second in each direction.

import LupinPolicy

extension DecodingContext {
    /// Decodes `none`, or a map; returns nil after reporting a problem.
    func throttle(_ node: YAMLNode) -> ThrottleOverrides? {
        if node.scalarText == "none" { return ThrottleOverrides.none }
        guard case .map(let entries) = node.content else {
            let message = "expected none or a map, found \(node.kindText)"
            if node.scalarText.flatMap(Self.meaning) == false {
                return refuse(.type, message, at: node, hint: "write none")
            }
            // A rate alone has no direction.
            let rate = node.scalarText.flatMap { try? Units.rate($0) } == nil
            let example = rate ? "5MiB/s" : node.scalarText ?? ""
            return refuse(.type, message, at: node, hint: "write {down: \(example)}")
        }
        var throttle = ThrottleOverrides()
        let isComplete = every(entries, in: "throttle", known: ["up", "down"]) { entry in
            let rate = throttleRate(entry)
            return entry.key == "up" ? set(&throttle.up, rate) : set(&throttle.down, rate)
        }
        return isComplete ? throttle : nil
    }

    private func throttleRate(_ entry: YAMLNode.Entry) -> Int?? {
        let node = entry.value
        guard let text = text(node, expected: "a rate or none", example: "5MiB/s") else {
            return nil
        }
        if text == "none" { return .some(nil) }
        guard let rate = units(node, { () throws(Units.Problem) in try Units.rate(text) }) else {
            return nil
        }
        guard rate <= TokenBucket.rateMax else {
            let message = "\(entry.key) \(text) is out of range"
            return refuse(.range, message, at: node, hint: "allowed: 1/s to 1TiB/s, or none")
        }
        return .some(rate)
    }
}
