// The table of what a log used: what counts as used, and what a hostile log can't do to it.
import LupinConsole
import LupinCore
import LupinTestKit
import Testing

struct SeenTargetsTests {
    private func seen(_ lines: LoggedExchange...) throws -> SeenTargets {
        var seen = SeenTargets()
        for line in lines { try seen.add(#require(line.json)) }
        return seen
    }

    /// `host:port way methods`, sorted.
    private func uses(_ seen: SeenTargets) -> [String] {
        seen.uses.map { target, use in
            ([("\(target.host.text):\(target.port) \(target.way)")] + use.methods.sorted())
                .joined(separator: " ")
        }.sorted()
    }

    @Test func `a target is a host, a port and a way; what failed is none`() throws {
        let seen = try seen(
            LoggedExchange("A.example."),
            LoggedExchange("a.example").with { $0.method = "POST" },
            .decrypted("a.example").with { $0.method = "PROPFIND" },
            .tunnel("b.example"),
            .tunnel("b.example", port: 8443),
            .refused("c.example"),
            .failed("d.example"),
            LoggedExchange("e.example", port: 443).with { $0.scheme = "https" }
        )
        #expect(
            uses(seen) == [
                "a.example:443 decrypted PROPFIND", "a.example:80 http GET POST",
                "b.example:443 tunnel", "b.example:8443 tunnel", "e.example:443 https GET",
            ]
        )
        #expect(
            Set(seen.unused.keys.map { "\($0.host.text):\($0.port) \($0.outcome) \($0.reason)" })
                == [
                    "c.example:443 refused respond 403 by the rule \"none\" (line 9)",
                    "d.example:80 failed dns_error",
                ]
        )
        #expect(seen.exchanges == 8)
    }

    @Test func `what lupin did for the client counts as the client's: redirects`() throws {
        let seen = try seen(
            LoggedExchange("a.example").with {
                $0.method = "POST"
                $0.redirect = (302, "https://b.example/x")
            },
            .decrypted("c.example").with {
                $0.method = "POST"
                $0.redirect = (307, "https://d.example:8443/x")
            },
            .decrypted("c.example").with { $0.redirect = (301, "no URL") }
        )
        #expect(
            uses(seen) == [
                "a.example:80 http POST", "b.example:443 tunnel",
                "c.example:443 decrypted GET POST",
                "d.example:8443 decrypted POST",
            ]
        )
    }

    @Test func `the server name inside a tunnel is a second target`() throws {
        let seen = try seen(
            .tunnel("a.example").with { $0.serverName = "front.example" },
            .tunnel("b.example").with { $0.serverName = "B.EXAMPLE" },
            .tunnel("c.example").with { $0.serverName = "no host" }
        )
        #expect(
            uses(seen) == [
                "a.example:443 tunnel", "b.example:443 tunnel", "c.example:443 tunnel",
                "front.example:443 tunnel",
            ]
        )
    }

    @Test(arguments: [
        "GET\nX", "G T", "get", "CONNECT", "", "é", String(repeating: "A", count: 65),
    ])
    func `what rules can't name is counted, not taken`(method: String) throws {
        let seen = try seen(LoggedExchange("a.example").with { $0.method = method })
        #expect(seen.uses.isEmpty)
        #expect(seen.unnamed == 1)
    }

    @Test(arguments: ["", "a b", "a\nb", "*.example", "a.example/x", "${env:HOME}", "\"a\""])
    func `a text that is no host is none`(host: String) throws {
        let seen = try seen(LoggedExchange(host))
        #expect(seen.uses.isEmpty && seen.unused.isEmpty)
        #expect(seen.unnamed == 1)
    }

    @Test func `what a file without access refuses is not suggested`() throws {
        let seen = try seen(LoggedExchange("169.254.169.254"), LoggedExchange("127.0.0.1"))
        #expect(uses(seen) == ["127.0.0.1:80 http GET"])
        #expect(seen.unused.keys.map(\.host.text) == ["169.254.169.254"])
    }

    // MARK: Limits

    @Test func `a million hosts are refused, not kept`() throws {
        var seen = SeenTargets()
        for i in 0..<SeenTargets.targetsMax {
            try seen.add(#require(LoggedExchange.tunnel("h\(i).example").json))
        }
        // Those that are known already go on counting.
        try seen.add(#require(LoggedExchange.tunnel("h7.example").json))
        let line = try #require(LoggedExchange.tunnel("one.more.example").json)
        #expect(throws: SeenProblem.tooManyTargets) { try seen.add(line) }
        #expect(seen.uses.count == SeenTargets.targetsMax)
        #expect(SeenProblem.tooManyTargets.sentence.contains("\(SeenTargets.targetsMax)"))
    }

    @Test func `methods without end are refused`() throws {
        var seen = SeenTargets()
        for i in 0..<SeenTargets.methodsMax {
            try seen.add(#require(LoggedExchange("a.example").with { $0.method = "M\(i)" }.json))
        }
        let line = try #require(LoggedExchange("a.example").json)
        #expect(throws: SeenProblem.tooManyMethods("a.example:80")) { try seen.add(line) }
        #expect(seen.uses.values.map(\.methods.count) == [SeenTargets.methodsMax])
    }

    @Test func `programs, clients and targets that were not used are kept up to a number`() throws {
        var seen = SeenTargets()
        for i in 0..<SeenTargets.unusedMax + 5 {
            try seen.add(#require(LoggedExchange.failed("h\(i).example").json))
            let line = LoggedExchange("a.example").with {
                $0.program = "p\(i)"
                $0.client = "10.0.\(i / 256).\(i % 256)"
            }
            try seen.add(#require(line.json))
        }
        #expect(seen.unused.count == SeenTargets.unusedMax)
        #expect(seen.unusedElsewhere == 5)
        #expect(seen.uses.values.map(\.programs.count) == [SeenTargets.programsMax])
        #expect(seen.uses.values.map(\.count) == [SeenTargets.unusedMax + 5])
        #expect(seen.foreignClients.count == SeenTargets.programsMax)
    }
}
