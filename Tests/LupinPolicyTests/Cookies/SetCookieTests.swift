// What a Set-Cookie value says, attribute by attribute, and which values say nothing.

import LupinCore
import LupinPolicy
import Testing

struct SetCookieTests {
    private func parse(_ text: String) throws -> SetCookie {
        try SetCookie(parsing: text.utf8.span)
    }

    private func problem(_ bytes: [UInt8]) -> CookieProblem? {
        do throws(CookieProblem) {
            _ = try SetCookie(parsing: bytes.span)
            return nil
        } catch {
            return error
        }
    }

    @Test(arguments: [
        ("a=b", "a", "b"), (" a = b ", "a", "b"), ("a=", "a", ""), ("a=b=c", "a", "b=c"),
        ("b", "", "b"), ("=b", "", "b"), (" = b c ", "", "b c"), ("a=\"b\"", "a", "\"b\""),
        ("a=b;", "a", "b"), ("a=b;c=d", "a", "b"), ("\ta\t=\tb\tc\t", "a", "b\tc"),
        ("a b=c", "a b", "c"), ("ä=ö", "ä", "ö"),
    ])
    func `the pair stands before the first semicolon`(
        text: String,
        name: String,
        value: String
    ) throws {
        #expect(try parse(text) == SetCookie(name: name, value: value))
    }

    @Test(
        arguments: [
            ("", .empty), ("=", .empty), (" ; Path=/", .empty), (";a=b", .empty),
            ("a=b\u{0}", .controlByte), ("a=b\u{1F}c", .controlByte),
            ("a=b; Path=/\u{7F}", .controlByte),
            ("a=b\r\nSet-Cookie: c=d", .controlByte),
            (String(repeating: "a", count: 4097), .tooLong),
            ("a=" + String(repeating: "b", count: 4096), .tooLong),
        ] as [(String, CookieProblem)]
    )
    func `a value that is no cookie says why`(text: String, expected: CookieProblem) {
        #expect(problem(Array(text.utf8)) == expected)
    }

    @Test func `a pair of 4096 bytes is one, and any byte may be in it`() throws {
        #expect(try parse("a=" + String(repeating: "b", count: 4095)).value.utf8.count == 4095)
        let bytes: [UInt8] = [0xE4, 0x3D, 0xFF, 0xC3, 0xA4]
        let cookie = try SetCookie(parsing: bytes.span)
        #expect(OctetText.bytes(cookie.name) == [0xE4])
        #expect(OctetText.bytes(cookie.value) == [0xFF, 0xC3, 0xA4])
    }

    @Test func `attributes are known in any case, and the last of two counts`() throws {
        let cookie = try parse(
            "a=b; PATH=/x; secure=1; HttpOnly; SAMESITE=lax; domain=.Example.com; path=/y; new=1"
        )
        #expect(cookie.path == "/y" && cookie.hasPath && cookie.isSecure && cookie.isHTTPOnly)
        #expect(cookie.sameSite == .lax && cookie.domain == "Example.com")
        #expect(cookie.maxAge == nil && cookie.expires == nil && cookie.expiry(at: 5) == nil)
    }

    @Test(
        arguments: [
            ("Path", nil), ("Path=", nil), ("Path=x", nil), ("Path=/x; Path=", nil),
            ("Path=/", "/"),
            ("Path=/a b", "/a b"), ("Path=\"/x\"", nil), ("Path=/a=b", "/a=b"),
        ] as [(String, String?)]
    )
    func `a path begins with a slash, or is the default`(text: String, path: String?) throws {
        let cookie = try parse("a=b; \(text)")
        #expect(cookie.path == path && cookie.hasPath)
    }

    @Test(
        arguments: [
            ("Domain=", nil), ("Domain=.", nil), ("Domain=a.b", "a.b"), ("Domain=..a", ".a"),
            ("Domain=x; Domain=", nil),
        ] as [(String, String?)]
    )
    func `a domain loses one dot, and an empty one is none`(text: String, domain: String?) throws {
        #expect(try parse("a=b; \(text)").domain == domain)
    }

    @Test(
        arguments: [
            ("SameSite=Strict", .strict), ("SameSite=None", SetCookie.SameSite.none),
            ("SameSite=x", nil), ("SameSite", nil), ("SameSite=Lax; SameSite=x", nil),
        ] as [(String, SetCookie.SameSite?)]
    )
    func `SameSite is one of three words or the default`(
        text: String,
        expected: SetCookie.SameSite?
    ) throws {
        #expect(try parse("a=b; \(text)").sameSite == expected)
    }

    @Test(
        arguments: [
            ("Max-Age=10", 1010), ("Max-Age=0", .min), ("Max-Age=-1", .min), ("Max-Age=-0", .min),
            ("Max-Age=34560001", 34_561_000), ("Max-Age=99999999999999999999999", 34_561_000),
            ("Max-Age=-99999999999999999999999", .min), ("Max-Age=1; Max-Age=2", 1002),
            ("Max-Age", nil), ("Max-Age=-", nil), ("Max-Age=+1", nil), ("Max-Age=1.5", nil),
            ("Max-Age=1; Max-Age=x", 1001),
            ("Expires=Thu, 01 Jan 1970 00:33:20 GMT", 2000),
            ("Expires=Fri, 31 Dec 9999 23:59:59 GMT", 34_561_000), ("Expires=soon", nil),
            ("Expires=Thu, 01 Jan 1970 00:33:20 GMT; Max-Age=5", 1005),
            ("Max-Age=x; Expires=Thu, 01 Jan 1970 00:33:20 GMT", 2000),
        ] as [(String, Int64?)]
    )
    func `Max-Age wins over Expires, and 400 days over both`(
        text: String,
        expiry: Int64?
    ) throws {
        #expect(try parse("a=b; \(text)").expiry(at: 1000) == expiry)
    }

    @Test func `an attribute of more than 1024 bytes counts as absent`() throws {
        let path = "/" + String(repeating: "p", count: 1023)
        #expect(try parse("a=b; Path=\(path)").path == path)
        let cookie = try parse("a=b; Path=\(path)p; Domain=\(path)p")
        #expect(cookie.path == nil && !cookie.hasPath && cookie.domain == nil)
    }

    @Test func `the ends of time do not trap`() throws {
        let cookie = try parse("a=b; Max-Age=9223372036854775807")
        #expect(cookie.expiry(at: .max) == .max)
        #expect(cookie.expiry(at: .min) == .min + SetCookie.lifetimeMax)
    }
}
