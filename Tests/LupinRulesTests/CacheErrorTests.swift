// What is said of a cache policy or store that can't be: the place, the sentence, what to write.

import LupinCore
import LupinPolicy
import LupinRules
import Testing

struct CacheErrorTests {
    /// The only problem of `body`: its line of the report, and its hint.
    private func expectProblem(_ body: String, _ line: String, _ hint: String?) {
        let problems = decode(body).errors
        #expect(problems.count == 1, "\(problems.report())")
        let first = problems.first.map { String($0.text.prefix { $0 != "\n" }) }
        #expect(first == "lupin.yaml:\(line)")
        #expect(problems.first?.hint == hint)
    }

    private static let ignored = "no-store, private, cookies, vary"

    // The key begins in column 13: `cache: {a: {` is 12 wide.
    @Test(arguments: [
        (
            "mode: public", "2:19: unknown value \"public\"  [E-NAME]", "allowed: shared, private"
        ),
        ("heuristic: 10", "2:24: \"10\" has no unit  [E-TYPE]", "write 10%"),
        (
            "heuristic: 101%", "2:24: heuristic 101% is out of range  [E-RANGE]",
            "allowed: 0% to 100%"
        ),
        ("heuristic: 0.1", "2:24: \"0.1\" is not a share  [E-TYPE]", "write 10%"),
        ("heuristic: []", "2:24: expected a share, found a list  [E-TYPE]", "write 10%"),
        ("stale_if_error: 5", "2:29: \"5\" has no unit  [E-TYPE]", "write 5s"),
        (
            "stale_if_error: 366d", "2:29: stale_if_error 366d is out of range  [E-RANGE]",
            "allowed: 0 to 365d"
        ),
        (
            "stale_if_error: 2y", "2:29: stale_if_error 2y is out of range  [E-RANGE]",
            "allowed: 0 to 365d"
        ),
        (
            "stale_while_revalidate: 1500ms",
            "2:37: stale_while_revalidate 1500ms is no whole second  [E-RANGE]",
            "caches count seconds: write 1s"
        ),
        ("collapse: yes", "2:23: \"yes\" is not a boolean  [E-TYPE]", "write true"),
        ("collapse: maybe", "2:23: \"maybe\" is not a boolean  [E-TYPE]", "write true or false"),
        (
            "no_vary_search: on", "2:29: \"on\" is not a boolean  [E-TYPE]", "write true"
        ),
        (
            "no_vary_search: params", "2:29: \"params\" is not a boolean  [E-TYPE]",
            "write true or false"
        ),
        (
            "no_vary_serach: true", "2:13: unknown key \"no_vary_serach\" in \"cache\"  [E-KEY]",
            "did you mean \"no_vary_search\"?"
        ),
        (
            "targeted: [\"a b\"]", "2:24: \"a b\" is not a field name  [E-HEADER]",
            "write cdn-cache-control"
        ),
        (
            "targeted: [Cache-Control]",
            "2:24: \"Cache-Control\" is for all caches, and counts where no targeted field is"
                + "  [E-HEADER]", "take it out"
        ),
        (
            "targeted: {a: b}", "2:23: expected a list, found a map  [E-TYPE]",
            "write [lupin-cache-control]"
        ),
        (
            "ttl: forever", "2:18: \"forever\" is neither origin nor a duration  [E-TYPE]",
            "write origin or 1h"
        ),
        ("ttl: 60", "2:18: \"60\" has no unit  [E-TYPE]", "write 60s"),
        (
            "ttl: 500ms", "2:18: ttl 500ms is no whole second  [E-RANGE]",
            "caches count seconds: write 1s"
        ),
        ("ttl: 366d", "2:18: ttl 366d is out of range  [E-RANGE]", "allowed: 0 to 365d"),
        (
            "ttl: {a: b}", "2:18: expected origin or a duration, found a map  [E-TYPE]",
            "write origin or 1h"
        ),
        (
            "ignore: [cookie]", "2:22: unknown word of ignore \"cookie\"  [E-NAME]",
            "did you mean \"cookies\"? allowed: \(ignored)"
        ),
        (
            "ignore: no-cache", "2:21: unknown word of ignore \"no-cache\"  [E-NAME]",
            "allowed: \(ignored)"
        ),
        ("ignore: {a: b}", "2:21: expected a list, found a map  [E-TYPE]", "write []"),
        ("variants: 0", "2:23: variants 0 is out of range  [E-RANGE]", "allowed: 1 to 1000"),
        ("variants: 1001", "2:23: variants 1001 is out of range  [E-RANGE]", "allowed: 1 to 1000"),
        (
            "status_header: 1st", "2:28: \"1st\" is no name for Cache-Status  [E-TYPE]",
            "write a token of up to 64 characters, such as lupin"
        ),
        (
            "status_header: my cache", "2:28: \"my cache\" is no name for Cache-Status  [E-TYPE]",
            "write a token of up to 64 characters, such as lupin"
        ),
        (
            "varians: 2", "2:13: unknown key \"varians\" in \"cache\"  [E-KEY]",
            "did you mean \"variants\"?"
        ),
        (
            "use: standard", "2:13: unknown key \"use\" in \"a\"  [E-KEY]",
            "what a policy leaves out is as in standard; only rules say use"
        ),
    ])
    func `a wrong value is told with what to write`(text: String, line: String, hint: String) {
        expectProblem("cache: {a: {\(text)}}", line, hint)
    }

