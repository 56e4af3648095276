// Decodes `cache:`: the store, named policies, policies in place, and the policy of a rule.

import LupinPolicy

/// `standard` is built in, and the file may change it; other policies take omitted keys from it.
typealias CacheDefinitions = PolicyDefinitions<CachePolicy>

extension CacheDefinitions {
    init() {
        self.init(
            key: "cache",
            words: (yes: "standard", no: "off"),
            builtIn: [(CachePolicy.standard.name, .standard)]
        )
    }

    /// All policies without errors.
    var policies: [CachePolicy] { [base] + all.compactMap(\.policy) }

    /// The policy from which others take omitted keys.
    fileprivate var base: CachePolicy { builtIn.first?.policy ?? .standard }
}

struct CacheDecoder {
    private static let off = "off"

    let context: DecodingContext

    // MARK: Names

    /// Decodes every key below `cache` except `store`.
    func definitions(_ entries: [YAMLNode.Entry]) -> CacheDefinitions {
        var definitions = CacheDefinitions()
        let standard = CachePolicy.standard.name
        // Decoded first, wherever it is in the file: the others begin from it.
        if let entry = entries.first(where: { $0.key == standard }) {
            definitions.builtIn = [(standard, definition(entry, startingFrom: .standard))]
            definitions.change = entry
        }
        for entry in entries where entry.key != standard {
            guard entry.key != Self.off else {
                let message = "no cache policy can be called \"off\": cache: off stores nothing"
                context.error(.name, message, at: entry, hint: "choose another name")
                continue
            }
            var base = definitions.base
            base.name = entry.key
            let policy = definition(entry, startingFrom: base)
            definitions.all.append(.init(policy: policy, entry: entry))
        }
        return definitions
    }

    private func definition(
        _ entry: YAMLNode.Entry,
        startingFrom base: CachePolicy
    ) -> CachePolicy? {
        context.definition(entry, of: "cache", example: "{mode: private}") {
            CachePolicyDecoder(context: context).policy($0, startingFrom: base)
        }
    }

    /// Warns about definitions that no rule uses, and about a changed `standard` when no rule
    /// caches.
    func warnOfUnused(_ definitions: CacheDefinitions, by rules: [Rule]) {
        let used = rules.policyNames("cache") { $0.cache??.name }
        context.warnOfUnused(definitions, used: used)
        let hasCache = rules.contains { ($0.cache ?? nil) != nil }
        if !hasCache, let standard = definitions.change, definitions.base != .standard {
            context.warnOfUnused(standard, of: "cache")
        }
    }

    // MARK: Rules

    /// Decodes `cache:` of a rule: a name, `{use: NAME, …}`, a policy in place, or `off`; returns
    /// nil after reporting a problem.
    func cache(_ entry: YAMLNode.Entry, _ definitions: CacheDefinitions) -> CachePolicy?? {
        guard case .map(let entries) = entry.value.content else {
            return policy(entry.value, definitions)
        }
        let policy = context.policy(entry, entries, definitions, standard: definitions.base) {
            CachePolicyDecoder(context: context, isOfRule: true).policy($0, startingFrom: $1)
        }
        return policy.map { .some($0) }
    }

    /// Decodes a name, or `off`.
    private func policy(_ node: YAMLNode, _ definitions: CacheDefinitions) -> CachePolicy?? {
        guard let name = context.text(node, expected: "a cache policy", example: "standard") else {
            return nil
        }
        if name == Self.off { return .some(nil) }
        if let policy = definitions.policy(name) { return policy.map { .some($0) } }
        return context.unknownPolicy(node, name, definitions, or: [Self.off])
    }
}

// MARK: The store

extension DecodingContext {
    /// Decodes the folder of the disk part; nil inside is the default.
    func cacheFolder(_ node: YAMLNode, _ setting: Setting) -> String?? {
        let usual = CacheStoreSettings.defaultFolder(
            environment: surroundings.environment,
            home: surroundings.home
        )
        return folder(node, setting, usual: usual)
    }

    /// Decodes a folder of lupin's own; nil inside is `usual`, the default.
    func folder(_ node: YAMLNode, _ setting: Setting, usual: String?) -> String?? {
        let text = text(node, expected: "a path", example: setting.defaultText)
        guard let path = text.flatMap({ path($0, as: .folder, at: node) }) else { return nil }
        return .some(path == usual ? nil : path)
    }

    /// E-RANGE: a response larger than the whole store never fits.
    ///
    /// When the file does not set the maximum of a response, it becomes the size of the store.
    func check(_ store: inout CacheStoreSettings, _ entries: [YAMLNode.Entry]) {
        checkFit("max_object", &store.objectBytesMax, in: "memory", store.memoryBytes, entries)
        let disk = store.diskBytes
        checkFit("disk_max_object", &store.diskObjectBytesMax, in: "disk", disk, entries)
    }

    private func checkFit(
        _ key: String,
        _ most: inout Int,
        in wholeKey: String,
        _ whole: Int,
        _ entries: [YAMLNode.Entry]
    ) {
        guard whole > 0, most > whole else { return }
        guard let entry = entries.first(where: { $0.key == key }) else { return most = whole }
        let (mostText, wholeText) = (UnitText.size(most), UnitText.size(whole))
        let message = "\(key) \(mostText) is more than \(wholeKey) \(wholeText)"
        error(.range, message, at: entry.value, hint: "write \(wholeText) or less")
    }
}
