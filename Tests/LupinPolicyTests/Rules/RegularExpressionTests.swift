// Whether the engine finds what the expression means, and never takes long.

import LupinCore
import LupinPolicy
import Testing

@Suite struct RegularExpressionTests {
    private func groups(_ pattern: String, _ text: String) throws -> [String?]? {
        let bytes = Array(text.utf8)
        return try RegularExpression(pattern).captures(in: bytes.span)?.map { range in
            range.map { String(decoding: bytes[$0], as: UTF8.self) }
        }
    }

    @Test(arguments: [
        ("abc", "xabcx", true), ("abc", "ab", false), ("", "", true), ("", "x", true),
        ("^abc$", "abc", true), ("^abc$", "abc\n", false), ("^b", "ab", false),
        ("a|b", "xb", true), ("a|b|", "x", true), ("^(a|bc)+$", "abcbca", true),
        ("^a.c$", "abc", true), ("^a.c$", "aéc", true), ("^a.c$", "a\nc", false),
        ("^.$", "é", true), ("^..$", "é", false), ("^.$", "😀", true), ("^[^/]$", "ü", true),
        ("[a-c]", "xbx", true), ("[^a-c]", "abc", false), ("^[]a]+$", "a]", true),
        ("[a-]", "-", true), (#"[\d_]"#, "_", true), (#"^[\D]$"#, "é", true),
        (#"^[^\D]+$"#, "12", true), (#"^[^\D]+$"#, "1x", false), ("^[à-ü]+$", "éè", true),
        ("[à-ü]", "z", false), ("[^é]$", "é", false), ("é!|[^é]$", "é", false),
        (#"^\d+\w\s$"#, "12_ ", true), (#"^\D\W\S$"#, "a-b", true), (#"\W"#, "é", true),
        (#"\bcat\b"#, "a cat!", true), (#"\bcat\b"#, "concat", false), (#"\Bcat"#, "concat", true),
        (#"\/v1\."#, "/v1.", true), (#"a\x41\n\t\r"#, "aA\n\t\r", true), (#"\xC3\xA9"#, "é", true),
        ("^a{3}$", "aaa", true), ("^a{3}$", "aaaa", false), ("^a{2,}$", "aaaa", true),
        ("^a{2,3}$", "aaaa", false), ("^a{0}$", "", true), ("a{,2}", "a{,2}", true),
        ("a{", "a{", true), ("^(?:ab)*$", "abab", true), ("^(a*)*$", "aaa", true),
        ("^(a*)+$", "b", false), ("(?i)straSSe", "STRAsse", true), ("(?i)[a-c]", "B", true),
        ("(?i)[^a-c]", "B", false), ("(?i)É", "é", false), ("$", "abc", true), ("^$", "a", false),
        ("(^|,)b", "a,b", true), ("(^|,)b", "ab", false), ("x*$", "ab", true),
    ])
    func `an expression matches what Perl would match`(
        pattern: String,
        text: String,
        expected: Bool
    ) throws {
        #expect(try RegularExpression(pattern).matches(text: text) == expected)
        #expect((try groups(pattern, text) != nil) == expected)
    }

    @Test(arguments: [
        ("a+", "baab", ["aa"]), ("a+?", "baab", ["a"]), ("a*?b", "aab", ["aab"]),
        ("a|ab", "ab", ["a"]), ("ab|a", "ab", ["ab"]),
        ("(a|ab)(c|bcd)", "abcd", ["abcd", "a", "bcd"]),
        ("(a+)(a*)", "aaa", ["aaa", "aaa", ""]), ("(a+?)(a*)", "aaa", ["aaa", "a", "aa"]),
        (#"^(\S+).*"#, "curl/8 (x)", ["curl/8 (x)", "curl/8"]),
        (#"(\d+)-(\d+)"#, "a 12-34", ["12-34", "12", "34"]),
        ("((a)(b))", "ab", ["ab", "ab", "a", "b"]), ("(?:x)(y)", "xy", ["xy", "y"]),
        ("(a|b)*", "abx", ["ab", "b"]), ("(|a)*", "aa", ["", ""]), ("(|a)+", "aa", ["", ""]),
        ("a{2,3}", "aaaa", ["aaa"]), ("a{2,3}?", "aaaa", ["aa"]), ("a??b", "ab", ["ab"]),
        ("b*", "abb", [""]), ("x*", "é", [""]), (".", "é", ["é"]),
    ])
    func `the leftmost match has Perl's preferences`(
        pattern: String,
        text: String,
        expected: [String]
    ) throws {
        #expect(try groups(pattern, text)?.compactMap { $0 } == expected)
    }

    @Test func `a group that took no part is absent`() throws {
        #expect(try groups("(a)|(b)", "b") == ["b", nil, "b"])
        #expect(try groups("(a)?b", "b") == ["b", nil])
    }

    @Test func `a byte that is not UTF-8 is a character of its own`() throws {
        let bytes: [UInt8] = [0x61, 0xFF, 0xC3, 0x62, 0xED, 0xA0, 0x80]
        func matches(_ pattern: String) throws -> Bool {
            try RegularExpression(pattern).matches(bytes.span)
        }
        #expect(try matches("^a..b...$"))
        #expect(try matches(#"a\xFF\xC3b"#))
        #expect(try matches(#"^a[\xFE-\xFF][^a]b"#))
        #expect(try !matches("ÿ"))
    }

    @Test(arguments: [
        ("(a", "`(` is not closed", 0), ("a)", "`)` closes no group", 1),
        ("x[a", "`[` is not closed", 1), ("*a", "`*` has nothing to repeat", 0),
        ("a**", "`*` has nothing to repeat", 2), ("é+?+", "`+` has nothing to repeat", 3),
        ("a++", "a possessive repetition is not supported", 2),
        (#"(a)\1"#, "back-references are not supported", 3),
        ("x(?=a)", "look-around `(?=…)` is not supported", 1),
        ("(?<!a)", "look-around `(?<!…)` is not supported", 0),
        ("(?<n>a)", "named groups are not supported", 0), ("(?>a)", "an atomic group", 0),
        ("a(?i)", "`(?i)` may stand only at the very start", 1), (#"\pL"#, #"`\p` is not"#, 0),
        (#"ab\"#, #"`\` stands at the end"#, 2), (#"\x4"#, #"`\x` needs two"#, 0),
        ("[z-a]", "not a range", 1), (#"[a-\d]"#, "not a range", 1), ("[[:alpha:]]", "`[:…:]`", 1),
        ("a{1001}", "a count may be at most 1000", 1), ("a{3,2}", "the counts are the wrong", 1),
        ("^*", "a position cannot be repeated", 1), ("((a{1000}){1000}){1000}", "too large", 0),
    ])
    func `a bad expression says what is wrong and where`(
        pattern: String,
        message: String,
        offset: Int
    ) throws {
        let problem = try #require(problem { _ = try RegularExpression(pattern) })
        #expect(problem.message.contains(message), "\(problem.message)")
        #expect(problem.offset == offset)
    }

    @Test func `deep nesting and empty repetitions end`() throws {
        let deep = String(repeating: "(", count: 100_000)
        #expect(problem { _ = try RegularExpression(deep) }?.message.contains("nest") == true)
        #expect(try RegularExpression("(?:(?:(?:){1000}){1000}){1000}").matches(text: ""))
    }

    @Test(arguments: [
        "^(a+)+$", "^(a|aa)+$", "^(a|a?)+$", "(.*)*x", "(a*)*(a*)*b", "^((a?){20})*$",
    ])
    func `what makes others backtrack takes linear time`(pattern: String) throws {
        let expression = try RegularExpression(pattern)
        let text = String(repeating: "a", count: 2_000) + "!"
        // Backtracking would not come back from this.
        #expect(!expression.matches(text: text))
    }

    @Test(arguments: [
        ("^\\/api", "/api/x", "/v2", "/v2/x"), ("(\\d+)-(\\d+)", "a1-22b", "$2:$1", "a22:1b"),
        ("b", "abc", "[$0]", "a[b]c"), ("b", "abc", "$$", "a$c"), ("(b)c", "abcd", "${1}1", "ab1d"),
        ("(x)?b", "abc", "<$1>", "a<>c"), ("b", "abcb", "", "acb"), ("b", "abc", "$", "a$c"),
        ("é", "caféé", "e", "cafeé"),
    ])
    func `a replacement puts groups in place of the first match`(
        pattern: String,
        text: String,
        replacement: String,
        expected: String
    ) throws {
        let found = try replacing(pattern, in: text, with: replacement)
        #expect(found == Array(expected.utf8))
    }

    @Test func `nothing is replaced where nothing matches`() throws {
        #expect(try replacing("x", in: "abc", with: "y") == nil)
    }

    /// `#expect` cannot hold a span.
    private func replacing(
        _ pattern: String,
        in text: String,
        with replacement: String
    ) throws -> [UInt8]? {
        try RegularExpression(pattern).replacingFirst(in: text.utf8.span, with: replacement)
    }

    @Test(arguments: [
        ("a$2", "`$2` names no group: the expression has 1 group", 1),
        ("${10}", "`$10` names no group", 0), ("é$", "`$` needs a group's number", 1),
        ("${1", "`$` needs a group's number", 0), ("$x", "`$` needs a group's number", 0),
    ])
    func `a replacement that names no group is found at load`(
        replacement: String,
        message: String,
        offset: Int
    ) throws {
        let problem = try #require(Replacement.problem(in: replacement, groupCount: 1))
        #expect(problem.message.contains(message))
        #expect(problem.offset == offset)
        #expect(Replacement.problem(in: "$0 ${1} $$2", groupCount: 1) == nil)
    }
}
