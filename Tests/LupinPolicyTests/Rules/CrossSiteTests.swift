// Which page a request comes from, by what a browser says, and which pages a rule admits.
import LupinCore
import LupinPolicy
import Testing

struct CrossSiteTests {
    private static let browser = "User-Agent: Mozilla/5.0 (X11)"

    /// Fields that are written as `A: b|C: d`.
    private static func pairs(_ text: String) -> [(String, String)] {
        text.split(separator: "|").map { field in
            let name = field.prefix { $0 != ":" }
            return (String(name), String(field.dropFirst(name.count + 2)))
        }
    }

    /// The pages of a request to `https://api.test`, whose client asked `first`.
    private func pages(
        _ fields: [(String, String)],
        _ scheme: Scheme = .https,
        first: String = "api.test"
    ) throws -> [ForeignPage] {
        let sample = try #require(SampleRequest(.get, scheme, host: "api.test", fields: fields))
        let first = try #require(SampleRequest(.get, scheme, host: first)).origin
        return sample.head.foreignPages(at: sample.origin, first: first)
    }

    private static func origin(_ text: String) -> ForeignPage {
        HTTPURL(text).map { .origin($0.origin) } ?? .unnamed
    }

    @Test(arguments: [
        "", "Referer: https://evil.test/", "User-Agent: curl/8", "Origin: https://api.test",
        "Origin: HTTPS://API.test:443", "Sec-Fetch-Site: none|Referer: https://evil.test/",
        "Sec-Fetch-Site: same-origin", "Sec-Fetch-Site: same-origin|Origin: https://api.test",
        browser, browser + "|Referer: https://api.test/docs?x",
        "Sec-Fetch-Mode: cors|Sec-Fetch-Dest: empty",
    ])
    func `a program, the user, and the origin's own pages have no mark`(fields: String) throws {
        #expect(try pages(Self.pairs(fields)).isEmpty)
    }

    /// Fields, and the host of the page that they name; none for a page without a name.
    private static let marked: [(fields: String, page: String)] = [
        ("Sec-Fetch-Site: cross-site", ""), ("sec-fetch-site: same-site", ""),
        ("Sec-Fetch-Site: cross-site|Referer: https://evil.test/a", "evil.test"),
        ("Sec-Fetch-Site: cross-site|Referer: https://api.test/", ""),
        ("Sec-Fetch-Site: cross-site|Origin: https://api.test", ""),
        ("Sec-Fetch-Site: same-origin|Origin: https://evil.test", "evil.test"),
        ("Sec-Fetch-Site: none|Origin: https://evil.test", "evil.test"),
        ("Sec-Fetch-Site: Same-Origin", ""), ("Sec-Fetch-Site: ", ""),
        ("Sec-Fetch-Site: same-origin, cross-site", ""), ("Sec-Fetch-Site: same-origin;a=b", ""),
        ("Sec-Fetch-Site: same-origin|Sec-Fetch-Site: same-origin", ""),
        ("Sec-Fetch-Site: none|Sec-Fetch-Site: cross-site", ""),
        ("Origin: https://evil.test", "evil.test"),
        ("ORIGIN: https://api.test.evil.test", "api.test.evil.test"),
        ("Origin: https://api.test|Origin: https://api.test", ""),
        ("Origin: https://api.test|Origin: https://evil.test", ""),
        ("Origin: https://evil.test|\(browser)|Referer: https://api.test", "evil.test"),
        ("\(browser)|Referer: https://evil.test/x", "evil.test"),
        ("user-agent: mozilla/4.0|Referer: https://evil.test", "evil.test"),
        ("Sec-CH-UA-Mobile: ?0|Referer: https://evil.test/", "evil.test"),
        ("\(browser)|Referer: https://api.test/|Referer: https://evil.test/", "evil.test"),
    ]

    @Test(arguments: marked)
    func `a mark of another site names its page, where one is named`(
        fields: String,
        page: String
    ) throws {
        let expected = page.isEmpty ? ForeignPage.unnamed : Self.origin("https://\(page)")
        #expect(try pages(Self.pairs(fields)) == [expected])
    }

    @Test(arguments: [
        "null", "", "api.test", "https://api.test/", "https://api.test, https://evil.test",
        "https://api.test https://evil.test", "https://user@api.test", "https://api.test:0x1bb",
        "chrome-extension://abcdef", "https://", "https://api.test#", "file://",
    ])
    func `an Origin that names no origin is another's`(value: String) throws {
        #expect(try pages([("Origin", value)]) == [.other(value)])
        #expect(!CrossSite.none.admits(.other(value)))
    }

    @Test(arguments: ["http://api.test", "https://api.test:444", "https://www.api.test"])
    func `another scheme, port or host is another origin`(value: String) throws {
        #expect(try pages([("Origin", value)]) == [Self.origin(value)])
    }

