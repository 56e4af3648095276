// Which cookies a jar keeps, whose place they take, and which have to go.

import LupinCore
import LupinPolicy
import Testing

struct CookieJarTests {
    private func origin(_ scheme: Scheme, _ host: String, port: UInt16? = nil) throws -> Origin {
        let host = try #require(Host(host))
        return Origin(scheme: scheme, host: host, port: port ?? scheme.defaultPort)
    }

    /// Stores what `url`, such as `https://a.example/x`, sets.
    private func store(
        _ text: String,
        _ url: String,
        in jar: inout CookieJar,
        now: Int64 = 1000
    ) throws -> CookieJar.Outcome {
        let (origin, path) = try split(url)
        return jar.store(
            try SetCookie(parsing: text.utf8.span),
            from: origin,
            path: path,
            isProtected: UpstreamSettings().protects(origin),
            now: now
        )
    }

    private func field(_ url: String, in jar: inout CookieJar, now: Int64 = 1000) throws -> String {
        let (origin, path) = try split(url)
        let cookies = jar.cookies(
            for: origin,
            path: path,
            isProtected: UpstreamSettings().protects(origin),
            now: now
        )
        return fieldValue(of: nil, with: cookies) ?? ""
    }

    private func split(_ url: String) throws -> (Origin, path: String) {
        let marker = try #require(url.firstRange(of: "://"))
        let rest = url[marker.upperBound...]
        let slash = rest.firstIndex(of: "/") ?? rest.endIndex
        let scheme: Scheme = url.hasPrefix("https") ? .https : .http
        return (try origin(scheme, String(rest[..<slash])), String(rest[slash...]))
    }

    // MARK: Whose cookie

    @Test(
        arguments: [
            ("a=b; Domain=www.example.com", "https://www.example.com/", .stored),
            ("a=b; Domain=.WWW.Example.COM", "https://www.example.com/", .stored),
            ("a=b; Domain=example.com", "https://www.example.com/", .stored),
            ("a=b; Domain=.Example.com", "https://a.www.example.com/", .stored),
            ("a=b; Domain=ample.com", "https://www.example.com/", .ignored(.foreignDomain)),
            ("a=b; Domain=com", "https://www.example.com/", .ignored(.foreignDomain)),
            ("a=b; Domain=www.example.com", "https://example.com/", .ignored(.foreignDomain)),
            ("a=b; Domain=a b", "https://example.com/", .ignored(.foreignDomain)),
            ("a=b; Domain=192.0.2.1", "https://192.0.2.1/", .stored),
            ("a=b; Domain=2.1", "https://192.0.2.1/", .ignored(.foreignDomain)),
            ("a=b; Domain=[2001:db8::1]", "https://[2001:db8::1]/", .stored),
        ] as [(String, String, CookieJar.Outcome)]
    )
    func `a domain is the host or above it, and the cookie is the host's`(
        text: String,
        url: String,
        expected: CookieJar.Outcome
    ) throws {
        var jar = CookieJar()
        #expect(try store(text, url, in: &jar) == expected)
        #expect(try field(url, in: &jar) == (expected == .stored ? "a=b" : ""))
        #expect(try field("https://other.example.com/", in: &jar) == "")
    }

    @Test func `a cookie goes to its host alone, on every port and scheme`() throws {
        var jar = CookieJar()
        #expect(try store("a=b; Domain=a.example", "https://a.example/", in: &jar) == .stored)
        #expect(try field("http://a.example/", in: &jar) == "a=b")
        #expect(try field("http://A.example./", in: &jar) == "a=b")
        let other = try origin(.https, "a.example", port: 8443)
        let cookies = jar.cookies(for: other, path: "/", isProtected: true, now: 1000)
        #expect(fieldValue(of: nil, with: cookies) == "a=b")
        for url in ["https://b.a.example/", "https://example/", "https://ba.example/"] {
            #expect(try field(url, in: &jar) == "")
        }
    }

    @Test(arguments: [
        ("https://a.example/", true), ("http://a.example/", false), ("http://127.0.0.1/", true),
        ("http://127.9.9.9/", true), ("http://[::1]/", true), ("http://localhost/", true),
        ("http://x.localhost/", true), ("http://notlocalhost/", false), ("http://10.0.0.1/", false),
    ])
    func `a Secure cookie is set and sent over https or loopback`(url: String, may: Bool) throws {
        var jar = CookieJar()
        let outcome = try store("a=b; Secure", url, in: &jar)
        #expect(outcome == (may ? .stored : .ignored(.insecureConnection)))
        _ = try store("a=b; Secure", url.replacing("http:", with: "https:"), in: &jar)
        #expect(try field(url, in: &jar) == (may ? "a=b" : ""))
    }

