// What `cache:` says: the store, named policies, those written in place, and which of them a rule
// takes.

import LupinCore

/// The policies under `cache:` at the top of the file.
struct CacheDefinitions {
    struct Definition {
        /// nil where a problem was told: the name is known all the same.
        var policy: CachePolicy?
        var entry: YAMLNode.Entry
    }

    /// What `cache: standard` means; the file may change it.
    fileprivate(set) var standard = Definition(policy: .standard, entry: Self.unwritten)
    /// The others, in the order of the file.
    fileprivate(set) var all: [Definition] = []

    /// Every name that a rule may use.
    var names: [String] { [CachePolicy.standard.name] + all.map(\.entry.key) }

    /// All that are good.
    var policies: [CachePolicy] {
        [standard.policy ?? .standard] + all.compactMap(\.policy)
    }

    /// The policy called `name`; `.some(nil)` where it is defined and broken.
    func policy(_ name: String) -> CachePolicy?? {
        if name == CachePolicy.standard.name { return .some(standard.policy) }
        return all.first { $0.entry.key == name }.map(\.policy)
    }

    /// What others leave out is as here.
    fileprivate var base: CachePolicy { standard.policy ?? .standard }

    private static let unwritten = YAMLNode.Entry(
        key: CachePolicy.standard.name,
        keyPlace: .wholeFile,
        value: YAMLNode(content: .map([]), place: .wholeFile)
    )
}

struct CacheDecoder {
    private static let off = "off"

    let context: DecodingContext

    // MARK: Names

    /// Every key below `cache` but `store`.
    func definitions(_ entries: [YAMLNode.Entry]) -> CacheDefinitions {
        var definitions = CacheDefinitions()
        // First of all, wherever it stands: the others begin from it.
        if let entry = entries.first(where: { $0.key == CachePolicy.standard.name }) {
            let policy = definition(entry, startingFrom: .standard)
            definitions.standard = .init(policy: policy, entry: entry)
        }
        for entry in entries where entry.key != CachePolicy.standard.name {
            guard entry.key != Self.off else {
                context.error(
                    .name,
                    "no cache policy can be called \"off\": cache: off stores nothing",
                    atKey: entry,
                    hint: "choose another name"
                )
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
        let example = "{mode: private}"
        let entries = context.entries(entry.value, of: "a cache policy", example: example)
        guard let entries else { return nil }
        let rest = entries.filter { $0.key != "use" }
        let policy = CachePolicyDecoder(context: context).policy(rest, startingFrom: base)
        guard let use = entries.first(where: { $0.key == "use" }) else { return policy }
        context.error(
            .key,
            "unknown key \"use\" in \"\(entry.key)\"",
            atKey: use,
            hint: "what a policy leaves out is as in standard; only rules say use"
        )
        return nil
    }

    /// Tells definitions that no rule uses, and a `standard` that is changed for nobody.
    func warnOfUnused(_ definitions: CacheDefinitions, by rules: [Rule]) {
        for definition in definitions.all {
            let name = definition.entry.key
            let isUsed = rules.contains { rule in
                guard let used = (rule.cache ?? nil)?.name else { return false }
                return used == name || used == "\(name)@\(rule.keyLines["cache"] ?? 0)"
            }
            if !isUsed { warnOfUnused(definition.entry) }
        }
        let hasCache = rules.contains { ($0.cache ?? nil) != nil }
        if !hasCache, let standard = definitions.standard.policy, standard != .standard {
            warnOfUnused(definitions.standard.entry)
        }
    }

    private func warnOfUnused(_ entry: YAMLNode.Entry) {
        context.warning(
            .name,
            "no rule uses the cache policy \"\(entry.key)\"",
            atKey: entry,
            hint: "write cache: \(entry.key) in a rule, or take it out"
        )
    }

    // MARK: Rules

    /// `cache:` of a rule: a name, `{use: NAME, …}`, a policy in place, or `off`; nil when a
    /// problem was told.
    func cache(_ entry: YAMLNode.Entry, _ definitions: CacheDefinitions) -> CachePolicy?? {
        guard case .map(let entries) = entry.value.content else {
            return policy(entry.value, definitions)
        }
        var policy = definitions.base
        let line = entry.keyPlace.line
        let rest = entries.filter { $0.key != "use" }
        if let use = entries.first(where: { $0.key == "use" }) {
            let base = used(use.value, definitions)
            // What is wrong with the rest is told all the same.
            let other = rest.isEmpty ? base : changed(base ?? policy, rest)
            guard let base, var other else { return nil }
            if !rest.isEmpty { other.name = "\(base.name)@\(line)" }
            return .some(other)
        }
        policy.name = "cache@\(line)"
        return changed(policy, rest).map { .some($0) }
    }

    private func changed(_ policy: CachePolicy, _ entries: [YAMLNode.Entry]) -> CachePolicy? {
        CachePolicyDecoder(context: context, isOfRule: true).policy(entries, startingFrom: policy)
    }

    /// A name, or `off`.
    private func policy(_ node: YAMLNode, _ definitions: CacheDefinitions) -> CachePolicy?? {
        guard let name = name(node) else { return nil }
        if name == Self.off { return .some(nil) }
        return named(name, at: node, definitions, words: [Self.off]).map { .some($0) }
    }

    private func used(_ node: YAMLNode, _ definitions: CacheDefinitions) -> CachePolicy? {
        name(node).flatMap { named($0, at: node, definitions, words: []) }
    }

    private func name(_ node: YAMLNode) -> String? {
        context.text(node, expected: "a cache policy", example: "standard")
    }

    private func named(
        _ name: String,
        at node: YAMLNode,
        _ definitions: CacheDefinitions,
        words: [String]
    ) -> CachePolicy? {
        if let policy = definitions.policy(name) { return policy }
        // How others write it; what it means is clear.
        if !words.isEmpty, ["false", "none", "no", "never"].contains(name) {
            let message = "unknown cache policy \"\(name)\""
            context.error(.name, message, at: node, hint: "write off to store nothing")
        } else {
            let defined = definitions.names + words
            context.undefinedName(node, name, of: "cache policy", defined: defined)
        }
        return nil
    }
}

// MARK: The store

extension DecodingContext {
    /// A key of `cache.store`.
    func decode(_ node: YAMLNode, _ setting: Setting, into store: inout CacheStoreSettings) {
        switch setting.key {
        case "memory": if let size = size(node, setting) ?? nil { store.memoryBytes = size }
        case "disk": if let size = size(node, setting) { store.diskBytes = size ?? 0 }
        case "path":
            let text = text(node, expected: "a path", example: setting.defaultText)
            guard let path = text.flatMap({ path($0, at: node) }) else { return }
            // The default's place written out is the default.
            let usual = CacheStoreSettings.defaultFolder(
                environment: surroundings.environment,
                home: surroundings.home
            )
            store.path = path == usual ? nil : path
        case "max_object": if let size = size(node, setting) ?? nil { store.objectBytesMax = size }
        case "disk_max_object":
            if let size = size(node, setting) ?? nil { store.diskObjectBytesMax = size }
        default: break
        }
    }

    /// E-RANGE: a response that is larger than the whole store never fits.
    ///
    /// Where the file does not say how large one may be, the whole store is the bound.
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
