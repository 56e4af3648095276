// Decodes the keys of one retry policy, then checks them against each other.

import LupinCore
import LupinPolicy

struct RetryPolicyDecoder {
    let context: DecodingContext
    /// Whether `use` is a known key.
    var isOfRule = false

    /// Overrides values of `base` with those of `entries`; returns nil after reporting a problem.
    func policy(
        _ entries: [YAMLNode.Entry],
        startingFrom base: RetryPolicy
    ) -> RetryPolicy? {
        var policy = base
        var isComplete = true
        for entry in entries where !decode(entry, into: &policy) { isComplete = false }
        guard isComplete, checkMethods(of: policy, base, entries) else { return nil }
        return policy
    }

    /// Decodes a key; returns false after reporting a problem.
    private func decode(_ entry: YAMLNode.Entry, into policy: inout RetryPolicy) -> Bool {
        let keys = RetryKeyTable.keys
        guard let key = keys.first(where: { $0.setting.key == entry.key }) else {
            let known = (isOfRule ? ["use"] : []) + keys.map(\.setting.key)
            context.unknownKey(entry, in: "retry", known: known)
            return false
        }
        switch key.destination {
        case .plain(let keyPath):
            return context.take(entry.value, key.setting, to: keyPath, in: &policy)
        case .special(let special): return decode(entry, key.setting, special, into: &policy)
        }
    }

    private func decode(
        _ entry: YAMLNode.Entry,
        _ setting: Setting,
        _ special: RetryPolicy.SpecialKey,
        into policy: inout RetryPolicy
    ) -> Bool {
        let node = entry.value
        return switch special {
        case .methods: set(&policy.methods, all(node, setting, context.method))
        case .status: set(&policy.status, statuses(node, setting))
        case .errors: set(&policy.errors, all(node, setting, failure))
        case .backoff: set(&policy.backoff, backoff(entry))
        case .retryAfter: set(&policy.retryAfter, retryAfter(entry))
        case .hedge: set(&policy.hedge, hedge(entry))
        case .budget: set(&policy.budget, budget(entry))
        case .circuit: set(&policy.circuit, circuit(entry))
        }
    }

    // MARK: Lists

    private func all<Value: Hashable>(
        _ node: YAMLNode,
        _ setting: Setting,
        _ read: (YAMLNode) -> Value?
    ) -> Set<Value>? {
        context.list(node, setting).flatMap { context.all($0, read) }.map { Set($0) }
    }

    private func statuses(_ node: YAMLNode, _ setting: Setting) -> Set<UInt16>? {
        guard let items = context.list(node, setting) else { return nil }
        let example = "503 or 500-599"
        let ranges = context.all(items) {
            context.statusRange($0, in: 400...599, example: example)
        }
        return ranges.map { Set($0.joined()) }
    }

    private func failure(_ node: YAMLNode) -> RetryClass? {
        let words = RetryKeyTable.words
        guard let text = context.text(node, expected: "a kind of failure", example: "connect")
        else { return nil }
        if words.contains(text), let failure = RetryClass(rawValue: text) { return failure }
        return context.unknownWord(node, text, for: "kind of failure", known: words)
    }

    // MARK: Maps

    /// Decodes every leaf of the map with `read`; returns false after reporting a problem.
    private func leaves(
        _ entry: YAMLNode.Entry,
        or word: String? = "none",
        example: String,
        _ read: (YAMLNode.Entry, Setting) -> Bool
    ) -> Bool {
        guard case .map(let entries) = entry.value.content else {
            let expected = word.map { "\($0) or a map" } ?? "a map"
            return context.wrongType(entry.value, expected, write: example) ?? false
        }
        let known = RetryKeyTable.leaves(of: entry.key)
        return context.every(entries, in: entry.key, known: known.map(\.key)) { leaf in
            known.first { $0.key == leaf.key }.map { read(leaf, $0) } ?? false
        }
    }

    private func isNone(_ entry: YAMLNode.Entry) -> Bool { entry.value.scalarText == "none" }

