// Every key below `cache:`, once: what the checks, the sample file, the help and the editor schema
// are made of.

/// The keys of the store and those of a cache policy, with the values of `standard`.
package enum CacheKeyTable {
    package static let store: [Setting] = [
        .size(
            "cache.store.memory",
            \.cacheStore.memoryBytes,
            0...1 << 40,
            "all that is kept in memory; 0: nothing"
        ),
        .size(
            "cache.store.disk",
            \.cacheStore.diskBytes,
            0...1 << 44,
            zero: "off",
            "all that is kept on disk, or off"
        ),
        .special(
            .cachePath,
            .text("a path"),
            "~/.cache/lupin",
            "of the disk part; below $XDG_CACHE_HOME where that is set"
        ).needingRestart(\.cacheStore.path),
        .size(
            "cache.store.max_object",
            \.cacheStore.objectBytesMax,
            1 << 10...4 << 30,
            "a larger response is not kept in memory"
        ),
        .size(
            "cache.store.disk_max_object",
            \.cacheStore.diskObjectBytesMax,
            1 << 10...1 << 40,
            "a larger response is not kept on disk"
        ),
        .special(
            .sharedServer,
            .text("off or a URL"),
            "off",
            "a Redis or Valkey server for several machines: redis://, rediss:// (TLS) or unix://"
        ),
        .special(
            .sharedKey,
            .text("a secret"),
            "none",
            "of all who share, 32 characters at least; signs what is stored, so write \"${file:…}\""
        ),
        .duration(
            "cache.store.shared.ttl_max",
            \.cacheStore.shared.lifetimeMax,
            1000...year,
            "a response stays there no longer"
        ),
        .size(
            "cache.store.shared.max_object",
            \.cacheStore.shared.objectBytesMax,
            1 << 10...64 << 20,
            "a larger response is not kept there"
        ),
        .duration(
            "cache.store.shared.timeout",
            \.cacheStore.shared.timeout,
            1...10_000,
            "a request waits so long for the server, once; then the server is left alone"
        ),
        .duration(
            "cache.store.shared.lease",
            \.cacheStore.shared.lease,
            100...600_000,
            "others leave a fetch to the machine that announced it for so long"
        ),
        .duration(
            "cache.store.shared.collapse_wait",
            \.cacheStore.shared.collapseWait,
            0...60_000,
            "a request waits so long for another machine's fetch"
        ),
    ]

    /// The keys of a policy, in the order of the documentation.
    package static let keys: [PolicyKey<CachePolicy>] = [
        .choice(
            "cache.standard.mode",
            \.mode,
            "shared: nothing that is meant for one user; private: apart for each user"
        ),
        .special(
            .heuristic,
            .text("0% to 100%"),
            "10%",
            "of the time since Last-Modified, where no lifetime is given; at most 24h; 0: never"
        ),
        .special(
            .staleIfError,
            .duration(0...year),
            "0s",
            "past its end a response may stand in for an error, where the origin allows less"
        ),
        .special(
            .staleWhileRevalidate,
            .duration(0...year),
            "0s",
            "past its end it may be served while it is validated, where the origin allows less"
        ),
        .boolean(
            "cache.standard.collapse",
            \.isCollapsing,
            "identical requests that come while one is fetched wait for its response"
        ),
        .special(
            .targeted,
            .list("field names"),
            "[lupin-cache-control]",
            "fields honoured in the place of Cache-Control (RFC 9213), first wins"
        ),
        .special(
            .ttl,
            .text("origin or a duration"),
            "origin",
            "origin, or a duration that overrides what the origin says"
        ),
        .special(
            .ignored,
            .list(CachePolicy.Ignored.words.map(\.word).joined(separator: ", ")),
            "[]",
            "no-store, private, cookies, vary: what of the origin's word is overridden"
        ),
        .number(
            "cache.standard.variants",
            \.variantsMax,
            1...1000,
            "responses kept for one URL, by Vary"
        ),
        .boolean(
            "cache.standard.no_vary_search",
            \.obeysNoVarySearch,
            "a response is also for the URLs that its No-Vary-Search calls equivalent"
        ),
        .special(
            .statusName,
            .text("a name or off"),
            "lupin",
            "who speaks in Cache-Status (RFC 9211), or off"
        ),
        .special(
            .modify,
            .map("{set, add, default, remove, rewrite} or a list of such steps"),
            "{}",
            "what changes in the fields of a response before it is stored"
        ),
    ]

    /// What is known of them, without their places.
    package static let policy = keys.map(\.setting)

    /// A lifetime behind `ttl`, where it is not the word.
    package static let lifetime = Setting(
        name: CachePolicy.SpecialKey.ttl.rawValue,
        kind: .duration(0...year),
        defaultText: "1h",
        sentence: ""
    )

    /// Fields that a cache lives by: what `modify` made of them would not be true of the content.
    package static let vital: [String] = [
        "age", "cache-control", "content-encoding", "content-range", "date", "etag", "expires",
        "last-modified", "no-vary-search", "vary",
    ]

    /// Which of them the step changes; nil for other steps.
    package static func vitalField(changedBy step: RequestStep) -> String? {
        switch step {
        case .set(let name, _), .add(let name, _), .default(let name, _), .rewrite(let name, _, _):
            return vital.first { $0 == name.lowercased() }
        case .remove(let pattern):
            let glob = ValueGlob(pattern)
            return vital.first { glob.matches($0.utf8.span, ignoringCase: true) }
        case .query, .url, .compress, .auth, .delay, .edit: return nil
        }
    }

    private static let year: Int64 = 365 * 86_400_000
}

extension CachePolicy: TabledPolicy {
    package enum SpecialKey: String, CaseIterable, Sendable {
        case heuristic = "cache.standard.heuristic"
        case staleIfError = "cache.standard.stale_if_error"
        case staleWhileRevalidate = "cache.standard.stale_while_revalidate"
        case targeted = "cache.standard.targeted"
        case ttl = "cache.standard.ttl"
        case ignored = "cache.standard.ignore"
        case statusName = "cache.standard.status_header"
        case modify = "cache.standard.modify"
    }
}
