// Every key below `cache:`, once: what the checks, the sample file, the help and the editor schema
// are made of.

/// The keys of the store and those of a cache policy, with the values of `standard`.
package enum CacheKeyTable {
    package static let store: [Setting] = [
        row("store.memory", .size(0...1 << 40), "64MiB", "all that is kept in memory; 0: nothing"),
        row("store.disk", .size(0...1 << 44, or: "off"), "off", "all that is kept on disk, or off"),
        row(
            "store.path",
            .text("a path"),
            "~/.cache/lupin",
            "of the disk part; below $XDG_CACHE_HOME where that is set"
        ),
        row(
            "store.max_object",
            .size(1 << 10...4 << 30),
            "8MiB",
            "a larger response is not kept in memory"
        ),
        row(
            "store.disk_max_object",
            .size(1 << 10...1 << 40),
            "1GiB",
            "a larger response is not kept on disk"
        ),
    ]

    /// The keys of a policy, in the order of the documentation.
    package static let policy: [Setting] = [
        row(
            "standard.mode",
            .choice(CachePolicy.Mode.allCases.map(\.rawValue)),
            "shared",
            "shared: nothing that is meant for one user; private: apart for each user"
        ),
        row(
            "standard.heuristic",
            .text("0% to 100%"),
            "10%",
            "of the time since Last-Modified, where no lifetime is given; at most 24h; 0: never"
        ),
        row(
            "standard.stale_if_error",
            .duration(0...year),
            "0s",
            "past its end a response may stand in for an error, where the origin allows less"
        ),
        row(
            "standard.stale_while_revalidate",
            .duration(0...year),
            "0s",
            "past its end it may be served while it is validated, where the origin allows less"
        ),
        row(
            "standard.collapse",
            .boolean,
            "true",
            "identical requests that come while one is fetched wait for its response"
        ),
        row(
            "standard.targeted",
            .list("field names"),
            "[lupin-cache-control]",
            "fields honoured in the place of Cache-Control (RFC 9213), first wins"
        ),
        row(
            "standard.ttl",
            .text("origin or a duration"),
            "origin",
            "origin, or a duration that overrides what the origin says"
        ),
        row(
            "standard.ignore",
            .list(CachePolicy.Ignored.words.map(\.word).joined(separator: ", ")),
            "[]",
            "no-store, private, cookies, vary: what of the origin's word is overridden"
        ),
        row("standard.variants", .number(1...1000), "16", "responses kept for one URL, by Vary"),
        row(
            "standard.no_vary_search",
            .boolean,
            "false",
            "a response is also for the URLs that its No-Vary-Search calls equivalent"
        ),
        row(
            "standard.status_header",
            .text("a name or off"),
            "lupin",
            "who speaks in Cache-Status (RFC 9211), or off"
        ),
        row(
            "standard.modify",
            .map("{set, add, default, remove, rewrite} or a list of such steps"),
            "{}",
            "what changes in the fields of a response before it is stored"
        ),
    ]

    /// A lifetime behind `ttl`, where it is not the word.
    package static let lifetime = row("standard.ttl", .duration(0...year), "1h", "")

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

    private static func row(
        _ name: String,
        _ kind: Setting.Kind,
        _ defaultText: String,
        _ sentence: String
    ) -> Setting {
        Setting(name: "cache.\(name)", kind: kind, defaultText: defaultText, sentence: sentence)
    }
}
