// What references mean beside a base (the tables of RFC 3986 §5.4), and what no peer may send.

import LupinCore
import Testing

struct URIReferenceTests {
    private static let base = "http://a/b/c/d;p?q"

    private func resolve(_ reference: String, _ base: String = base) throws -> String {
        try URIReference(reference).resolved(against: URIReference(base)).text
    }

    // MARK: RFC 3986 §5.4

    @Test(arguments: [
        ("g:h", "g:h"), ("g", "http://a/b/c/g"), ("./g", "http://a/b/c/g"),
        ("g/", "http://a/b/c/g/"), ("/g", "http://a/g"), ("//g", "http://g"),
        ("?y", "http://a/b/c/d;p?y"), ("g?y", "http://a/b/c/g?y"), ("#s", "http://a/b/c/d;p?q#s"),
        ("g#s", "http://a/b/c/g#s"), ("g?y#s", "http://a/b/c/g?y#s"), (";x", "http://a/b/c/;x"),
        ("g;x", "http://a/b/c/g;x"), ("g;x?y#s", "http://a/b/c/g;x?y#s"),
        ("", "http://a/b/c/d;p?q"), (".", "http://a/b/c/"), ("./", "http://a/b/c/"),
        ("..", "http://a/b/"), ("../", "http://a/b/"), ("../g", "http://a/b/g"),
        ("../..", "http://a/"), ("../../", "http://a/"), ("../../g", "http://a/g"),
    ])
    func `the normal examples of the RFC hold`(reference: String, expected: String) throws {
        #expect(try resolve(reference) == expected)
    }

    @Test(arguments: [
        ("../../../g", "http://a/g"), ("../../../../g", "http://a/g"), ("/./g", "http://a/g"),
        ("/../g", "http://a/g"), ("g.", "http://a/b/c/g."), (".g", "http://a/b/c/.g"),
        ("g..", "http://a/b/c/g.."), ("..g", "http://a/b/c/..g"), ("./../g", "http://a/b/g"),
        ("./g/.", "http://a/b/c/g/"), ("g/./h", "http://a/b/c/g/h"), ("g/../h", "http://a/b/c/h"),
        ("g;x=1/./y", "http://a/b/c/g;x=1/y"), ("g;x=1/../y", "http://a/b/c/y"),
        ("g?y/./x", "http://a/b/c/g?y/./x"), ("g?y/../x", "http://a/b/c/g?y/../x"),
        ("g#s/./x", "http://a/b/c/g#s/./x"), ("g#s/../x", "http://a/b/c/g#s/../x"),
        ("http:g", "http:g"),
    ])
    func `the abnormal examples of the RFC hold`(reference: String, expected: String) throws {
        #expect(try resolve(reference) == expected)
    }

    // MARK: Beyond the tables

    @Test(arguments: [
        ("g", "http://a", "http://a/g"), ("?x", "http://a", "http://a?x"),
        ("..", "http://a/b", "http://a/"), ("g", "mid/d", "mid/g"), ("g", "d", "g"),
        ("a/../b", "x:y", "x:/b"), ("../g", "x:y/z", "x:/g"), ("./..", "x:y/z", "x:/"),
        ("//h/a/./b/../c", "http://a/b", "http://h/a/c"), ("//h?q", "http://a/b", "http://h?q"),
        ("HTTPS://H/%7e/..", "http://a/", "https://H/"),
        ("g//../x", "http://a/b/", "http://a/b/g/x"),
        ("/.//h/x", "http://a/b", "http://a//h/x"), ("?", "http://a/b?c", "http://a/b?"),
        ("a:b@c/d", "http://a/b", "a:b@c/d"), ("x/y:z", "http://a/b/", "http://a/b/x/y:z"),
        ("?a:b", "http://a/b", "http://a/b?a:b"), ("#a:b", "http://a/b", "http://a/b#a:b"),
        (":x", "http://a/b", nil), ("1a:x", "http://a/b", nil), ("a_b:x", "http://a/b", nil),
        ("x+y-1.z:p", "http://a/b", "x+y-1.z:p"),
    ])
    func `a reference without an example resolves too`(
        reference: String,
        base: String,
        expected: String?
    ) throws {
        #expect((try? resolve(reference, base)) == expected)
    }

