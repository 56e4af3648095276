// What pointers find in JSON, what is no JSON, and when two values are the same.

import LupinPolicy
import Testing

struct JSONScannerTests {
    private func find(_ pointer: String, _ text: String) throws -> JSONFinding? {
        scan([try #require(JSONPointer(pointer))], Array(text.utf8))?.first
    }

    /// `#expect` cannot hold a span.
    private func scan(_ pointers: [JSONPointer], _ bytes: [UInt8]) -> [JSONFinding]? {
        JSONScanner.find(pointers, in: bytes.span)
    }

    private func holds(_ text: String, _ pointer: String, _ value: JSONScalar) throws -> Bool {
        let found = try #require(try find(pointer, text))
        return found.equals(value, in: text.utf8.span)
    }

    private func number(_ text: String) throws -> JSONScalar {
        .number(try #require(JSONNumber(text)))
    }

    // MARK: Pointers

    private static let sample = #"""
        {"foo": ["bar", "baz"], "": 0, "a/b": 1, "c%d": 2, "e^f": 3, "g|h": 4, "i\\j": 5,
         "k\"l": 6, " ": 7, "m~n": 8}
        """#

    @Test(arguments: [
        ("/foo/0", "\"bar\""), ("/", "0"), ("/a~1b", "1"), ("/c%d", "2"), ("/e^f", "3"),
        ("/g|h", "4"), (#"/i\j"#, "5"), ("/k\"l", "6"), ("/ ", "7"), ("/m~0n", "8"),
    ])
    func `the examples of RFC 6901 hold`(pointer: String, expected: String) throws {
        let value = try expected == "\"bar\"" ? .string("bar") : number(expected)
        #expect(try holds(Self.sample, pointer, value))
    }

    @Test func `the whole, an object and a list are found and equal no scalar`() throws {
        #expect(try find("", Self.sample) == .object)
        #expect(try find("/foo", Self.sample) == .list)
        #expect(try find("", "[1]") == .list)
        #expect(try holds(" true ", "", .bool(true)))
        #expect(try !holds(Self.sample, "/foo", .null))
    }

    @Test(arguments: [
        ("/x", "{}"), ("/0", "[]"), ("/-", "[1]"), ("/01", "[1,2]"), ("/1", "[1]"), ("/a", "[1]"),
        ("/a/b", #"{"a": 1}"#), ("/A", #"{"a": 1}"#), ("/a", #"{"ab": 1}"#), ("/ab", #"{"a": 1}"#),
        ("/99999999999999999999", "[1]"), ("/a/0", #"{"a": {"b": 1}}"#), ("/+0", "[1]"),
        ("/a/b", #"{"a":{"b":1},"a":{}}"#), ("/a/b", #"{"a":{"b":1},"a":2}"#),
        ("/\u{E9}", "{\"e\u{301}\": 1}"),
    ])
    func `what is not there is missing`(pointer: String, text: String) throws {
        #expect(try find(pointer, text) == .missing)
    }

    @Test func `a number names a member too`() throws {
        #expect(try holds(#"{"01": null}"#, "/01", .null))
        #expect(try holds(#"{"0": {"-": false}}"#, "/0/-", .bool(false)))
        #expect(try holds("[[0, [1, true]]]", "/0/1/1", .bool(true)))
    }

    @Test func `of members with one name the last counts, however it is spelt`() throws {
        #expect(try holds(#"{"a":1,"a":2}"#, "/a", number("2")))
        #expect(try holds(#"{"a":1,"\u0061":null}"#, "/a", .null))
        #expect(try holds(#"{"a":{},"a":{"b":"x"}}"#, "/a/b", .string("x")))
    }

    @Test(arguments: ["a", "~", "/~", "/~2", "/a~", "/~~", "#/a", " /a"])
    func `what is no pointer is nil`(text: String) { #expect(JSONPointer(text) == nil) }

    @Test func `escapes of pointers are read from left to right`() throws {
        #expect(try holds(#"{"~1": true}"#, "/~01", .bool(true)))
        #expect(try holds(#"{"/": {"~": true}}"#, "/~1/~0", .bool(true)))
        #expect(JSONPointer("/~01") != JSONPointer("/~1"))
    }

    @Test func `many pointers are found in one text`() throws {
        let members = (0..<150).map { "\"m\($0)\": \($0)" }.joined(separator: ",")
        let text = "{\(members)}"
        let pointers = try (0..<150).map { try #require(JSONPointer("/m\(149 - $0)")) }
        let findings = try #require(scan(pointers, Array(text.utf8)))
        #expect(findings.count == 150)
        for (index, found) in findings.enumerated() {
            let number = try number("\(149 - index)")
            let isEqual = found.equals(number, in: text.utf8.span)
            #expect(isEqual)
        }
        #expect(scan([], Array("[]".utf8)) == [])
        #expect(scan([], Array("[".utf8)) == nil)
    }

    // MARK: Grammar

    @Test(arguments: [
        "", " ", "{", "}", "[", "]", "[1", "[1,", "[1,]", "[,1]", "{\"a\"}", "{\"a\":}", "{a:1}",
        "{\"a\":1,}", "{\"a\" 1}", "tru", "True", "nul", "nan", "01", "-", "-01", "1.", ".5", "1e",
        "1e+", "+1", "0x1", "\"", "\"a", "\"\\\"", "\"\\x\"", "\"\\u12\"", "\"\\u12G4\"",
        "\"a\nb\"", "\"\u{1}\"", "1 2", "{} {}", "[1]x", "'a'", "/", "{\"a\":1 \"b\":2}", "[1 2]",
        "\u{FEFF}", "\u{C}1",
    ])
    func `what is no JSON is refused`(text: String) throws { #expect(try find("", text) == nil) }

    @Test func `bytes that are not UTF-8 are refused, and a byte order mark is passed over`() throws
    {
        let pointer = try #require(JSONPointer(""))
        let bad: [UInt8] = [0x22, 0xFF, 0x22]
        #expect(scan([pointer], bad) == nil)
        #expect(try holds("\u{FEFF}null", "", .null))
    }

    @Test func `nesting has an end`() throws {
        func nested(_ depth: Int) -> String {
            String(repeating: "[", count: depth) + "1" + String(repeating: "]", count: depth)
        }
        #expect(try find("", nested(64)) == .list)
        #expect(try find("", nested(65)) == nil)
        #expect(try find("", String(repeating: "[", count: 200_000)) == nil)
        #expect(try find("", String(repeating: "{\"a\":", count: 50_000)) == nil)
        let deep = String(repeating: "/0", count: 64)
        #expect(try holds(nested(64), deep, number("1")))
    }

    @Test func `every cut of a text is refused, and no byte of it traps`() throws {
        let text = Array(
            #"{"a\n\u00e9\ud83d\ude00":[1.5e-3,{"b":[true,false,null,""]}],"c":"x"}"#.utf8
        )
        let pointers = try ["/c", "/a\n\u{E9}\u{1F600}/1/b/0", ""].map {
            try #require(JSONPointer($0))
        }
        let whole = try #require(scan(pointers, text))
        #expect(whole[1] == .bool(true) && whole[2] == .object)
        for count in text.indices {
            #expect(scan(pointers, Array(text[..<count])) == nil)
            for byte: UInt8 in [0x00, 0x22, 0x2C, 0x5B, 0x5C, 0x5D, 0x7B, 0x7D, 0x39, 0xFF] {
                var changed = text
                changed[count] = byte
                let span = changed.span
                for found in scan(pointers, changed) ?? [] {
                    _ = found.equals(.string("x"), in: span)
                }
            }
        }
    }

    // MARK: Values

    @Test(arguments: [
        ("0", "0", true), ("0", "-0", true), ("0", "0.000e9", true), ("1", "1.0", true),
        ("1", "10e-1", true), ("100", "1E+2", true), ("-1.50", "-15e-1", true), ("1", "-1", false),
        ("1", "1.0000000000000000000001", false), ("9007199254740993", "9007199254740992", false),
        ("9007199254740993", "9007199254740993.0", true), ("0.1", "0.10", true),
        ("1", "1e99999999999999999999999", false), ("1", "1e-99999999999999999999999", false),
        ("0", "0e99999999999999999999999", true), ("12", "120", false), ("1e400", "10e399", true),
    ])
    func `numbers compare by value, to the last digit`(
        expected: String,
        found: String,
        isEqual: Bool
    ) throws {
        #expect(try holds("[\(found)]", "/0", number(expected)) == isEqual)
    }

    @Test(arguments: ["", "-", "01", "1.", "1e", "0x1", " 1", "1 ", "one", "1_000", "٣"])
    func `what is no number is nil`(text: String) { #expect(JSONNumber(text) == nil) }

    @Test(arguments: [
        (#""a""#, "a", true), (#""a""#, "A", false), (#""\u0061""#, "a", true), (#""""#, "", true),
        (#""\"\\\/\b\f\n\r\t""#, "\"\\/\u{8}\u{C}\n\r\t", true), (#""\ud83d\ude00""#, "😀", true),
        ("\"😀\"", "😀", true), (#""\ud83d""#, "\u{FFFD}", false), (#""\ude00x""#, "x", false),
        (#""\ud83d\u0061""#, "a", false), ("\"e\u{301}\"", "\u{E9}", false), (#""ab""#, "a", false),
        (#""a""#, "ab", false), (#""\u00e9""#, "\u{E9}", true), (#""\u0000""#, "\0", true),
    ])
    func `strings compare by what they mean`(json: String, text: String, isEqual: Bool) throws {
        #expect(try holds("{\"x\":\(json)}", "/x", .string(text)) == isEqual)
    }

    @Test func `kinds never mix`() throws {
        for (json, kind) in [
            ("true", "true"), ("false", "false"), ("null", "null"), ("\"true\"", "a string"),
            ("1", "a number"), ("{}", "an object"), ("[]", "a list"),
        ] {
            #expect(try find("", json)?.kindText == kind)
            let all: [JSONScalar] = [
                .bool(true), .bool(false), .null, .string("true"), try number("1"),
            ]
            let equal = try all.filter { try holds(json, "", $0) }
            #expect(equal.count == (kind.hasPrefix("an object") || kind == "a list" ? 0 : 1))
        }
    }
}