    @Test(
        arguments: [
            ("a=new; Path=/x", .ignored(.overlaysSecure)),
            ("a=new; Path=/x/y", .ignored(.overlaysSecure)),
            ("a=new; Path=/", .stored), ("a=new; Path=/xy", .stored), ("b=new; Path=/x", .stored),
        ] as [(String, CookieJar.Outcome)]
    )
    func `what comes in clear leaves Secure cookies alone`(
        text: String,
        expected: CookieJar.Outcome
    ) throws {
        var jar = CookieJar()
        _ = try store("a=old; Secure; Path=/x", "https://a.example/", in: &jar)
        #expect(try store(text, "http://a.example/", in: &jar) == expected)
        #expect(try field("https://a.example/x", in: &jar).contains("a=old"))
    }

    @Test(
        arguments: [
            ("__Secure-a=b; Secure", .stored), ("__Secure-a=b", .ignored(.brokenPrefix)),
            ("__SECURE-a=b", .ignored(.brokenPrefix)), ("__Host-a=b; Secure; Path=/", .stored),
            ("__Host-a=b; Path=/", .ignored(.brokenPrefix)),
            ("__Host-a=b; Secure", .ignored(.brokenPrefix)),
            ("__hOST-a=b; Secure; Path=/x", .ignored(.brokenPrefix)),
            ("__Host-a=b; Secure; Path=/; Domain=a.example", .ignored(.brokenPrefix)),
            ("__Host-a=b; Secure; Path=/; Domain=", .stored),
            ("=__Host-a=b; Secure; Path=/", .ignored(.prefixInValue)),
            ("__secure-", .ignored(.prefixInValue)), ("__Hosta=b", .stored),
        ] as [(String, CookieJar.Outcome)]
    )
    func `a prefix promises something`(text: String, expected: CookieJar.Outcome) throws {
        var jar = CookieJar()
        #expect(try store(text, "https://a.example/", in: &jar) == expected)
    }

    // MARK: Paths and order

    @Test(arguments: [
        ("/", "/"), ("", "/"), ("/a", "/"), ("/a/", "/a"), ("/a/b", "/a"), ("/a/b?c=/d/e", "/a"),
        ("*", "/"), ("/a/b/", "/a/b"),
    ])
    func `the default path ends before the last slash`(target: String, path: String) {
        #expect(CookiePath.default(for: target) == path)
    }

    @Test(arguments: [
        ("/", "/", true), ("/a", "/", true), ("", "/", true), ("/a", "/a", true),
        ("/a/", "/a", true), ("/a/b", "/a", true), ("/a/b", "/a/", true), ("/ab", "/a", false),
        ("/a", "/a/", false), ("/a?b/c", "/a", true), ("/", "/a", false), ("/A", "/a", false),
    ])
    func `a path matches itself and what lies below`(target: String, path: String, does: Bool) {
        #expect(CookiePath.matches(target, path) == does)
    }

    @Test func `longer paths go first, then older cookies`() throws {
        var jar = CookieJar()
        let url = "https://a.example/x/y/z"
        for text in ["a=1; Path=/", "b=2; Path=/x/y", "c=3; Path=/", "d=4; Path=/x/y", "e=5"] {
            #expect(try store(text, url, in: &jar) == .stored)
        }
        // Set again, it keeps its age.
        #expect(try store("a=6; Path=/", url, in: &jar) == .stored)
        #expect(try field(url, in: &jar) == "b=2; d=4; e=5; a=6; c=3")
        #expect(try field("https://a.example/q?/x/y", in: &jar) == "a=6; c=3")
        #expect(jar.count == 5)
    }

    @Test func `a path of more than 1024 bytes is refused, the request's too`() throws {
        var jar = CookieJar()
        let url = "https://a.example/" + String(repeating: "p", count: 1024) + "/x"
        #expect(try store("a=b", url, in: &jar) == .ignored(.pathTooLong))
        #expect(try store("a=b; Path=/", url, in: &jar) == .stored)
    }

    // MARK: Ends

    @Test func `a cookie ends when its time is over, or when it is set with none`() throws {
        var jar = CookieJar()
        let url = "https://a.example/"
        _ = try store("a=1; Max-Age=10", url, in: &jar)
        _ = try store("b=2; Max-Age=20", url, in: &jar)
        _ = try store("c=3", url, in: &jar)
        #expect(try field(url, in: &jar, now: 1009) == "a=1; b=2; c=3")
        #expect(try field(url, in: &jar, now: 1010) == "b=2; c=3")
        #expect(jar.count == 2)
        #expect(try store("c=; Max-Age=0", url, in: &jar, now: 1010) == .removed)
        #expect(try store("x=; Max-Age=0", url, in: &jar, now: 1010) == .removed)
        #expect(jar.removeExpired(now: 1019) == 0 && jar.removeExpired(now: 1020) == 1)
        #expect(jar.count == 0)
    }

