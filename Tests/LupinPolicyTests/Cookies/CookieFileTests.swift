// How a jar lies in a file, and what of other programs' files it reads.

import LupinCore
import LupinPolicy
import Testing

struct CookieFileTests {
    private func read(_ text: String, now: Int64 = 1000) throws -> CookieFile.Contents {
        try CookieFile.read(Array(text.utf8).span, now: now)
    }

    private func text(_ jar: CookieJar, now: Int64 = 1000) -> String {
        String(decoding: CookieFile.text(of: jar, now: now).bytes, as: UTF8.self)
    }

    private func jar(_ cookies: [String], host: String = "a.example") throws -> CookieJar {
        var jar = CookieJar()
        let host = try #require(Host(host))
        let origin = Origin(scheme: .https, host: host, port: 443)
        for cookie in cookies {
            let setCookie = try SetCookie(parsing: cookie.utf8.span)
            let outcome = jar.store(
                setCookie,
                from: origin,
                path: "/x/y",
                isProtected: true,
                now: 1000
            )
            #expect(outcome == .stored)
        }
        return jar
    }

    /// The lines that are no comments, as curl 7 tells them from cookies.
    private func lines(_ text: String) -> [Substring] {
        text.split(separator: "\n").filter { !$0.hasPrefix("#") || $0.hasPrefix("#HttpOnly_") }
    }

    @Test func `a byte order mark costs no cookie`() throws {
        let contents = try read("\u{FEFF}a.example\tFALSE\t/\tFALSE\t4102444800\tn\tv\n")
        #expect(contents.badLinesCount == 0)
        #expect(lines(text(contents.jar)).count == 1)
    }

    @Test func `bytes beyond UTF-8 are read and written as they are`() throws {
        let line = Array("a.example\tFALSE\t/\tFALSE\t1060\tn\t".utf8) + [0xFC, 0x78, 0x0A]
        let contents = try CookieFile.read(line.span, now: 1000)
        #expect(contents.badLinesCount == 0)
        let written = CookieFile.text(of: contents.jar, now: 1000).bytes
        #expect(written.suffix(line.count) == line[...])
    }

