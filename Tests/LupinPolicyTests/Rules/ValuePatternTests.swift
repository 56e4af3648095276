// Which values a pattern stands for.

import LupinPolicy
import Testing

@Suite struct ValuePatternTests {
    @Test(arguments: [
        ("staging", "staging", true), ("staging", "Staging", false), ("staging", "xstaging", false),
        ("", "", true), ("", "x", false), ("curl*", "curl/8.5", true), ("curl*", "xcurl", false),
        ("*json*", "application/json; x", true), ("*a*b*", "xxaxxbxx", true),
        ("*a*b*", "ba", false),
        ("*", "", true), ("**", "x", true), ("a*a", "a", false), ("a*a", "aa", true),
        ("*ab*ab", "abab", true), ("*ab*ab", "ab", false), (#"a\*b"#, "a*b", true),
        (#"a\*b"#, "axb", false), (#"C:\x"#, #"C:\x"#, true), (#"\**"#, "*abc", true),
        ("/^v[0-9]+$/", "v12", true), ("/^v[0-9]+$/", "xv12", false),
        ("/json/i", "text/JSON", true),
        ("/a/b/", "xa/by", true), ("/", "/", true), ("//", "//", true), ("/a", "/a", true),
        (#"/a\/"#, #"/a\/"#, true), ("/i", "/i", true),
    ])
    func `a value is exact, a glob or an expression`(
        pattern: String,
        value: String,
        expected: Bool
    ) throws {
        #expect(try ValuePattern(pattern).matches(text: value) == expected)
    }

    @Test func `a bad expression is found behind its slash`() {
        #expect(problem { _ = try ValuePattern("/a(/") }?.offset == 2)
    }

    @Test func `only slashes make an expression`() throws {
        #expect(try ValuePattern("/a/").regularExpression != nil)
        #expect(try ValuePattern("a.*").regularExpression == nil)
        #expect(try ValuePattern("a").problem(inReplacement: "$1") != nil)
        #expect(try ValuePattern("/(a)/").problem(inReplacement: "$1") == nil)
    }

    @Test(arguments: [("X-Debug-*", "x-debug-id", true), ("X-Debug-*", "x-other", false)])
    func `a glob can compare without case`(glob: String, name: String, expected: Bool) {
        let isMatch = ValueGlob(glob).matches(name.utf8.span, ignoringCase: true)
        #expect(isMatch == expected)
    }
}
