// What No-Vary-Search says, and which queries are one by it.

import LupinCaching
import Testing

struct NoVarySearchTests {
    private func variance(_ text: String) -> NoVarySearch? {
        NoVarySearch(of: fields([("No-Vary-Search", text)]))
    }

    // MARK: Reading

    /// What is valid, and its one form.
    @Test(arguments: [
        ("key-order", "key-order"), ("key-order=?1", "key-order"), ("key-order;a=1", "key-order"),
        ("params=(\"a\")", "params=(\"a\")"),
        ("params=(\"b\"   \"a\" \"b\")", "params=(\"a\" \"b\")"),
        ("params=(\"a\";x)", "params=(\"a\")"), ("except=(\"x\");y", "except=(\"x\")"),
        ("except=()", "except=()"), ("except=(\"x\"), key-order", "key-order, except=(\"x\")"),
        ("key-order=?0, params=(\"a\")", "params=(\"a\")"),
        ("params=(), key-order", "key-order"), ("later, key-order", "key-order"),
        ("params=(\"%61+b\")", "params=(\"a%20b\")"), ("params=(\"a b\")", "params=(\"a%20b\")"),
        ("params=(\"%c3%a9\" \"%f6\")", "params=(\"%C3%A9\" \"%EF%BF%BD\")"),
        ("params=(\"a&b=\" \"\")", "params=(\"\" \"a%26b%3D\")"),
        ("params=(\"a\"), params=(\"b\")", "params=(\"b\")"),
    ])
    func `a valid field has one form`(text: String, form: String) throws {
        let variance = try #require(self.variance(text))
        #expect(variance.text == form)
        #expect(NoVarySearch(form) == variance)
    }

    /// The examples of the draft, and what else changes nothing.
    @Test(arguments: [
        "key-order=\"not a boolean\"", "params=\"not an inner list\"", "params=(not-a-string)",
        "params=?0", "params=?1", "params", "params=?1, except=(\"x\")", "params, except=(\"x\")",
        "params=(\"a\"), except=(\"x\")", "params=(), except=()", "except=\"not an inner list\"",
        "except=(not-a-string)", "except=?1", "except", "key-order=1", "key-order=(?1)",
        "params=(\"a\" 1)", "params=(\"a\"", "", "key-order,", "Key-Order", "unknown-key",
        "params=()", "key-order=?0", "key-order=?0, params=()",
    ])
    func `a field that is not valid, or says nothing, is none`(text: String) {
        #expect(variance(text) == nil)
    }

    @Test func `lines are one field`() {
        let lines = [("No-Vary-Search", "key-order"), ("no-vary-search", "params=(\"a\")")]
        #expect(NoVarySearch(of: fields(lines))?.text == "key-order, params=(\"a\")")
        #expect(NoVarySearch(of: fields([])) == nil)
    }

    @Test func `a field that is too long says nothing`() {
        let max = NoVarySearch.textBytesMax
        func list(_ count: Int) -> String {
            "params=(\"\(String(repeating: "a", count: count - "params=(\"\")".count))\")"
        }
        #expect(variance(list(max))?.text == list(max))
        #expect(variance(list(max + 1)) == nil)
    }

    // MARK: Comparing

    /// The examples of the draft hold for every field that says something.
    private static let always: [(String, String, Bool)] = [
        ("", "", true), ("a=x", "%61=%78", true), ("a=\u{E9}", "a=%C3%A9", true),
        ("a=%f6", "a=%ef%bf%bd", true), ("a=x&&&&", "a=x", true), ("a=", "a", true),
        ("a=%20", "a=+", true), ("a=+", "a= &", true), ("a=%C3%A9", "a=e%CC%81", false),
        ("a=1", "a=2", false), ("a=1", "b=1", false), ("a=1", "a=1&a=1", false), ("a", "", false),
        ("a=1&a=2", "a=2&a=1", false), ("a=b%26c", "a=b&c", false), ("a=b=c", "a=b%3Dc", true),
        ("a%3Db", "a=b", false),
    ]

    @Test(arguments: always.indices, ["key-order", "params=(\"x\")", "except=(\"a\" \"b\" \"c\")"])
    func `queries are compared as forms are read`(row: Int, text: String) throws {
        let (first, second, isSame) = Self.always[row]
        // Names that are ignored make more queries one.
        if text.hasPrefix("except"), first == "a%3Db" { return }
        try expect(first, second, by: text, areOne: isSame)
    }

    @Test(arguments: [
        ("key-order", "a=1&b=2", "b=2&a=1", true),
        ("key-order", "a=1&b=2&a=3", "b=2&a=1&a=3", true),
        ("key-order", "a=1&b=2&a=3", "b=2&a=3&a=1", false),
        ("key-order", "%C3%A9=1&e%CC%81=2", "e%CC%81=2&%C3%A9=1", true),
        ("params=(\"utm\" \"ref\")", "a=1&utm=2", "ref=3&a=1&utm", true),
        ("params=(\"utm\")", "a=1&b=2", "b=2&a=1", false),
        ("params=(\"utm\")", "Utm=1", "", false), ("params=(\"utm\")", "utm", "", true),
        ("params=(\"a%20b\")", "a+b=1", "a%20b=2", true),
        ("params=(\"%C3%A9+%E6%B0%97\")", "\u{E9}+\u{6C17}=1", "%C3%A9%20%e6%b0%97=4", true),
        // No normalization of Unicode: these are two names.
        ("params=(\"%C3%A9\")", "e%CC%81=1", "", false),
        ("params=(\"%f6\")", "%f7=1", "", true),
        // A name is all of the text.
        ("params=(\"a&b\")", "a=1", "", false), ("params=(\"a&b\")", "a%26b=1", "", true),
        ("params=(\"a=b\")", "a=1", "", false), ("params=(\"\")", "=1", "", true),
        ("except=(\"id\")", "id=1&x=2", "y=3&id=1", true), ("except=(\"id\")", "id=1", "", false),
        ("except=(\"id\")", "id=1&id=2", "id=2&id=1", false),
        ("key-order, except=(\"a\" \"b\")", "b=1&x=3&a=2", "a=2&b=1", true),
        ("except=()", "a=1&b", "", true),
    ])
    func `queries are one by what the field says`(
        text: String,
        first: String,
        second: String,
        areOne: Bool
    ) throws { try expect(first, second, by: text, areOne: areOne) }

    private func expect(
        _ first: String,
        _ second: String,
        by text: String,
        areOne: Bool
    ) throws {
        let variance = try #require(self.variance(text))
        let forms = [first, second].map { variance.normalized($0.utf8Span.span) }
        #expect((forms[0] == forms[1]) == areOne, "\(text): \(first), \(second)")
        for form in forms where !form.isEmpty {
            #expect(variance.normalized(form.span.extracting(1..<form.count)) == form)
        }
    }
}
