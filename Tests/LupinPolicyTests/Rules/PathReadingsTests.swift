// Which readings of a path count, and when another one matters.
import Foundation
import LupinCore
import LupinPolicy
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
        ("//b", "nginx and Apache", "/b"),
        ("/a/..;x/b", "Tomcat, Jetty and Spring", "/b"),
        ("/a/..%5cb", "IIS and Node's URL", "/b"),
        ("/b.", PathReading.windows.servers, "/b"), ("/%u0062", PathReading.windows.servers, "/b"),
        ("/%c2%ad%62", PathReading.visible.servers, "/b"), ("/b%00c", "CGI programs", "/b"),
        ("/a/..%252fb", "servers that decode again behind a proxy", "/b"),
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

    @Test func `the sentence names both readings, and refuses what is valid HTTP`() throws {
        let rule = try Self.rule("/b") { $0.respond = CannedResponse(status: 403) }
        let other = try #require(try other("/x/%2e%2e/a/..%2fb?q", [rule]))
        #expect(
            other.sentence
                == "The path can be read in two ways: as it was sent, /x/%2e%2e/a/..%2fb, and as "
                + "/b by nginx, Apache, Node and Python. The rule \"r\" (line 1) holds for one of "
                + "them alone. Write the path plainly, let the rule name both forms, or set "
                + "access.paths: lenient."
        )
        let error = other.error(for: try #require(Host("a.test")))
        #expect(error.kind == .httpRequestDenied && error.status == 400)
        #expect(error.sentence == "lupin does not allow this request for a.test.")
        #expect(error.detail == other.sentence)
    }

    @Test func `the page on security names the same servers`() throws {
        let page = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../../Sources/lupin/lupin.docc/security.md").standardizedFileURL
        let rows = try String(contentsOf: page, encoding: .utf8).split(separator: "\n")
            .drop { $0 != "| Reading | For example | Read so by |" }.dropFirst(2)
            .prefix { $0.hasPrefix("|") }
        let servers = rows.compactMap { $0.split(separator: "|").last }
            .map { $0.trimmingCharacters(in: .whitespaces) }
        let fields = TargetField.allCases.map(\.servers)
        #expect(servers == PathReading.allCases.map(\.servers) + fields)
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

    /// One of each kind of characters that NFKC makes ASCII, and what it makes of them.
    @Test(arguments: [
        ("𝐛", "b"), ("𝑏", "b"), ("𝓫", "b"), ("𝔟", "b"), ("𝕓", "b"), ("𝚋", "b"), ("𝙱", "B"),
        ("ℬ", "B"),
        ("𝟎", "0"), ("𝟿", "9"), ("🯵", "5"), ("ｂ", "b"), ("ⓑ", "b"), ("Ⓑ", "B"), ("🄱", "B"),
        ("⓪", "0"),
        ("①", "1"), ("⑳", "20"), ("⑴", "(1)"), ("⒇", "(20)"), ("⒈", "1."), ("⒝", "(b)"),
        ("🄑", "(B)"),
        ("🄂", "1,"), ("㉑", "21"), ("㊿", "50"), ("ª", "a"), ("²", "2"), ("º", "o"), ("ſ", "s"),
        ("ǌ", "nj"), ("ʰ", "h"), ("ᴮ", "B"), ("ᵇ", "b"), ("ᵥ", "v"), ("⁰", "0"),
        ("ₓ", "x"), ("ₜ", "t"), ("℅", "c/o"), ("№", "No"), ("™", "TM"), ("ⅉ", "j"), ("Ⅷ", "VIII"),
        ("ⅿ", "m"), ("\u{212A}", "K"), ("ⱼ", "j"), ("㏒", "log"), ("㎏", "kg"), ("㏿", "gal"),
        ("ꟳ", "F"),
        ("ﬀ", "ff"), ("ﬆ", "st"), ("﹍", "_"), ("﹣", "-"), ("﹫", "@"), ("𐞥", "q"), ("🄬", "R"),
        ("🅏", "WC"), ("🆐", "DJ"),
    ])
    func `a character that looks like ASCII is read as that`(character: String, ascii: String)
        throws
    {
        let rule = try Self.rule("/a\(ascii)z") { $0.respond = CannedResponse(status: 403) }
        let path = "/a" + character.percentEncoded { _ in false } + "z"
        #expect(try other(path, [rule])?.servers == PathReading.windows.servers, "\(character)")
    }

    @Test(arguments: [
        "/x/%e2%80%a5/b", "/x/%ef%b8%b0/b", "/b::$DATA", "/b::$INDEX_ALLOCATION", "/b%3a%3a$data",
        "/b:$I30:$INDEX_ALLOCATION", "/x/..::$INDEX_ALLOCATION/b", "/x/%e2%80%a4%e2%80%a4/b",
        "/%25f0%259d%2590%259b",
    ])
    func `dots of other kinds and streams of NTFS are other readings`(path: String) throws {
        let rule = try Self.rule("/b") { $0.respond = CannedResponse(status: 403) }
        #expect(try other(path, [rule])?.path == "/b")
        let below = try Self.rule("/b/**") { $0.respond = CannedResponse(status: 403) }
        #expect(try other(path + "/x", [below])?.path == "/b/x")
    }

    @Test func `a colon alone is no stream`() throws {
        let rule = try Self.rule("/b") { $0.respond = CannedResponse(status: 403) }
        for path in ["/b:cancel", "/b:%20cancel", "/b$DATA", "/b:"] {
            #expect(try other(path, [rule]) == nil, "\(path)")
        }
    }
}