    @Test func `the revision follows what the file would say`() throws {
        var jar = CookieJar()
        let url = "https://a.example/"
        _ = try store("s=1", url, in: &jar)
        #expect(jar.revision == 0)
        _ = try store("p=1; Expires=1 Jan 1971 00:00:00", url, in: &jar)
        #expect(jar.revision == 1)
        _ = try store("p=1; Expires=1 Jan 1971 00:00:00", url, in: &jar)
        _ = try field(url, in: &jar)
        #expect(jar.revision == 1)
        _ = try store("p=2; Expires=1 Jan 1971 00:00:00", url, in: &jar)
        #expect(jar.revision == 2)
        jar.removeExpired(now: 32_000_000)
        #expect(jar.revision == 3)
    }

    // MARK: Limits

    @Test func `a host keeps 50: ended and insecure ones go first, then the least used`() throws {
        var jar = CookieJar()
        let url = "https://a.example/"
        for i in 0..<CookieJar.hostCookiesMax {
            let path = i == 0 ? "/rare" : "/"
            let extra = i == 1 ? "; Secure" : i == 30 ? "; Max-Age=1" : ""
            _ = try store("n\(i)=1; Path=\(path)\(extra)", url, in: &jar)
        }
        // Everything is sent but n0, by its path, and n1, which is Secure.
        _ = try field("http://a.example/", in: &jar)
        for (name, gone) in [("x", "n30"), ("y", "n0"), ("z", "n2")] {
            #expect(jar.all.map(\.cookie.name).contains(gone))
            #expect(try store("\(name)=1", url, in: &jar, now: 1001) == .stored)
            let names = jar.all.map(\.cookie.name)
            #expect(jar.count == 50 && names.count == 50 && !names.contains(gone))
            #expect(names.contains("n1") && names.contains(name))
        }
    }

    @Test func `a full host of Secure cookies takes no other`() throws {
        var jar = CookieJar()
        for i in 0..<CookieJar.hostCookiesMax {
            _ = try store("n\(i)=1; Secure", "https://a.example/", in: &jar)
        }
        #expect(try store("x=1", "https://a.example/", in: &jar) == .ignored(.full))
        #expect(try store("x=1; Secure", "https://a.example/", in: &jar) == .stored)
        #expect(jar.count == 50 && jar.all.first?.cookie.name == "n1")
    }

    @Test func `a jar keeps 3000, and the least used goes`() throws {
        var jar = CookieJar()
        for i in 0..<CookieJar.cookiesMax {
            let end = i == 7 ? "; Max-Age=1" : ""
            _ = try store("a=\(i)\(end)", "https://h\(i).example/", in: &jar)
        }
        #expect(jar.count == 3000)
        _ = try field("https://h0.example/", in: &jar)
        _ = try store("a=x", "https://x.example/", in: &jar, now: 1001)
        #expect(jar.count == 3000)
        #expect(try field("https://h7.example/", in: &jar) == "")
        _ = try store("a=y", "https://y.example/", in: &jar, now: 1001)
        #expect(jar.count == 3000)
        #expect(try field("https://h0.example/", in: &jar) == "a=0")
        #expect(try field("https://h1.example/", in: &jar) == "")
    }

    @Test func `every Set-Cookie line of a response is read`() throws {
        var jar = CookieJar()
        var fields = FieldSection()
        fields.add(name: "set-cookie", value: "a=1")
        fields.add(name: "X-Other", value: "x=1")
        fields.add(name: "Set-Cookie", value: "b=2; Domain=other.example")
        fields.add(name: "SET-COOKIE", value: "c=3; Path=/; Expires=Fri, 31 Dec 2100 00:00:00 GMT")
        fields.add(name: "Set-Cookie", value: "")
        let origin = try origin(.https, "a.example")
        let problems = jar.store(
            from: fields,
            origin: origin,
            path: "/x/y",
            isProtected: true,
            now: 1000
        )
        #expect(problems == [.foreignDomain, .empty])
        #expect(jar.all.map(\.cookie.text) == ["a=1 /x", "c=3 /"])
    }
}

extension Cookie {
    fileprivate var text: String { "\(name)=\(value) \(path)" }
}