    // MARK: modify

    @Test(arguments: [
        (
            "modify: off", "2:21: expected steps, found \"off\"  [E-TYPE]",
            "write {set: {X-Env: dev}}"
        ),
        (
            "modify: {auth: github}", "2:22: \"auth\" is a step of requests  [E-KEY]",
            "responses have: set, add, default, remove, rewrite"
        ),
        (
            "modify: {sett: {A: b}}", "2:22: unknown key \"sett\" in \"modify\"  [E-KEY]",
            "did you mean \"set\"?"
        ),
        (
            "modify: {set: {Content-Length: 1}}",
            "2:28: `Content-Length` frames the message  [E-HEADER]", "lupin writes it itself"
        ),
        (
            "modify: {set: {X-A: \"${header:Cookie}\"}}",
            "2:34: \"${header:Cookie}\" is not allowed here  [E-TYPE]",
            "only values of request steps know a request"
        ),
        (
            "modify: {set: {Cache-Control: max-age=60}}",
            "2:22: modify can't change cache-control: it says how and for whom the response is "
                + "stored  [E-CACHE]",
            "ttl: gives another lifetime; response: changes what clients see"
        ),
        (
            "modify: [{remove: [Via, \"*\"]}]",
            "2:23: modify can't change age: it says how and for whom the response is stored"
                + "  [E-CACHE]", "ttl: gives another lifetime; response: changes what clients see"
        ),
        (
            "modify: {remove: [X-Vary, VARY]}",
            "2:22: modify can't change vary: it says how and for whom the response is stored"
                + "  [E-CACHE]", "response: changes what clients see"
        ),
        (
            "modify: {rewrite: {header: ETag, from: /a/, to: b}}",
            "2:22: modify can't change etag: it says how and for whom the response is stored"
                + "  [E-CACHE]", "response: changes what clients see"
        ),
    ])
    func `what can't be modified is told`(text: String, line: String, hint: String) {
        expectProblem("cache: {a: {\(text)}}", line, hint)
    }

    // MARK: The store

    @Test(arguments: [
        ("memory: 64", "2:25: \"64\" has no unit  [E-TYPE]", "write 64KiB"),
        (
            "memory: 2TiB", "2:25: memory 2TiB is out of range  [E-RANGE]", "allowed: 0 to 1TiB"
        ),
        ("disk: on", "2:23: \"on\" is not a size  [E-TYPE]", "write 64KiB"),
        (
            "max_object: 9MiB, memory: 8MiB",
            "2:29: max_object 9MiB is more than memory 8MiB  [E-RANGE]", "write 8MiB or less"
        ),
        (
            "max_object: 1B", "2:29: max_object 1B is out of range  [E-RANGE]",
            "allowed: 1KiB to 4GiB"
        ),
        ("path: []", "2:23: expected a path, found a list  [E-TYPE]", "write ~/.cache/lupin"),
        (
            "size: 1MiB", "2:17: unknown key \"size\" in \"cache.store\"  [E-KEY]",
            "known: memory, disk, path, max_object, disk_max_object, shared"
        ),
    ])
    func `a store that can't be is told`(text: String, line: String, hint: String) {
        expectProblem("cache: {store: {\(text)}}", line, hint)
    }

    private static let teamKey = "key: 0123456789abcdef0123456789abcdef"

