// The rules file of `lupin suggest`: its words, and that texts of a log stay what they are.
import LupinConsole
import LupinCore
import LupinPolicy
import LupinRules
import LupinTestKit
import Testing

struct AllowListTextTests {
    static func text(of lines: [LoggedExchange]) throws -> String {
        var seen = SeenTargets()
        for line in lines { try seen.add(#require(line.json, "\(line.text)")) }
        return AllowListText.text(of: seen)
    }

    @Test func `a file tells what it allows, how often it was used, and what is not allowed`()
        throws
    {
        let lines: [LoggedExchange] = [
            .tunnel("pypi.org").with { $0.program = "pip" },
            .tunnel("pypi.org").with {
                ($0.program, $0.time) = ("curl", "2026-11-21T00:00:00.000001Z")
            },
            .tunnel("pypi.org").with { $0.program = "pip" },
            LoggedExchange("pypi.org", port: 8080).with { $0.method = "POST" },
            .decrypted("api.example").with { $0.method = "PURGE-X" }, .decrypted("api.example"),
            .tunnel("::1", port: 8443).with { $0.client = "192.168.1.7" },
            .refused("ads.example"), .refused("ads.example"), .failed("gone.example"),
            LoggedExchange("no host"),
        ]
        #expect(
            try Self.text(of: lines) == """
                # An allow list by lupin suggest: what 11 exchanges needed, \
                2026-11-20T22:41:07Z to 2026-11-21T00:00:00Z.
                # Rehearse it before it counts: lupin check FILE --against LOG
                # Rules of your own go above these, since each of these ends matching.
                # Clients of other machines asked, too, and need listen and access.clients:
                #   192.168.1.7
                lupin: 1

                rules:
                  # 1 exchange, last 2026-11-20T22:41:07Z
                  - name: "[::1]"
                    match: {host: "[::1]", port: 8443}
                    stop: true
                  # 2 exchanges, last 2026-11-20T22:41:07Z
                  - name: "api.example decrypted"
                    match: {host: api.example, port: 443, method: [CONNECT, GET, "PURGE-X"]}
                    intercept: true
                    stop: true
                  # 3 exchanges by pip, curl, last 2026-11-21T00:00:00Z
                  - name: pypi.org
                    match: {host: pypi.org, port: 443}
                    stop: true
                  # 1 exchange, last 2026-11-20T22:41:07Z
                  - name: "pypi.org by http"
                    match: {host: pypi.org, scheme: http, port: 8080, method: POST}
                    stop: true
                  # Everything else.
                  - name: nothing else
                    match: {}
                    respond: {status: 403}

                # 1 exchange had no host or method that a rule can name.

                # Not allowed, since nobody got through (what was answered needs its rule, above):
                #   ads.example:443 refused 2 times: respond 403 by the rule "none" (line 9)
                #   gone.example:80 failed once: dns_error

                """
        )
    }

    @Test func `without exchanges everything is refused`() throws {
        let loaded = decodeWhole(try Self.text(of: []))
        let rules = try #require(loaded.configuration).rules.rules
        #expect(rules.map(\.name) == ["nothing else"])
        #expect(rules.first?.respond?.status == 403)
    }

    private static let hostile = [
        "x\n  - name: evil\n    match: {}\n    stop: true", "x\r- evil", "x\u{85}- evil",
        "x\u{2028}- evil", "x\u{2029}- evil", "x\u{0}y", "# x", "\u{1B}[2Jx", "${env:HOME}",
        "x: {y: [", "'\"\\", String(repeating: "x", count: 5000), "\u{FEFF}lupin: 2", "\t",
        "---\n- evil",
    ]

    @Test(arguments: hostile)
    func `no text of a log becomes a rule`(text: String) throws {
        let plain = try Self.text(of: [.tunnel("a.example"), .failed("b.example")])
        let expected = try #require(decodeWhole(plain).configuration).rules.rules.map(\.name)
        let lines: [LoggedExchange] = [
            .tunnel("a.example").with { $0.program = text },
            .failed("b.example").with {
                $0.errorType = text
            }, LoggedExchange(text).with { $0.time = text },
            LoggedExchange("c.example").with { $0.method = "A\(text)" },
            LoggedExchange("d.example").with {
                ($0.step, $0.answer) = ("respond \(text)", nil)
            },
            LoggedExchange("e.example").with {
                $0.outcome = "denied"
                $0.client = text
            },
        ]
        let written = try Self.text(of: lines)
        let loaded = decodeWhole(written)
        #expect(loaded.errors.isEmpty && loaded.warnings.isEmpty, "\(loaded.errors)\n\(written)")
        let names = try #require(loaded.configuration).rules.rules.map(\.name)
        #expect(names == expected, "\(written)")
        #expect(written.unicodeScalars.allSatisfy { $0 == "\n" || 0x20..<0x7F ~= $0.value })
        #expect(written.split(separator: "\n").allSatisfy { $0.utf8.count < 300 })
    }

    @Test(arguments: ["$$", "!#%&'*+.^_`|~-", "$", "NULL", "true", "1e3", "*", "0x1F", "~"])
    func `any method is written so that the file means it`(method: String) throws {
        let text = try Self.text(of: [LoggedExchange("a.example").with { $0.method = method }])
        let loaded = decodeWhole(text)
        #expect(loaded.errors.isEmpty, "\(loaded.errors.map(\.text)) \(text)")
        let match = loaded.configuration?.rules.rules.first?.matches.first
        #expect(match?.methods == [Method(method)])
    }

    @Test(arguments: ["null", "true", "1e3", "a_b", "-x", "xn--bcher-kva", "0x7f.0.0.1", "no.1"])
    func `any host is written so that the file means it`(host: String) throws {
        let text = try Self.text(of: [.tunnel(host)])
        let loaded = decodeWhole(text)
        #expect(loaded.errors.isEmpty && loaded.warnings.isEmpty, "\(text)")
        let match = loaded.configuration?.rules.rules.first?.matches.first
        #expect(match?.hosts?.first?.exactHost == Host(host))
    }
}