    private func backoff(_ entry: YAMLNode.Entry) -> Backoff?? {
        if isNone(entry) { return .some(nil) }
        var backoff = Backoff()
        let isComplete = leaves(entry, example: "{base: 2, scale: 500ms}") { leaf, setting in
            switch leaf.key {
            case "base": set(&backoff.base, base(leaf.value))
            case "scale": set(&backoff.scale, context.duration(leaf.value, setting))
            case "max": set(&backoff.max, context.duration(leaf.value, setting))
            default:
                set(
                    &backoff.jitter,
                    context.choice(leaf.value, setting).flatMap(Backoff.Jitter.init)
                )
            }
        }
        guard isComplete, isOrdered(backoff, entry) else { return nil }
        return backoff
    }

    private func isOrdered(_ backoff: Backoff, _ entry: YAMLNode.Entry) -> Bool {
        guard backoff.max < backoff.scale, case .map(let leaves) = entry.value.content else {
            return true
        }
        let scale = UnitText.duration(backoff.scale.milliseconds)
        let max = UnitText.duration(backoff.max.milliseconds)
        if let leaf = leaves.first(where: { $0.key == "max" }) {
            let message = "max \(max) is less than scale \(scale)"
            context.error(.range, message, at: leaf.value, hint: "write \(scale) or more")
        } else if let leaf = leaves.first(where: { $0.key == "scale" }) {
            let message = "scale \(scale) is more than max, which is \(max) unless it is written"
            context.error(.range, message, at: leaf.value, hint: "write max: \(scale) beside it")
        }
        return false
    }

    /// Decodes a number with at most three decimals.
    private func base(_ node: YAMLNode) -> Double? {
        guard let text = context.text(node, expected: "a number", example: "2") else { return nil }
        let digits = text.hasPrefix("-") ? text.dropFirst() : text[...]
        let parts = digits.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.allSatisfy({ Units.wholeNumber($0) != nil }), let value = Double(text) else {
            let message = "\"\(text)\" is not a number"
            return context.refuse(.type, message, at: node, hint: "write 2 or 1.5")
        }
        guard (1...10).contains(value) else {
            let hint = "allowed: 1 to 10; 1 is the same wait each time"
            return context.refuse(.range, "base \(text) is out of range", at: node, hint: hint)
        }
        guard parts.count == 1 || parts[1].utf8.count <= 3 else {
            let message = "\"\(text)\" is more exact than lupin waits"
            context.error(.range, message, at: node, hint: "at most 3 digits behind the point")
            return nil
        }
        return value
    }

    private func retryAfter(_ entry: YAMLNode.Entry) -> RetryPolicy.RetryAfter? {
        var value = RetryPolicy.RetryAfter()
        let example = "{honour: \(entry.value.scalarText == "false" ? "false" : "true")}"
        let isComplete = leaves(entry, or: nil, example: example) { leaf, setting in
            leaf.key == "honour"
                ? set(&value.isHonoured, context.boolean(leaf.value))
                : set(&value.max, context.duration(leaf.value, setting))
        }
        return isComplete ? value : nil
    }

    private func hedge(_ entry: YAMLNode.Entry) -> RetryPolicy.Hedge?? {
        if isNone(entry) { return .some(nil) }
        var after: RetryPolicy.Hedge.Delay?
        var max = 1
        let isComplete = leaves(entry, example: "{after: 200ms}") { leaf, setting in
            guard leaf.key == "after" else { return set(&max, context.number(leaf.value, setting)) }
            after = delay(leaf.value, setting)
            return after != nil
        }
        guard isComplete else { return nil }
        guard let after else {
            let hint = "write {after: 200ms} or {after: p95}"
            return context.refuse(.key, "\"hedge\" has no \"after\"", at: entry, hint: hint)
        }
        return RetryPolicy.Hedge(after: after, max: max)
    }