    @Test(arguments: [
        ("url: redis://a.example", "shared", "\"shared\" has no \"key\"  [E-KEY]"),
        ("url: a.example, \(teamKey)", "a.example", "a server needs a scheme"),
        (
            "url: http://a.example, \(teamKey)", "http:",
            "a server is reached by redis, rediss or unix"
        ),
        ("url: redis://me@a.example, \(teamKey)", "redis:", "a user without a password"),
        ("key: short", "short", "a key has 32 characters at least  [E-RANGE]"),
        ("ttl: 1h, \(teamKey)", "ttl", "unknown key \"ttl\" in \"cache.store.shared\"  [E-KEY]"),
        ("timeout: 1h, \(teamKey)", "1h", "timeout 1h is out of range  [E-RANGE]"),
    ])
    func `a shared store that can't be is told`(text: String, place: String, problem: String) {
        let report = errors("cache: {store: {shared: {\(text)}}}")
        #expect(report.contains(problem), "\(report)")
    }

    @Test func `a shared store is read, and its secrets are known`() throws {
        let text =
            "cache: {store: {shared: {url: \"rediss://:pass%20word@a.example/2\", "
            + "\(Self.teamKey), lease: 5s}}}"
        let configuration = try #require(decode(text).configuration)
        let shared = configuration.settings.cacheStore.shared
        #expect(shared.isOn && shared.server?.text == "a.example:6379")
        #expect(shared.server?.password == "pass word" && shared.lease == .seconds(5))
        #expect(configuration.secrets.contains("pass word"))
        #expect(configuration.secrets.contains("0123456789abcdef0123456789abcdef"))
        #expect(
            try !#require(decode("cache: {store: {shared: {url: off}}}").configuration)
                .settings.cacheStore.shared.isOn
        )
    }

    @Test func `a store that is off has no objects that could be too large`() {
        #expect(errors("cache: {store: {memory: 0, disk: off, disk_max_object: 2GiB}}") == "")
    }

    // MARK: Names

    @Test func `an unknown name is told with the nearest one`() {
        let report = errors(
            """
            cache: {mine: {}}
            rules:
              - match: a.dev
                cache: standart
            """
        )
        #expect(
            report == """
                lupin.yaml:5:12: unknown cache policy "standart"  [E-NAME]
                    cache: standart
                           ^^^^^^^^  did you mean "standard"? defined: standard, mine, off
                """
        )
    }

    @Test func `names and forms that can't be are told`() {
        expectProblem(
            "rules: [{match: a.dev, cache: false}]",
            "2:31: unknown cache policy \"false\"  [E-NAME]",
            "write off"
        )
        expectProblem(
            "rules: [{match: a.dev, cache: {use: off}}]",
            "2:37: unknown cache policy \"off\"  [E-NAME]",
            "defined: standard"
        )
        expectProblem(
            "rules: [{match: a.dev, cache: store}]",
            "2:31: unknown cache policy \"store\"  [E-NAME]",
            "defined: standard, off"
        )
        expectProblem(
            "cache: {off: {}}",
            "2:9: no cache policy can be called \"off\": cache: off stores nothing  [E-NAME]",
            "choose another name"
        )
        expectProblem(
            "rules: [{match: a.dev, cache: [standard]}]",
            "2:31: expected a cache policy, found a list  [E-TYPE]",
            "write standard"
        )
        expectProblem(
            "cache: {a: 3}",
            "2:12: expected a cache policy, found \"3\"  [E-TYPE]",
            "write {mode: private}"
        )
        expectProblem(
            "cache: off",
            "2:8: expected a map, found \"off\"  [E-TYPE]",
            "write cache: {store: {memory: 128MiB}}"
        )
        expectProblem(
            "rules: [{match: a.dev, cache: {uses: mine}}]",
            "2:32: unknown key \"uses\" in \"cache\"  [E-KEY]",
            "did you mean \"use\"?"
        )
        // A policy with a problem of its own is defined all the same.
        for name in ["a", "standard"] {
            let body = "cache: {\(name): {variants: 0}}\nrules: [{match: a.dev, cache: \(name)}]"
            #expect(decode(body).errors.map(\.code) == [.range])
        }
    }

    @Test func `everything wrong in one rule is told at once`() {
        let body = "rules: [{match: a.dev, cache: {use: nobody, ttl: 5, mode: x}}]"
        #expect(decode(body).errors.map(\.code) == [.name, .type, .name])
    }
}
