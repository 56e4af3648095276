// What `cache:` may say, at the top of the file and in rules.

import LupinCore
import LupinPolicy
import LupinRules
import Testing

struct CacheDecoderTests {
    /// A policy under `cache:`, called mine.
    private func policy(
        _ text: String,
        environment: [String: String] = [:],
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws -> CachePolicy {
        let loaded = try configuration(
            "cache: {mine: \(text)}",
            environment: environment,
            sourceLocation: sourceLocation
        )
        return try #require(loaded.settings.cache.last, sourceLocation: sourceLocation)
    }

    /// `cache:` of a rule on line 3, below `definitions` on line 2.
    private func ruleCache(_ text: String, definitions: String = "{}") throws -> CachePolicy?? {
        let body = "cache: \(definitions)\nrules: [{match: a.dev, cache: \(text)}]"
        return try #require(try configuration(body).rules.rules.first).cache
    }

    private func store(_ text: String, environment: [String: String] = [:]) throws
        -> CacheStoreSettings
    {
        try configuration("cache: {store: \(text)}", environment: environment).settings.cacheStore
    }

    // MARK: The store

    @Test func `the store has defaults, and every key of it is read`() throws {
        #expect(try store("{}") == CacheStoreSettings())
        #expect(try configuration("cache:").settings == Settings())
        var expected = CacheStoreSettings()
        expected.memoryBytes = 1 << 20
        expected.path = "/var/cache/lupin"
        expected.objectBytesMax = 64 << 10
        expected.diskObjectBytesMax = 2 << 30
        let text = """
            {memory: 1MiB, disk: off, path: /var/cache/lupin, max_object: 64KiB, \
            disk_max_object: 2GiB}
            """
        #expect(try store(text) == expected)
        #expect(try store("{disk: off}").usesDisk == false)
        #expect(try store("{disk: 10GiB}").diskBytes == 10 << 30)
        // Where it is not written, no response may be larger than the whole.
        let small = try store("{memory: 4MiB, disk: 500MiB}")
        #expect(small.objectBytesMax == 4 << 20)
        #expect(small.diskObjectBytesMax == 500 << 20)
        #expect(try store("{disk: 0, memory: 0}").memoryBytes == 0)
    }

    @Test func `the place written out is the default where it is the one`() throws {
        #expect(try store("{path: ~/.cache/lupin}").path == nil)
        #expect(try store("{path: /users/ann/.cache/lupin}").path == nil)
        let other = ["XDG_CACHE_HOME": "/caches"]
        #expect(try store("{path: /caches/lupin}", environment: other).path == nil)
        let path = try store("{path: ~/.cache/lupin}", environment: other).path
        #expect(path == "/users/ann/.cache/lupin")
        #expect(try store("{path: c}").path == "/etc/lupin/c")
    }

    // MARK: Names

    @Test func `what a policy leaves out is as in standard`() throws {
        var expected = CachePolicy.standard
        expected.name = "mine"
        #expect(try policy("{}") == expected)
        #expect(try configuration("cache:\n  mine:").settings.cache == [.standard, expected])
        expected.variantsMax = 7
        #expect(try policy("{variants: 7}") == expected)
    }

    @Test func `a file may change standard, and with it all that others leave out`() throws {
        let body = """
            cache:
              mine: {collapse: false}
              standard: {mode: private, heuristic: 5%}
            rules:
              - {match: a.dev, cache: standard}
              - {match: b.dev, cache: {variants: 2}}
              - {match: c.dev, cache: mine}
              - {match: d.dev, cache: {use: mine, heuristic: 0}}
            """
        let loaded = try configuration(body)
        #expect(loaded.settings.cache.map(\.name) == ["standard", "mine"])
        let policies = loaded.rules.rules.map { $0.cache ?? nil }
        #expect(policies.map { $0?.mode } == [.private, .private, .private, .private])
        #expect(policies.map { $0?.heuristic } == [0.05, 0.05, 0.05, 0])
        #expect(policies.map { $0?.isCollapsing } == [true, true, false, false])
        #expect(policies.map { $0?.name } == ["standard", "cache@7", "mine", "mine@9"])
    }

    @Test func `a rule takes a policy by its name, starts one in place, or says off`() throws {
        #expect(try ruleCache("standard") == .some(.standard))
        #expect(try ruleCache("off") == .some(nil))
        #expect(try configuration("rules: [{match: a.dev}]").rules.rules.first?.cache == nil)
        #expect(try ruleCache("mine", definitions: "{mine: {ttl: 1h}}") == policy("{ttl: 1h}"))
        #expect(try ruleCache("{use: standard}") == .some(.standard))
        var plain = CachePolicy(name: "cache@3")
        #expect(try ruleCache("{}") == .some(plain))
        plain.mode = .private
        #expect(try ruleCache("{mode: private}") == .some(plain))
        var mine = CachePolicy(name: "mine@3")
        mine.ttl = .seconds(3600)
        mine.mode = .private
        let definitions = "{mine: {ttl: 1h}}"
        #expect(
            try ruleCache("{mode: private, use: mine}", definitions: definitions) == .some(mine)
        )
    }