    @Test func `a line has the seven fields in curl's order`() throws {
        let jar = try jar(["n=v w; Path=/p; Secure; HttpOnly; Max-Age=60; SameSite=Lax"])
        let text = text(jar)
        #expect(text.hasPrefix("# Netscape HTTP Cookie File\n"))
        #expect(
            lines(text) == ["#HttpOnly_a.example\tFALSE\t/p\tTRUE\t1060\tn\tv w"]
        )
        let plain = try self.jar(["n=v; Max-Age=60"], host: "[2001:db8::1]")
        #expect(lines(self.text(plain)) == ["2001:db8::1\tFALSE\t/x\tFALSE\t1060\tn\tv"])
    }

    @Test func `what is written is read again`() throws {
        let cookies = [
            "a=1; Max-Age=60", "b=; Max-Age=61; HttpOnly", "__Host-c=3; Max-Age=62; Secure; Path=/",
            "d=x=\"y\" z; Max-Age=63; Path=/ä", "session=4",
        ]
        let jar = try jar(cookies)
        let contents = try read(text(jar))
        #expect(contents.badLinesCount == 0 && contents.narrowed == 0 && contents.leftOut == 0)
        func values(_ jar: CookieJar) -> [String] {
            jar.all.map { host, cookie in
                "\(host) \(cookie.name) \(cookie.value) \(cookie.path) \(cookie.isSecure) "
                    + "\(cookie.isHTTPOnly) \(cookie.expiry ?? 0)"
            }
        }
        #expect(values(contents.jar) == values(jar).filter { !$0.contains(" session ") })
        #expect(contents.jar.count == 4)
        #expect(text(contents.jar) == text(jar))
    }

    @Test func `what the form can't say stands in comments of lupin's own`() throws {
        var jar = try jar([
            "bare; Max-Age=9", "=v=w; Path=/p; Max-Age=9; HttpOnly", "t=a\tb%; Max-Age=9",
            "p=1; Path=/a\tb; Max-Age=9", "a\tb=%41; Max-Age=9", "n=%41; Max-Age=9",
        ])
        let written = text(jar)
        #expect(CookieFile.text(of: jar, now: 1000).leftOut == 0)
        // To other programs all but the last are comments.
        #expect(lines(written) == ["a.example\tFALSE\t/x\tFALSE\t1009\tn\t%41"])
        let own = [
            "#Lupin_a.example\tFALSE\t/x\tFALSE\t1009\t\tbare",
            "#Lupin_#HttpOnly_a.example\tFALSE\t/p\tFALSE\t1009\t\tv=w",
            "#Lupin_a.example\tFALSE\t/x\tFALSE\t1009\tt\ta%09b%25",
            "#Lupin_a.example\tFALSE\t/a%09b\tFALSE\t1009\tp\t1",
            "#Lupin_a.example\tFALSE\t/x\tFALSE\t1009\ta%09b\t%2541",
        ]
        let found = written.split(separator: "\n").map(String.init)
        #expect(found.filter { $0.hasPrefix("#Lupin_") } == own)
        let contents = try read(written)
        #expect(contents.badLinesCount == 0 && contents.jar.count == 6)
        #expect(text(contents.jar) == written)
        let values = contents.jar.all.map { [$0.cookie.name, $0.cookie.value, $0.cookie.path] }
        #expect(values == jar.all.map { [$0.cookie.name, $0.cookie.value, $0.cookie.path] })
        jar = try self.jar(["n=v; Max-Age=9"])
        #expect(lines(text(jar, now: 1008)).count == 1 && lines(text(jar, now: 1009)).isEmpty)
    }

    @Test(arguments: [
        ("a.example\tFALSE\t/\tFALSE\t2000\tn\tv", "a.example / n=v 2000"),
        ("A.Example\tfalse\t/\tfalse\t2000\tn\tv", "a.example / n=v 2000"),
        ("#HttpOnly_a.example\tFALSE\t/p\tTRUE\t2000\tn\tv", "a.example /p n=v 2000 secure http"),
        ("a.example\tFALSE\t/\tFALSE\t2000\tn\t", "a.example / n= 2000"),
        ("a.example\tFALSE\t/\tFALSE\t2000\tn", "a.example / n= 2000"),
        ("a.example\tFALSE\t/\tFALSE\t0\tn\tv", "a.example / n=v session"),
        (".a.example\tTRUE\t/\tFALSE\t2000\tn\tv", "a.example / n=v 2000"),
        ("192.0.2.1\tFALSE\t/\tFALSE\t2000\tn\tv\r", "192.0.2.1 / n=v 2000"),
        ("a.example\tFALSE\t/\tFALSE\t99999999999999999999\tn\tv", "a.example / n=v 34561000"),
        ("::1\tFALSE\t/\tFALSE\t2000\tn\tv=w", "::1 / n=v=w 2000"),
    ])
    func `curl's lines are read`(line: String, expected: String) throws {
        let contents = try read("# comment\n\n \t\n" + line)
        let found = try #require(contents.jar.all.first)
        let cookie = found.cookie
        let end = cookie.expiry.map { "\($0)" } ?? "session"
        let flags = (cookie.isSecure ? " secure" : "") + (cookie.isHTTPOnly ? " http" : "")
        let text = "\(found.host.text) \(cookie.path) \(cookie.name)=\(cookie.value) \(end)\(flags)"
        #expect(text == expected)
        #expect(contents.badLinesCount == 0)
        #expect(contents.narrowed == (line.hasPrefix(".") ? 1 : 0))
    }

    @Test(arguments: [
        "a.example", "a.example FALSE / FALSE 2000 n v", "\tFALSE\t/\tFALSE\t2000\tn\tv",
        "a example\tFALSE\t/\tFALSE\t2000\tn\tv", "a.example\tNO\t/\tFALSE\t2000\tn\tv",
        "a.example\tFALSE\tp\tFALSE\t2000\tn\tv", "a.example\tFALSE\t/\t\t2000\tn\tv",
        "a.example\tFALSE\t/\tFALSE\t-1\tn\tv", "a.example\tFALSE\t/\tFALSE\t\tn\tv",
        "a.example\tFALSE\t/\tFALSE\t2000\t\tv", "a.example\tFALSE\t/\tFALSE\t2000\tn\tv\tw",
        "a.example\tFALSE\t/\tFALSE\t2000\tn\tv\u{1}",
        "a.example\tFALSE\t/\tFALSE\t2000\tn\tv; w=x",
        "a.example\tFALSE\t/\tFALSE\t2000\tn=m\tv",
        "a.example\tFALSE\t/\tFALSE\t2000\t__Secure-n\tv",
        "a.example\tTRUE\t/\tTRUE\t2000\t__Host-n\tv",
        "a.example\tFALSE\t/p\tTRUE\t2000\t__host-n\tv",
        "#Lupin_a.example\tFALSE\t/\tFALSE\t2000\tn\tv%0D%0AX: y",
        "#Lupin_a.example\tFALSE\t/\tFALSE\t2000\tn\tv%3Bw",
        "#Lupin_a.example\tFALSE\t/\tFALSE\t2000\tn\t%zz",
        "#Lupin_a.example\tFALSE\t/\tFALSE\t2000\t\t",
        "#Lupin_a.example\tFALSE\t/\tFALSE\t2000\t\t__Host-a=b", "#Lupin_", "#Lupin_#HttpOnly_",
        "#HttpOnly_", "a.example\tFALSE\t/\tFALSE\t2000\tn\t" + String(repeating: "v", count: 4096),
    ])
    func `a bad line is skipped and counted`(line: String) throws {
        let good = "a.example\tFALSE\t/\tFALSE\t2000\tgood\tv\n"
        let contents = try read(good + line + "\n" + good)
        #expect(contents.badLinesCount == 1 && contents.badLines == [2])
        #expect(contents.jar.count == 1)
    }

    @Test func `bytes that aren't text are a cookie's, and cookies that have ended are no problem`()
        throws
    {
        var bytes = Array("a.example\tFALSE\t/\tFALSE\t2000\tn\t".utf8)
        bytes += [0xFF, 0x0A] + "a.example\tFALSE\t/\tFALSE\t1000\told\tv".utf8
        let contents = try CookieFile.read(bytes.span, now: 1000)
        #expect(contents.badLines == [] && contents.jar.count == 1)
    }

    @Test func `only so many bad lines are named`() throws {
        let contents = try read(String(repeating: "bad\n", count: 100))
        #expect(contents.badLinesCount == 100)
        #expect(contents.badLines == Array(1...CookieFile.linesNamedMax))
    }

    @Test func `a file beyond the bound is refused`() {
        let bytes = [UInt8](repeating: 0x0A, count: CookieFile.bytesMax + 1)
        #expect(throws: CookieFile.Problem.tooLong) {
            try CookieFile.read(bytes.span, now: 0)
        }
    }

    @Test func `of too many cookies the last ones count`() throws {
        let lines = (0..<CookieJar.cookiesMax + 2).map {
            "h\($0 / 40).example\tFALSE\t/\tFALSE\t2000\tn\($0)\tv\n"
        }
        let contents = try read(lines.joined())
        #expect(contents.leftOut == 2 && contents.jar.count == CookieJar.cookiesMax)
        #expect(contents.jar.all.first?.cookie.name == "n2")
    }
}