    @Test func `an endless row of parents is gone through once`() throws {
        let deep = String(repeating: "a/", count: 8000)
        let up = String(repeating: "../", count: 8001)
        #expect(try resolve("/" + deep + up + "g") == "http://a/g")
    }

    // MARK: Field values

    private func read(_ value: [UInt8]) -> Result<String, URIReference.Problem> {
        do throws(URIReference.Problem) {
            return .success(try URIReference(fieldValue: value.span).text)
        } catch {
            return .failure(error)
        }
    }

    @Test(arguments: [
        ("/a b", "/a%20b"), ("/é?é#é", "/%C3%A9?%C3%A9#%C3%A9"), (" /a\t", "/a"),
        ("/<\">^`{|}", "/%3C%22%3E%5E%60%7B%7C%7D"), ("/%41%zz%", "/%41%zz%"),
        ("/a?b\\c", "/a?b%5Cc"), ("//ex\u{E4}mple.dev/[x]", "//ex%C3%A4mple.dev/[x]"),
        ("/!$&'()*+,;=:@~-._", "/!$&'()*+,;=:@~-._"),
    ])
    func `what is no character of a URI is percent-encoded`(value: String, expected: String) {
        #expect(read(Array(value.utf8)) == .success(expected))
    }

    @Test func `bytes that are not UTF-8 are encoded one by one`() {
        #expect(read([0x2F, 0xFF, 0xC3]) == .success("/%FF%C3"))
    }

    @Test func `what clients would read differently is refused`() {
        #expect(read([]) == .failure(.empty))
        #expect(read(Array(" \t".utf8)) == .failure(.empty))
        #expect(read(Array("/a\\b".utf8)) == .failure(.backslash))
        #expect(read(Array("/\\evil.dev".utf8)) == .failure(.backslash))
        for byte in Array(UInt8(0)...0x1F) + [0x7F] {
            #expect(read([0x2F, byte, 0x61]) == .failure(.controlByte))
        }
        #expect(
            read(Array(repeating: 0x61, count: URIReference.bytesMax + 1)) == .failure(.tooLong)
        )
        #expect(
            read(Array(repeating: 0xE9, count: URIReference.bytesMax / 2)) == .failure(.tooLong)
        )
        #expect(read(Array("ht tp://a".utf8)) == .failure(.badScheme))
    }

    @Test func `an URL of an origin has its parts`() throws {
        let host = try #require(Host("a.dev"))
        let origin = Origin(scheme: .https, host: host, port: 8443)
        for path in ["/", "/x?y?z", "/?", "/a:b"] {
            let url = URIReference(origin: origin, pathAndQuery: path)
            #expect(url.text == "https://a.dev:8443\(path)")
            #expect(try url == URIReference(url.text))
        }
    }

    @Test func `any bytes are read or refused, and what is read stays what it is`() throws {
        var seed: UInt64 = 7
        let alphabet = Array("aZ09:/?#[]@!%\\. \t\u{1}é".utf8)
        let base = try URIReference(Self.base)
        for _ in 0..<2000 {
            var bytes: [UInt8] = []
            seed = seed &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            var rest = seed
            for _ in 0..<Int(seed >> 60) {
                rest = rest &* 6_364_136_223_846_793_005 &+ 1
                bytes.append(alphabet[Int(rest >> 33) % alphabet.count])
            }
            guard let reference = try? URIReference(fieldValue: bytes.span) else { continue }
            #expect(try URIReference(reference.text) == reference || reference.text.isEmpty)
            let resolved = reference.resolved(against: base)
            #expect(resolved.scheme != nil)
            #expect(!resolved.path.split(separator: 0x2F).contains { $0.elementsEqual("..".utf8) })
        }
    }
}