    @Test func `a definition that no rule uses is told, one that is built upon is not`() {
        let body = """
            cache:
              one: {variants: 1}
              two: {variants: 2}
              three: {variants: 3}
            rules:
              - {match: a.dev, cache: one}
              - {match: b.dev, cache: {use: two, ttl: 1h}}
            """
        #expect(
            decode(body).warnings.report() == """
                lupin.yaml:5:3: warning: no rule uses the cache policy "three"  [E-NAME]
                    three: {variants: 3}
                    ^^^^^  write cache: three in a rule, or take it out
                """
        )
    }

    @Test func `a standard that is changed for nobody is told, one that is written out is not`() {
        #expect(decode("cache: {standard: {mode: shared}}").warnings.isEmpty)
        let warnings = decode("cache: {standard: {mode: private}}").warnings
        #expect(warnings.map(\.message) == ["no rule uses the cache policy \"standard\""])
        let used = "\nrules: [{match: a.dev, cache: {ttl: 1h}}]"
        #expect(decode("cache: {standard: {mode: private}}" + used).warnings.isEmpty)
        let off = "\nrules: [{match: a.dev, cache: off}]"
        #expect(!decode("cache: {standard: {mode: private}}" + off).warnings.isEmpty)
    }

    // MARK: Keys

    @Test func `every key is read`() throws {
        let policy = try policy(
            """
            {mode: private, heuristic: 100%, stale_if_error: 1d, stale_while_revalidate: 90s,
             collapse: false, targeted: [CDN-Cache-Control, lupin-cache-control], ttl: 2h,
             ignore: [no-store, vary], variants: 1000, no_vary_search: true,
             status_header: "*my:cache/1",
             modify: {set: {X-A: "1"}, remove: [Server, "X-Debug-*"], default: {X-B: "2"}}}
            """
        )
        var expected = CachePolicy(name: "mine")
        expected.mode = .private
        expected.heuristic = 1
        expected.staleIfError = .seconds(86400)
        expected.staleWhileRevalidate = .seconds(90)
        expected.isCollapsing = false
        expected.targeted = ["cdn-cache-control", "lupin-cache-control"]
        expected.ttl = .seconds(7200)
        expected.ignored = [.noStore, .vary]
        expected.variantsMax = 1000
        expected.obeysNoVarySearch = true
        expected.statusName = "*my:cache/1"
        expected.modify = [
            .set(name: "X-A", value: Template("1")), .remove(pattern: "server"),
            .remove(pattern: "x-debug-*"), .default(name: "X-B", value: Template("2")),
        ]
        #expect(policy == expected)
    }

    @Test func `words, nothing and single values do as well`() throws {
        let off = try policy("{status_header: off, ttl: origin, heuristic: 0, targeted: []}")
        #expect(off.statusName == nil && off.ttl == nil && off.heuristic == 0)
        #expect(off.targeted.isEmpty)
        let all = try policy("{ignore: [private, cookies, vary, no-store, vary], ttl: 0}")
        #expect(all.ignored == [.noStore, .private, .cookies, .vary] && all.ttl == .zero)
        let single = try policy("{ignore: vary, targeted: A, modify: {remove: Server}}")
        #expect(single.ignored == .vary && single.targeted == ["a"])
        #expect(single.modify == [.remove(pattern: "server")])
        #expect(try policy("{targeted: [a, B, A]}").targeted == ["a", "b"])
        let named = try policy(
            "{ttl: \"${env:T:-1m}\", variants: \"${env:N}\"}",
            environment: ["N": "3"]
        )
        #expect(named.ttl == .seconds(60) && named.variantsMax == 3)
        #expect(try policy("{ttl: \"${env:T:-origin}\"}").ttl == nil)
    }

    @Test func `what is stored is changed by steps in their order, in a list where it counts`()
        throws
    {
        let steps = try policy(
            """
            {modify: [{remove: Server}, {add: {X-A: "1", X-B: "2"}}, {set: {X-A: "${env:V:-3}"}},
                      {rewrite: {header: Link, from: /^(.*)$/, to: "$1;x"}}]}
            """
        ).modify
        #expect(
            steps.map(\.summary) == [
                "remove server", "add x-a", "add x-b", "set x-a", "rewrite link",
            ]
        )
        #expect(steps.dropFirst(3).first == .set(name: "X-A", value: Template("3")))
        #expect(try policy("{modify: {}}").modify.isEmpty)
        #expect(try policy("{modify: []}").modify.isEmpty)
    }

    @Test func `a rule replaces what its policy modifies as a whole`() throws {
        let definitions = "{mine: {modify: {remove: Server}}}"
        let cache = try ruleCache("{use: mine, modify: {remove: Via}}", definitions: definitions)
        #expect((cache ?? nil)?.modify == [.remove(pattern: "via")])
    }

    @Test func `the table says what standard is`() throws {
        let standard = try policy("{}")
        for setting in CacheKeyTable.policy {
            let text = "{\(setting.key): \(setting.defaultText)}"
            #expect(try policy(text) == standard, "\(setting.key)")
        }
    }

    // MARK: Rules

    @Test func `a rule that caches sees https in clear, one that says off does not`() throws {
        let body = "rules: [{match: a.dev, cache: standard}, {match: b.dev, cache: off}]"
        let rules = try configuration(body).rules.rules
        #expect(rules.map(\.needsClearText) == [true, false])
    }

    @Test func `a cache for everybody decrypts everything, and that is told`() {
        let warnings = decode("rules: [{match: {}, cache: standard}]").warnings
        #expect(warnings.map(\.code) == [.intercept])
        #expect(warnings.first?.hint?.contains("scheme: http where that is enough") == true)
        let text = errors("intercept: {mode: none}\nrules: [{match: a.dev, cache: standard}]")
        #expect(
            text.contains("needs https in clear text, and intercept.mode is none  [E-INTERCEPT]")
        )
        #expect(errors("intercept: {mode: none}\nrules: [{match: a.dev, cache: off}]") == "")
    }

    @Test(arguments: [
        ("{host: a.dev, method: POST}", true), ("{host: a.dev, not: {method: GET}}", true),
        ("{host: a.dev, method: HEAD}", true), ("{host: a.dev, method: [HEAD, GET]}", false),
        ("a.dev", false),
    ])
    func `a rule without GET has nothing to cache`(match: String, isTold: Bool) {
        let warnings = decode("rules: [{match: \(match), cache: standard}]").warnings
        #expect(warnings.map(\.code) == (isTold ? [.cache] : []))
        guard isTold, let text = warnings.first?.text else { return }
        #expect(text.contains("the rule \"rule@2\" has nothing to cache: it matches no GET"))
        #expect(text.hasSuffix("^^^^^  write method: GET in its match, or take cache out"))
        #expect(decode("rules: [{match: \(match), cache: off}]").warnings.isEmpty)
    }

    @Test func `who overrides an origin names it`() {
        let body = """
            cache: {long: {ttl: 1h, ignore: [private, vary]}}
            rules:
              - {match: {scheme: http}, cache: long}
              - {match: {host: "**", scheme: http}, cache: {ignore: no-store}}
              - {match: ["http://a.dev", {host: "*.b.dev"}], cache: long}
              - {match: {scheme: http}, cache: {use: long, ttl: origin, ignore: []}}
            """
        #expect(
            decode(body).warnings.report() == """
                lupin.yaml:4:29: warning: the rule "rule@4" overrides what origins say \
                (ttl 1h, ignore \
                private, ignore vary), and does not name its hosts  [E-CACHE]
                    - {match: {scheme: http}, cache: long}
                                              ^^^^^  write host: api.example in its match
                lupin.yaml:5:49: warning: the rule "rule@5" overrides what origins say \
                (ignore no-store), \
                and does not name its hosts  [E-CACHE]
                    - {match: {host: "**", scheme: http}, cache: {ignore: no-store}}
                                                                  ^^^^^^  write host: api.example \
                in its match
                """
        )
    }

    @Test func `a private cache need not ignore what binds shared ones`() {
        let rule = "\nrules: [{match: a.dev, cache: a}]"
        #expect(
            decode("cache: {a: {mode: private, ignore: [private, vary]}}" + rule).warnings.report()
                == """
                lupin.yaml:2:28: warning: a private cache keeps what is private and what \
                sets cookies by \
                itself  [E-CACHE]
                    cache: {a: {mode: private, ignore: [private, vary]}}
                                               ^^^^^^  take private out
                """
        )
        #expect(decode("cache: {a: {ignore: [private, cookies]}}" + rule).warnings.isEmpty)
    }
}
