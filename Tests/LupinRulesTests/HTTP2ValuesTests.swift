// HTTP/2 in the rules file: who speaks it, its limits, and what is said of wrong values.

import LupinCore
import LupinPolicy
import LupinRules
import Testing

struct HTTP2ValuesTests {
    private func listener(_ keys: String) throws -> ListenerSettings {
        try #require(try configuration("listen: [{\(keys)}]").settings.listeners.first)
    }

    private func limits(_ keys: String) throws -> HTTP2Limits {
        try configuration("limits: {h2: {\(keys)}}").settings.limits.http2
    }

    private func protocols(ofRule keys: String) throws -> [String]? {
        let configuration = try configuration("rules: [{match: a.dev, \(keys)}]")
        return try #require(configuration.rules.rules.first).tls.protocols
    }

    // MARK: Protocols

    @Test(
        arguments: [
            ("address: \"127.0.0.1:1\"", [.http1, .http2]),
            ("protocols: [h1, h2]", [.http1, .http2]),
            ("protocols: [h2, h1]", [.http1, .http2]), ("protocols: [h1]", .http1),
            ("protocols: h2", .http2),
            // The address comes last here, and must not take back what stands before it.
            ("protocols: [h2], address: \"127.0.0.1:1\"", .http2),
        ] as [(String, ListenProtocols)]
    )
    func `a listener speaks both, or the one that is written`(
        keys: String,
        expected: ListenProtocols
    ) throws {
        #expect(try listener(keys).protocols == expected)
    }

    @Test(arguments: [
        ("[h2, http/1.1]", ["h2", "http/1.1"]), ("[http/1.1, h2]", ["http/1.1", "h2"]),
        ("[http/1.1]", ["http/1.1"]), ("h2", ["h2"]),
    ])
    func `protocols are offered in the order of the file, by a rule too`(
        text: String,
        expected: [String]
    ) throws {
        let upstream = try configuration("upstream: {tls: {alpn: \(text)}}").settings.upstream
        #expect(upstream.tls.protocols == expected)
        #expect(try protocols(ofRule: "tls: {alpn: \(text)}") == expected)
    }

    @Test func `a rule without alpn inherits it, and one with it says something about TLS`() throws
    {
        #expect(try protocols(ofRule: "tls: {min: \"1.3\"}") == nil)
        var overrides = TLSOverrides()
        #expect(overrides.isEmpty)
        overrides.protocols = ["h2"]
        #expect(!overrides.isEmpty)
    }

    // MARK: Limits

    @Test func `limits are set key by key`() throws {
        let limits = try limits(
            "streams: 7, resets: 20/1s, control: 5000/1m, table: 0, window: 1MiB"
        )
        #expect(limits.streams == 7)
        #expect(limits.resets == RateLimit(count: 20, per: .seconds(1)))
        #expect(limits.control == RateLimit(count: 5000, per: .seconds(60)))
        #expect(limits.tableBytes == 0)
        #expect(limits.window == .fixed(bytes: 1 << 20))
        #expect(limits.window.initialBytes == 1 << 20)
        #expect(HTTP2Limits().window.initialBytes == 256 << 10)
    }

    // MARK: Problems

