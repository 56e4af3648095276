// Which readings of a path count, and when another one matters.
import LupinCore
import Testing

struct PathReadingsTests {
    private func other(_ path: String, _ rules: [Rule]) throws -> OtherReading? {
        let request = try #require(SampleRequest(.get, .https, host: "a.test", path: path))
        return RuleSet(rules).otherReading(of: request.subject)
    }

    private static func rule(_ path: String, _ change: (inout Rule) -> Void) throws -> Rule {
        var match = Match()
        match.paths = [try PathPattern(path)]
        return .named("r", match, change)
    }

    @Test(arguments: [
        ("/a/..%2fb", "nginx, Apache, Node and Python", "/b"),
        ("//b", "nginx, Apache and others that merge slashes", "/b"),
        ("/a/..;x/b", "Tomcat, Jetty and Spring", "/b"),
        ("/a/..%5cb", "IIS and Node's URL", "/b"),
        ("/b.", "IIS and others on Windows", "/b"),
        ("/%u0062", "IIS and others on Windows", "/b"),
        (
            "/%c2%ad%62",
            "a server that drops blanks and controls, as Java's trim and URL parsers do",
            "/b"
        ),
        ("/b%00c", "a CGI program", "/b"),
        ("/a/..%252fb", "a server that decodes again behind a proxy", "/b"),
    ])
    func `the first reading for which other rules hold is told`(
        path: String,
        servers: String,
        reading: String
    ) throws {
        let rule = try Self.rule("/b") { $0.respond = CannedResponse(status: 403) }
        let other = try other(path, [rule])
        #expect(other?.servers == servers)
        #expect(other?.path == reading)
        #expect(other?.rule == "rule \"r\" (line 1)")
    }

    @Test(arguments: ["/a", "/a/b.c", "/a/../b%20c", "/a?x=..%2fb", "/%41", ""])
    func `a plain path has one reading`(path: String) throws {
        let rule = try Self.rule("/b") { $0.respond = CannedResponse(status: 403) }
        #expect(try other(path, [rule]) == nil)
    }

    @Test func `only rules that attach or refuse something count`() throws {
        let path = "/a/..%2fb"
        #expect(try other(path, [Self.rule("/b") { $0.stop = true }]) == nil)
        #expect(try other(path, [Self.rule("/b") { $0.capture = .off }]) == nil)
        #expect(try other(path, [Self.rule("/b") { $0.steps = [.auth(token: "t")] }]) != nil)
        #expect(try other(path, [Self.rule("/b") { $0.standIns = ["t"] }]) != nil)
        #expect(try other(path, [Self.rule("/b") { $0.cookieJar = "j" }]) != nil)
        #expect(try other(path, [Self.rule("/b") { $0.crossSite = .any }]) != nil)
        // A rule that ends matching decides by what it keeps from the others.
        let refusing = Rule.named("all") { $0.respond = CannedResponse(status: 403) }
        #expect(try other(path, [Self.rule("/b") { $0.stop = true }, refusing]) != nil)
        #expect(try other(path, [refusing]) == nil)
    }
}
