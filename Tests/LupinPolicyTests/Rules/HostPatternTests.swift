// Which hosts a pattern stands for, and what a bad one is told.

import LupinCore
import LupinPolicy
import Testing

@Suite struct HostPatternTests {
    @Test(arguments: [
        ("x.dev", "x.dev", true), ("x.dev", "a.x.dev", false), ("X.Dev.", "x.dev", true),
        ("x.dev", "X.DEV.", true), ("*.x.dev", "x.dev", false), ("*.x.dev", "a.x.dev", true),
        ("*.x.dev", "a.b.x.dev", false), ("**.x.dev", "x.dev", true), ("**.x.dev", "a.x.dev", true),
        ("**.x.dev", "a.b.x.dev", true), ("**.x.dev", "ax.dev", false),
        ("telemetry.*.example", "telemetry.eu.example", true),
        ("telemetry.*.example", "telemetry.a.b.example", false),
        ("telemetry.**.example", "telemetry.a.b.example", true),
        ("telemetry.**.example", "telemetry.example", true),
        ("api-*.x.dev", "api-eu.x.dev", true), ("api-*.x.dev", "api-.x.dev", true),
        ("api-*.x.dev", "api.x.dev", false), ("a*z.dev", "az.dev", true),
        ("a*a.dev", "a.dev", false),
        ("**", "a.b.c", true), ("*", "localhost", true), ("*", "x.dev", false),
        ("**.a.**.b", "x.a.a.y.b", true), ("**.a.*.b", "a.a.y.b", true),
        ("**.a.*.b", "a.a.b", true),
        ("**.a.*.b", "a.b", false), ("*.X.dev.", "a.x.dev", true),
        ("bücher.example", "xn--bcher-kva.example", true),
        ("*.bücher.example", "a.xn--bcher-kva.example", true),
        ("127.0.0.1", "127.0.0.1", true), ("127.0.0.1", "2130706433", true),
        ("0x7f.1", "127.0.0.1", true), ("[::1]", "[::1]", true), ("::1", "[0:0::1]", true),
        ("[::1]", "[::2]", false), ("10.0.0.*", "10.0.0.7", true),
        (#"/^api\d+\./"#, "api12.x.dev", true), ("/^API/i", "api.x.dev", true),
        (#"/^api\d+\./"#, "api.x.dev", false), ("my_host.x.dev", "my_host.x.dev", true),
    ])
    func `a pattern matches hosts in canonical form`(
        pattern: String,
        host: String,
        expected: Bool
    ) throws {
        let host = try #require(Host(host))
        #expect(try HostPattern(pattern).matches(host) == expected)
    }

    @Test(arguments: [
        ("", "a host name is missing", 0),
        ("https://x.dev", "a host has no scheme; write `scheme: https` beside it", 0),
        ("http//x.dev/a", "write `x.dev`, and `scheme: http` beside it", 0),
        ("https:/x.dev", "write `x.dev`, and `scheme: https` beside it", 0),
        ("x.dev/v1", "a host has no path; write `path: /v1` beside it", 5),
        ("x.dev:8080", "a host has no port; write `port: 8080` beside it", 5),
        ("[::1]:80", "a host has no port; write `port: 80` beside it", 5),
        ("*.x.dev:80", "a host has no port; write `port: 80` beside it", 7),
        ("me@x.dev", "a host has no user name", 2), ("10.0.0.0/8", "a network is not a host", 8),
        ("a.*b*.dev", "`*` stands twice in one label", 2),
        ("a.b**.dev", "`*` stands twice in one label", 2),
        ("*..dev", "a label is empty", 2), ("x dev", "` ` does not belong in a host name", 1),
        ("*.x,dev", "`,` does not belong in a host name", 3), ("a..b", "a label is empty", 0),
        ("bü*.dev", "write the A-label", 0), ("[::g]", "not an IPv6 address in brackets", 0),
        ("/abc", "a host has no path; a regular expression ends with `/`", 0),
        ("/a(/", "`(` is not closed", 2), ("x:y", "`:` does not belong in a host name", 1),
    ])
    func `a bad host says what to write`(text: String, message: String, offset: Int) throws {
        let problem = try #require(problem { _ = try HostPattern(text) })
        #expect(problem.message.contains(message), "\(problem.message)")
        #expect(problem.offset == offset)
    }

    @Test(
        arguments: [
            ("bücher.example", "compared as `xn--bcher-kva.example`"),
            ("x.dev.", "compared as `x.dev`"),
            ("*.bücher.example", "compared as `*.xn--bcher-kva.example`"),
            ("::1", "written `[::1]` in URLs; compared as `::1`"),
            ("0x7f.1", "compared as `127.0.0.1`"),
            ("*.x.dev.", "compared as `*.x.dev`"), ("X.dev", nil), ("[::1]", nil),
            ("**.x.dev", nil),
        ] as [(String, String?)]
    )
    func `what is not canonical is noted`(text: String, note: String?) throws {
        #expect(try HostPattern(text).canonicalNote == note)
    }

    @Test func `patterns are equal when they mean the same name`() throws {
        #expect(try HostPattern("X.dev.") == HostPattern("x.dev"))
        #expect(try HostPattern("*.x.dev") != HostPattern("**.x.dev"))
    }
}