    @Test(arguments: [
        (
            "listen: [{protocols: [h3]}]", "2:23: unknown protocol \"h3\"  [E-NAME]",
            "did you mean \"h1\"? allowed: h1, h2"
        ),
        (
            "listen: [{protocols: []}]",
            "2:22: a listener speaks at least one protocol  [E-RANGE]", "write [h1, h2]"
        ),
        (
            "listen: [{protocols: [h1, h1]}]", "2:27: \"h1\" is in the list twice  [E-DUP]",
            "write it once"
        ),
        (
            "listen: [{protocols: {h2: true}}]", "2:22: expected a protocol, found a map  [E-TYPE]",
            "write [h1, h2]"
        ),
        (
            "upstream: {tls: {alpn: []}}",
            "2:24: at least one protocol must be offered  [E-RANGE]", "write [h2, http/1.1]"
        ),
        (
            "upstream: {tls: {alpn: [h2, http1.1]}}",
            "2:29: unknown protocol \"http1.1\"  [E-NAME]",
            "did you mean \"http/1.1\"? allowed: h2, http/1.1"
        ),
        (
            "upstream: {tls: {alpn: [h2, http/1.1, h2]}}",
            "2:39: \"h2\" is in the list twice  [E-DUP]", "write it once"
        ),
        (
            "rules: [{match: a.dev, tls: {alpn: h1}}]",
            "2:36: unknown protocol \"h1\"  [E-NAME]", "did you mean \"h2\"? allowed: h2, http/1.1"
        ),
        (
            "rules: [{match: a.dev, tls: {aplpn: h2}}]",
            "2:30: unknown key \"aplpn\" in \"tls\"  [E-KEY]", "did you mean \"alpn\"?"
        ),
        (
            "upstream: {pool: {streams: 0}}", "2:28: streams 0 is out of range  [E-RANGE]",
            "allowed: 1 to 65535"
        ),
        (
            "limits: {h2: 100}", "2:14: expected a map, found \"100\"  [E-TYPE]",
            "write h2: {streams: …, resets: …}"
        ),
        (
            "limits: {h2: {stream: 100}}", "2:15: unknown key \"stream\" in \"limits.h2\"  [E-KEY]",
            "did you mean \"streams\"?"
        ),
        (
            "limits: {h2: {streams: 65536}}",
            "2:24: streams 65536 is out of range  [E-RANGE]", "allowed: 1 to 65535"
        ),
        (
            "limits: {h2: {resets: 1000}}", "2:23: \"1000\" has no time  [E-TYPE]",
            "write 1000/30s"
        ),
        (
            "limits: {h2: {resets: 0/30s}}", "2:23: resets 0/30s is out of range  [E-RANGE]",
            "allowed: 1 to 1000000 in 1s to 1h"
        ),
        (
            "limits: {h2: {control: 10/2h}}", "2:24: control 10/2h is out of range  [E-RANGE]",
            "allowed: 1 to 1000000 in 1s to 1h"
        ),
        (
            "limits: {h2: {control: [1]}}",
            "2:24: expected a number in a time, found a list  [E-TYPE]", "write 1000/10s"
        ),
        (
            "limits: {h2: {table: 65KiB}}", "2:22: table 65KiB is out of range  [E-RANGE]",
            "allowed: 0 to 64KiB"
        ),
        (
            "limits: {h2: {window: 65535}}", "2:23: \"65535\" has no unit  [E-TYPE]",
            "write 65535KiB"
        ),
        (
            "limits: {h2: {window: 32KiB}}", "2:23: window 32KiB is out of range  [E-RANGE]",
            "allowed: 64KiB to 16MiB"
        ),
        (
            "limits: {h2: {window: none}}", "2:23: \"none\" is not a size  [E-TYPE]",
            "write 64KiB"
        ),
    ])
    func `a wrong value is told with what to write`(body: String, first: String, hint: String) {
        let problems = decode(body).errors
        #expect(problems.count == 1)
        let line = problems.first.map { String($0.text.prefix { $0 != "\n" }) }
        #expect(line == "lupin.yaml:\(first)")
        #expect(problems.first?.hint == hint)
    }

    @Test func `all problems are told at once`() {
        let body = """
            listen: [{protocols: [h1, h4, h1]}]
            upstream: {tls: {alpn: [h4, h2, h2]}, pool: {streams: x}}
            limits: {h2: {streams: 0, resets: 1, control: 2, table: 1, window: 2}}
            """
        let problems = decode(body).errors
        #expect(problems.map(\.line) == [2, 2, 3, 3, 3, 4, 4, 4, 4, 4])
    }
}
