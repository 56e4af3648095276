// Decodes the keys of one cache policy, then checks them against each other.

import LupinCore
import LupinPolicy

struct CachePolicyDecoder {
    let context: DecodingContext
    /// Whether `use` is a known key.
    var isOfRule = false

    /// Overrides values of `base` with those of `entries`; returns nil after reporting a problem.
    func policy(_ entries: [YAMLNode.Entry], startingFrom base: CachePolicy) -> CachePolicy? {
        var policy = base
        var isComplete = true
        for entry in entries where !decode(entry, into: &policy) { isComplete = false }
        guard isComplete else { return nil }
        warnOfIdle(policy, entries)
        return policy
    }

    /// Decodes a key; returns false after reporting a problem.
    private func decode(_ entry: YAMLNode.Entry, into policy: inout CachePolicy) -> Bool {
        let keys = CacheKeyTable.keys
        guard let key = keys.first(where: { $0.setting.key == entry.key }) else {
            let known = (isOfRule ? ["use"] : []) + keys.map(\.setting.key)
            context.unknownKey(entry, in: "cache", known: known)
            return false
        }
        switch key.destination {
        case .plain(let keyPath):
            return context.take(entry.value, key.setting, to: keyPath, in: &policy)
        case .special(let special): return decode(entry.value, key.setting, special, into: &policy)
        }
    }

    private func decode(
        _ node: YAMLNode,
        _ setting: Setting,
        _ special: CachePolicy.SpecialKey,
        into policy: inout CachePolicy
    ) -> Bool {
        switch special {
        case .heuristic: set(&policy.heuristic, share(node))
        case .staleIfError: set(&policy.staleIfError, seconds(node, setting))
        case .staleWhileRevalidate: set(&policy.staleWhileRevalidate, seconds(node, setting))
        case .targeted: set(&policy.targeted, targeted(node, setting))
        case .ttl: set(&policy.ttl, lifetime(node))
        case .ignored: set(&policy.ignored, ignored(node, setting))
        case .statusName: set(&policy.statusName, statusName(node))
        case .modify: set(&policy.modify, modifications(node))
        }
    }

    // MARK: Single values

    /// Decodes a share of 0 to 1.
    private func share(_ node: YAMLNode) -> Double? {
        guard let text = context.text(node, expected: "a share", example: "10%") else { return nil }
        if text == "0" { return 0 }
        return context.share(text, at: node, what: "heuristic", example: "10%")
    }

    /// Decodes a time in whole seconds, the unit of RFC 9111 §1.2.2.
    private func seconds(_ node: YAMLNode, _ setting: Setting) -> Duration? {
        guard let time = context.duration(node, setting) ?? nil else { return nil }
        guard time.milliseconds.isMultiple(of: 1000) else {
            let message =
                "\(setting.key) \(UnitText.duration(time.milliseconds)) is no whole second"
            return context.refuse(.range, message, at: node, hint: "caches count seconds: write 1s")
        }
        return time
    }

    /// Decodes a lifetime; `.some(nil)` is `origin`.
    private func lifetime(_ node: YAMLNode) -> Duration?? {
        if node.scalarText == "origin" { return .some(nil) }
        let setting = CacheKeyTable.lifetime
        let expected = "origin or a duration"
        guard let text = context.text(node, expected: expected, example: "origin or 1h") else {
            return nil
        }
        if text == "origin" { return .some(nil) }
        guard text.utf8.first.map({ $0.isASCIIDigit || $0 == 0x2D }) == true else {
            let message = "\"\(text)\" is neither origin nor a duration"
            return context.refuse(.type, message, at: node, hint: "write origin or 1h")
        }
        return seconds(node, setting).map { .some($0) }
    }

    /// Decodes a name that Cache-Status can have without quotes (RFC 9211 §2); `.some(nil)` is
    /// `off`.
    private func statusName(_ node: YAMLNode) -> String?? {
        let expected = "a name or off"
        guard let text = context.text(node, expected: expected, example: "lupin") else {
            return nil
        }
        if text == "off" { return .some(nil) }
        let isLetterFirst =
            text.utf8.first.map { $0 == 0x2A || $0.asciiLowercased &- 0x61 < 26 } ?? false
        let isToken = text.utf8.allSatisfy { $0.isTokenByte || $0 == 0x3A || $0 == 0x2F }
        guard isLetterFirst, isToken, text.utf8.count <= Self.statusNameBytesMax else {
            let message = "\"\(text)\" is no name for Cache-Status"
            let hint = "write a token of up to \(Self.statusNameBytesMax) characters, such as lupin"
            return context.refuse(.type, message, at: node, hint: hint)
        }
        return .some(text)
    }

