// Which rules come of what was seen: as narrow as it was used, and never wider by a pattern.
import LupinConsole
import LupinTestKit
import Testing

struct AllowListTests {
    private func list(_ lines: [LoggedExchange]) throws -> AllowList {
        var seen = SeenTargets()
        for line in lines { try seen.add(#require(line.json)) }
        return AllowList(seen)
    }

    /// `name ports methods` of each rule, its parts one after the other.
    private func rules(_ lines: [LoggedExchange]) throws -> [String] {
        try list(lines).rules.map { rule in
            let parts = rule.parts.map { "\($0.ports)\($0.methods.joined(separator: "+"))" }
            return "\(rule.name) \(parts.joined(separator: " "))"
        }
    }

    @Test func `each way has a rule of its own, and ports of the same methods share a match`()
        throws
    {
        #expect(
            try rules([
                .tunnel("b.example"), LoggedExchange("b.example"), .tunnel("a.example", port: 22),
                .decrypted("b.example", port: 8443), .decrypted("b.example", port: 9443),
                .decrypted("b.example", port: 9444).with { $0.method = "PUT" },
            ]) == [
                "a.example [22]", "b.example [443]",
                "b.example by http [80]GET",
                "b.example decrypted [8443, 9443]GET [9444]PUT",
            ]
        )
    }

    @Test func `where a target was tunnelled it is not decrypted`() throws {
        #expect(
            try rules([
                .decrypted("a.example"), .tunnel("a.example"), .decrypted("b.example"),
            ]) == ["a.example [443]", "b.example decrypted [443]GET"]
        )
    }

    private static let three = (1...3).map { LoggedExchange.tunnel("h\($0).eu.files.example") }

    @Test func `three hosts below three labels are a pattern, two are not`() throws {
        #expect(try rules(Self.three) == ["*.eu.files.example [443]"])
        #expect(try rules(Array(Self.three.prefix(2))).count == 2)
        #expect(try list(Self.three).rules.map(\.hosts) == [3])
    }

    @Test(arguments: [
        "files.example", "github.io", "co.uk", "acme.co.uk", "k12.ma.us", "eu.cloudfront.net",
        "s3.eu-central-1.amazonaws.com", "blob.core.windows.net", "storage.googleapis.com",
    ])
    func `hosts that may be of different people are no pattern`(parent: String) throws {
        let lines = (1...5).map { LoggedExchange.tunnel("h\($0).\(parent)") }
        #expect(try rules(lines).count == 5)
    }

    @Test func `a pattern never covers what was refused or failed`() throws {
        for line in [
            LoggedExchange.refused("ads.eu.files.example"), .failed("gone.eu.files.example"),
        ] {
            #expect(try rules(Self.three + [line]).count == 3)
        }
        #expect(try rules(Self.three + [.refused("ads.us.files.example")]).count == 1)
    }

    @Test func `addresses are no names below each other`() throws {
        let lines = (1...4).map { LoggedExchange.tunnel("10.1.2.\($0)") }
        #expect(try rules(lines).count == 4)
    }

    @Test func `other ways and other ports don't join, and a host of its own comes first`() throws {
        let lines =
            Self.three + [
                .decrypted("x.eu.files.example"), .tunnel("h1.eu.files.example", port: 22),
                .tunnel("zz.example"),
            ]
        #expect(
            try rules(lines) == [
                "h1.eu.files.example [22]", "x.eu.files.example decrypted [443]GET",
                "zz.example [443]", "*.eu.files.example [443]",
            ]
        )
    }

    @Test func `a pattern of tunnels lifts no limit of methods beside it`() throws {
        let decrypted = (4...6).map { LoggedExchange.decrypted("h\($0).eu.files.example") }
        #expect(
            try rules(Self.three + decrypted) == [
                "h4.eu.files.example decrypted [443]GET", "h5.eu.files.example decrypted [443]GET",
                "h6.eu.files.example decrypted [443]GET", "*.eu.files.example [443]",
            ]
        )
    }

    @Test func `the order of the log changes nothing`() throws {
        let lines = Self.three + [.tunnel("a.example"), LoggedExchange("b.example")]
        #expect(try list(lines) == list(lines.reversed()))
    }
}