    @Test func `where a redirect led, the page is that of the first origin`() throws {
        let fields = [("Sec-Fetch-Site", "same-origin")]
        #expect(try pages(fields, first: "a.test") == [Self.origin("https://a.test")])
        // The page at which the user arrives reads what came, and so does one of a plain http
        // origin, of which a browser says nothing but its own name.
        let user = [("Sec-Fetch-Site", "none")]
        #expect(try pages(user, first: "a.test") == [Self.origin("https://a.test")])
        let unmarked = Self.pairs(Self.browser)
        #expect(try pages(unmarked, first: "a.test") == [Self.origin("https://a.test")])
        #expect(try pages([], first: "a.test").isEmpty)
        let named = [("Origin", "https://a.test")]
        #expect(try pages(named, first: "a.test") == [Self.origin("https://a.test")])
    }

    @Test(arguments: [
        ("https://app.test", "https://app.test", true),
        ("https://app.test", "https://app.test:443", true),
        ("https://app.test", "https://app.test:444", false),
        ("https://app.test", "http://app.test", false),
        ("https://app.test", "https://x.app.test", false),
        ("https://app.test:8443", "https://app.test:8443", true),
        ("https://app.test:8443", "https://app.test", false),
        ("https://app.test:*", "https://app.test:81", true),
        ("http://localhost:3000-3999", "http://localhost:3100", true),
        ("https://*.app.test", "https://x.app.test", true),
        ("https://*.app.test", "https://x.app.test.evil.test", false),
        ("https://*.app.test", "https://app.test", false),
    ])
    func `a pattern is an origin with its port, or a glob of hosts`(
        pattern: String,
        page: String,
        isAdmitted: Bool
    ) throws {
        let crossSite = CrossSite.pages([try PagePattern(pattern)])
        #expect(crossSite.admits(Self.origin(page)) == isAdmitted)
        #expect(!crossSite.admits(.unnamed) && CrossSite.any.admits(.unnamed))
    }

    @Test func `a page without an origin of http is named as it is`() throws {
        let crossSite = CrossSite.pages([try PagePattern("vscode-file://vscode-app")])
        #expect(crossSite.admits(.other("vscode-file://vscode-app")))
        #expect(!crossSite.admits(.other("null")))
    }

    @Test(arguments: [
        ("app.test", "write `https://app.test`"), ("null", "write `cross_site: any`"),
        ("https://app.test/x", "an origin has no path; write `https://app.test`"),
        ("https://*", "write `cross_site: any`"), ("any", "write `cross_site: any`, alone"),
        ("none", "leave it out"), ("https://a b", "does not belong"), ("https://", "missing"),
    ])
    func `what is no origin is refused with what to write`(text: String, message: String) {
        do throws(PatternProblem) {
            _ = try PagePattern(text)
            Issue.record("\(text) was taken")
        } catch {
            #expect(error.message.contains(message), "\(error.message)")
        }
    }

    @Test func `a page of another site gets no folder's private file, unless the rule lists it`()
        throws
    {
        let page = Self.origin("https://app.test")
        func refused(
            _ content: CannedResponse.Content,
            _ pages: CrossSite? = nil
        ) throws -> ForeignPage? {
            let request = try #require(SampleRequest(.get, .https, host: "a.test"))
            let rule = Rule.named("mock") { rule in
                rule.respond = CannedResponse(status: 200)
                rule.respond?.content = content
                rule.crossSite = pages
            }
            return RuleSet([rule]).plan(for: request.subject).refusedPageOfFile(in: [page])
        }
        #expect(try refused(.folder("/mock")) == page)
        #expect(try refused(.folder("/mock"), .pages([PagePattern("https://app.test")])) == nil)
        #expect(try refused(.folder("/mock"), .pages([PagePattern("https://b.test")])) == page)
        #expect(try refused(.folder("/mock"), .any) == nil)
        // Who names a file means it for every client.
        for content in [.file("/mock/a"), .text(Template("a")), .none] as [CannedResponse.Content] {
            #expect(try refused(content) == nil)
        }
    }

    @Test func `the later rule's pages hold, and nothing is asked where nothing is attached`()
        throws
    {
        let app = CrossSite.pages([try PagePattern("https://app.test")])
        let page = Self.origin("https://app.test")
        func refused(_ rules: [Rule]) throws -> ForeignPage? {
            let request = try #require(SampleRequest(.get, .https, host: "a.test"))
            return RuleSet(rules).plan(for: request.subject).refusedPage(
                in: [page],
                at: request.origin,
                isConnect: false,
                defaultCertificate: nil
            )
        }
        let auth = Rule.named("auth") { $0.steps = [.auth(token: "t")] }
        let admitting = Rule.named("app") { $0.crossSite = app }
        let strict = Rule.named("none") { $0.crossSite = CrossSite.none }
        #expect(try refused([auth]) == page)
        #expect(try refused([auth, admitting]) == nil)
        #expect(try refused([auth, admitting, strict]) == page)
        #expect(try refused([strict]) == nil)
        #expect(try refused([.named("jar") { $0.cookieJar = "j" }]) == page)
        let files = CertificateFiles(certificate: "a", key: "b")
        #expect(try refused([.named("cert") { $0.clientCertificate = files }]) == page)
        #expect(try refused([.named("standIn") { $0.standIns = ["t"] }]) == page)
    }
}