    /// Longer names would only waste bytes.
    private static let statusNameBytesMax = 64

    // MARK: Lists

    private func targeted(_ node: YAMLNode, _ setting: Setting) -> [String]? {
        let names = context.list(node, setting).flatMap { context.all($0, targetedName) }
        // A repeated name has no effect.
        return names?.reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
    }

    private func targetedName(_ node: YAMLNode) -> String? {
        let example = "cdn-cache-control"
        guard let text = context.text(node, expected: "a field name", example: example) else {
            return nil
        }
        let name = text.lowercased()
        guard context.isFieldName(text) else {
            let message = "\"\(text)\" is not a field name"
            return context.refuse(.header, message, at: node, hint: "write \(example)")
        }
        guard name != "cache-control" else {
            let message = "\"\(text)\" is for all caches, and counts where no targeted field is"
            return context.refuse(.header, message, at: node, hint: "take it out")
        }
        return name
    }

    private func ignored(_ node: YAMLNode, _ setting: Setting) -> CachePolicy.Ignored? {
        let words = context.list(node, setting).flatMap { context.all($0, ignoredWord) }
        return words?.reduce([]) { $0.union($1) }
    }

    private func ignoredWord(_ node: YAMLNode) -> CachePolicy.Ignored? {
        let words = CachePolicy.Ignored.words
        guard let text = context.text(node, expected: "a word", example: "[no-store]") else {
            return nil
        }
        if let found = words.first(where: { $0.word == text }) { return found.value }
        let known = words.map(\.word)
        return context.unknownWord(node, text, for: "word of ignore", known: known)
    }

    // MARK: Steps

    /// Decodes `{set: {…}, remove: […]}` in the order of the file, or a list of such steps.
    private func modifications(_ node: YAMLNode) -> [RequestStep]? {
        let items: [YAMLNode]
        switch node.content {
        case .map(let entries):
            items = entries.map { YAMLNode(content: .map([$0]), location: $0.keyLocation) }
        case .list(let list): items = list
        case .scalar:
            return context.wrongType(node, "steps", write: "{set: {X-Env: dev}}")
        }
        let count = context.errors.count
        let decoder = StepDecoder(context: context, listeners: [], side: .modify)
        var steps: [RequestStep] = []
        for item in items {
            let own = decoder.steps(YAMLNode(content: .list([item]), location: item.location))
            steps += own
            guard case .map(let entries) = item.content, let entry = entries.first else { continue }
            for name in own.compactMap(CacheKeyTable.vitalField) {
                context.error(
                    .cache,
                    "modify can't change \(name): it says how and for whom the response is stored",
                    at: entry,
                    hint: Self.remedy(for: name)
                )
            }
        }
        return context.errors.count == count ? steps : nil
    }

    private static func remedy(for name: String) -> String {
        let forClient = "response: changes what clients see"
        let isLifetime = ["age", "cache-control", "date", "expires"].contains(name)
        return isLifetime ? "ttl: gives another lifetime; \(forClient)" : forClient
    }

    // MARK: Keys together

    /// Warns about a private cache that ignores what only restricts a shared one.
    private func warnOfIdle(_ policy: CachePolicy, _ entries: [YAMLNode.Entry]) {
        guard !policy.isShared, let entry = entries.first(where: { $0.key == "ignore" }) else {
            return
        }
        let idle = policy.ignored.intersection([.private, .cookies])
        guard !idle.isEmpty else { return }
        let words = CachePolicy.Ignored.words.filter { idle.contains($0.value) }.map(\.word)
        let text = words.joined(separator: ", ")
        let message = "a private cache keeps what is private and what sets cookies by itself"
        context.warning(.cache, message, at: entry, hint: "take \(text) out")
    }
}
