// Whether the normal form of a path is the one of RFC 3986 §6.2.2.

import LupinCore
import Testing

@Suite struct PathNormalFormTests {
    @Test(arguments: [
        "/", "/a/b", "/a//b/", "/a%20b", "/%2F%C3%A9", "/...", "/a/.b/..c/d.", "/a%zz%4",
        "/a?/../%61",
        "/a+b;c=d,e:@", "*",
    ])
    func `a normal path is left alone`(path: String) {
        let normal = NormalPath(path.utf8.span)
        #expect(normal.rewritten == nil)
        #expect(!normal.differsInDotSegments)
        #expect(normal.pathCount == (path.firstIndex(of: "?")?.utf16Offset(in: path) ?? path.count))
    }

    @Test(arguments: [
        ("/%61%7a%2D", "/az-", false), ("/%c3%a9", "/%C3%A9", false), ("/a%2fb", "/a%2Fb", false),
        ("", "/", false), ("?q", "/", false), ("/%25%36%31", "/%2561", false),
        ("/a/../b", "/b", true), ("/a/./b", "/a/b", true), ("/..", "/", true), ("/a/..", "/", true),
        ("/a/.", "/a/", true), ("/../../a", "/a", true), ("/a//../b", "/a/b", true),
        ("/a/%2e%2E/b", "/b", true), ("/.%2e/x?y/../z", "/x", true), ("/a/b/../..", "/", true),
        ("/a/b/../../..//c", "//c", true), ("/%2e", "/", true),
    ])
    func `another path is rewritten`(path: String, expected: String, dots: Bool) throws {
        let normal = NormalPath(path.utf8.span)
        let rewritten = try #require(normal.rewritten)
        #expect(String(decoding: rewritten, as: UTF8.self) == expected)
        #expect(normal.differsInDotSegments == dots)
        // The normal form of a normal form is itself.
        let again = NormalPath(expected.utf8.span)
        #expect(again.rewritten == nil)
    }
}
