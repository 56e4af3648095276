// What a media type is, which ranges hold it, and what Accept accepts.

import LupinCore
import Testing

struct MediaRangeTests {
    @Test(arguments: [
        ("Text/HTML; charset=\"UTF-8\"", "text/html", ["charset=utf-8"]),
        ("application/json", "application/json", []), (" a/b ;x=1; y = 2 ", "a/b", ["x=1", "y=2"]),
        ("*/*", "*/*", []), ("*", "*/*", []), ("text/*;q=0.5;ext=1", "text/*", []),
        ("a/b;x=\"1;2\\\"3\"", "a/b", ["x=1;2\"3"]), ("a/b;;x", "a/b", []),
        ("application/*+json", "application/*+json", []), ("a/b;x=\"", "a/b", ["x=\""]),
    ])
    func `a media type has a type, a subtype and parameters`(
        text: String,
        expected: String,
        parameters: [String]
    ) throws {
        let media = try #require(MediaRange(text))
        #expect(media.text == expected)
        #expect(media.parameters.map { "\($0.name)=\($0.value)" } == parameters)
    }

    @Test(arguments: [
        "", " ", "text", "/", "a/", "/b", "*/html", "a b/c", "a/b c", "a/b/c", ";a/b",
    ])
    func `what is no media type is nil`(text: String) { #expect(MediaRange(text) == nil) }

    @Test(arguments: [
        ("*/*", "a/b", true), ("a/*", "a/b", true), ("a/*", "c/b", false), ("a/b", "a/b", true),
        ("a/b", "a/c", false), ("application/*+json", "application/problem+json", true),
        ("application/*+json", "application/json", false), ("A/B", "a/b; x=1", true),
    ])
    func `a range holds types`(range: String, media: String, expected: Bool) throws {
        let range = try #require(MediaRange(range))
        #expect(try range.contains(#require(MediaRange(media))) == expected)
    }

    private static let accepts: [(accept: [String], media: String?, expected: Bool)] = [
        ([], "a/b", true), ([], nil, true), (["*/*"], nil, true), (["a/*"], nil, false),
        (["*/*;q=0"], nil, false), (["*/*;q=0, a/b"], nil, false),
        (["text/html"], "text/html", true),
        (["text/html"], "text/html; charset=utf-8", true), (["text/html"], "text/plain", false),
        (["text/html, application/json"], "application/json", true),
        (["text/html", "application/json"], "application/json", true),
        (["text/*, text/html;q=0"], "text/html", false),
        (["text/html;q=0, text/*"], "text/css", true),
        (["*/*, a/b;q=0.000"], "a/b", false), (["*/*;q=0, a/b"], "a/b", true),
        (["*/*;q=0, a/b"], "a/c", false), (["a/b;q=0.001"], "a/b", true),
        (["a/b;charset=utf-8"], "a/b", true), (["a/b, a/b;level=1;q=0"], "a/b", true),
        (["a/b, a/b;level=1;q=0"], "a/b;level=1", false),
        (["a/b, a/b;level=1;q=0"], "a/b;level=2", true), (["a/b;q=0;q=1"], "a/b", false),
        (["a/b;q=-1"], "a/b", true), (["a/b;q=.0"], "a/b", true), (["a/b;q=0.0000"], "a/b", true),
        (["garbage"], "a/b", true), (["garbage, c/d"], "a/b", false), ([""], "a/b", true),
        (["*"], "a/b", true), (["a/b, a/b;q=0"], "a/b", true), (["a/b;q=0, a/b"], "a/b", true),
        (["a/b;Q=0"], "a/b", false), (["a/b; x=\"a,b\", c/d"], "c/d", true),
    ]

    @Test(arguments: accepts)
    func `the most specific range of Accept decides`(
        accept: [String],
        media: String?,
        expected: Bool
    ) throws {
        var fields = FieldSection()
        for line in accept { fields.add(name: "accept", value: line) }
        let type = try media.map { try #require(MediaRange($0)) }
        #expect(MediaRange.isAccepted(type, by: fields) == expected)
    }
}