    private func delay(_ node: YAMLNode, _ setting: Setting) -> RetryPolicy.Hedge.Delay? {
        if let text = node.scalarText, text.hasPrefix("p") {
            if text == "p95" { return .percentile95 }
            let message = "\"\(text)\" is neither a duration nor p95"
            return context.refuse(.type, message, at: node, hint: "write p95 or 200ms")
        }
        var plain = setting
        plain.defaultText = "200ms"
        guard case .some(.some(let value)) = context.duration(node, plain) else { return nil }
        return .fixed(value)
    }

    private func budget(_ entry: YAMLNode.Entry) -> RetryPolicy.Budget?? {
        if isNone(entry) { return .some(nil) }
        var budget = RetryPolicy.Budget()
        let isComplete = leaves(entry, example: "{ratio: 20%, floor: 100}") { leaf, setting in
            switch leaf.key {
            case "ratio": set(&budget.ratio, share(leaf.value))
            case "floor": set(&budget.floor, context.number(leaf.value, setting))
            case "window": set(&budget.window, context.duration(leaf.value, setting))
            default: context.choice(leaf.value, setting) != nil
            }
        }
        return isComplete ? budget : nil
    }

    private func circuit(_ entry: YAMLNode.Entry) -> RetryPolicy.Circuit?? {
        if entry.value.scalarText == "off" { return .some(nil) }
        var circuit = RetryPolicy.Circuit()
        let example = "{failures: 10, open: 10s}"
        let isComplete = leaves(entry, or: "off", example: example) { leaf, setting in
            leaf.key == "failures"
                ? set(&circuit.failures, context.number(leaf.value, setting))
                : set(&circuit.open, context.duration(leaf.value, setting))
        }
        return isComplete ? circuit : nil
    }

    private func share(_ node: YAMLNode) -> Double? {
        guard let text = context.text(node, expected: "a share", example: "20%") else { return nil }
        return context.share(text, at: node, what: "ratio", example: "20%")
    }

    // MARK: Methods

    /// E-RETRY: reports non-idempotent methods that are repeated without explicit permission.
    private func checkMethods(
        of policy: RetryPolicy,
        _ base: RetryPolicy,
        _ entries: [YAMLNode.Entry]
    ) -> Bool {
        guard policy.nonIdempotent != .always, !policy.methods.allSatisfy(\.isIdempotent) else {
            return true
        }
        if let entry = entries.first(where: { $0.key == "methods" }) {
            for item in context.items(entry.value) {
                guard let text = item.scalarText else { continue }
                let method = Method(text)
                if !method.isIdempotent { tell(method, policy.nonIdempotent, at: item) }
            }
        } else if let entry = entries.first(where: { $0.key == "non_idempotent" }) {
            let wrong = policy.methods.filter { !$0.isIdempotent }.map(\.token).sorted()
            context.error(
                .retry,
                "\"\(base.name)\" repeats \(wrong.joined(separator: ", ")), which "
                    + "\(policy.nonIdempotent.rawValue) forbids (RFC 9110 §9.2.2)",
                at: entry.value,
                hint: "write methods: without them too, or leave this out"
            )
        }
        return false
    }

    private func tell(
        _ method: Method,
        _ permission: RetryPolicy.NonIdempotent,
        at node: YAMLNode
    ) {
        let message =
            Method.defined.contains(method)
            ? "\(method.token) is not idempotent: what it does may be done twice (RFC 9110 §9.2.2)"
            : "whether \(method.token) is idempotent is not known (RFC 9110 §9.2.2)"
        let isKeyed = method == .post || method == .patch
        let hint: String
        if isKeyed, permission == .withIdempotencyKey {
            hint = "take it out: with-idempotency-key admits it by itself"
        } else if isKeyed {
            hint =
                "write non_idempotent: with-idempotency-key in its place, or "
                + "non_idempotent: always beside it"
        } else {
            hint = "write non_idempotent: always beside it if that is meant"
        }
        context.error(.retry, message, at: node, hint: hint)
    }
}
