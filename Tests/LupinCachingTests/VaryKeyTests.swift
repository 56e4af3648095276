// Which requests get which variant.

import LupinCaching
import LupinCore
import LupinPolicy
import Testing

struct VaryKeyTests {
    private func key(_ vary: String, _ request: CacheFields) throws -> VaryKey {
        let response = fields([("Vary", vary)])
        return try #require(VaryKey(of: response, request: fields(request), policy: .standard))
    }

    @Test func `what a response was chosen by is told name by name`() throws {
        let key = try key("Foo, Bar, Baz", [("Foo", "1, 2"), ("Baz", ""), ("Other", "3")])
        #expect(key.selectors.map(\.name) == ["bar", "baz", "foo"])
        #expect(key.selectors.map(\.value) == [nil, [], Array("1,2".utf8)])
        #expect(VaryKey.empty.selectors.isEmpty)
    }

    private static let rows: [(String, CacheFields, CacheFields, Bool)] = [
        ("Foo", [("Foo", "1")], [("Foo", "1")], true),
        ("Foo", [("Foo", "1")], [("foo", "1")], true),
        ("Foo", [("Foo", "1")], [("Foo", "2")], false),
        ("Foo", [("Foo", "1")], [("Foo", "12")], false),
        ("Foo", [("Foo", "12")], [("Foo", "1")], false),
        ("Foo", [("Foo", "1")], [], false),
        ("Foo", [], [("Foo", "1")], false),
        ("Foo", [], [], true),
        // Missing is not empty.
        ("Foo", [], [("Foo", "")], false),
        ("Foo", [("Foo", "")], [], false),
        ("Foo", [("Foo", "")], [("Foo", "")], true),
        ("Foo", [("Foo", "1"), ("Other", "2")], [("Foo", "1"), ("Other", "3")], true),
        ("Foo, Bar", [("Foo", "1"), ("Bar", "a")], [("Bar", "a"), ("Foo", "1")], true),
        ("Foo, Bar", [("Foo", "1"), ("Bar", "a")], [("Foo", "1"), ("Bar", "b")], false),
        ("Foo, Bar", [("Foo", "1")], [("Bar", "1")], false),
        ("Foo, Bar, Baz", [("Foo", "1"), ("Baz", "9")], [("Foo", "1"), ("Baz", "9")], true),
        // Spaces and lines.
        ("Foo", [("Foo", "1,2")], [("Foo", " 1, 2 ")], true),
        ("Foo", [("Foo", "1, 2")], [("Foo", "1"), ("Foo", "2")], true),
        ("Foo", [("Foo", "1 \t,\t2")], [("Foo", "1,2")], true),
        ("Foo", [("Foo", "1  2")], [("Foo", "1 2")], false),
        ("Foo", [("Foo", "12")], [("Foo", "1"), ("Foo", "2")], false),
        ("Foo", [("Foo", "\"a, b\"")], [("Foo", "\"a,b\"")], false),
        ("Foo", [("Foo", "\"a\\\", b\", c")], [("Foo", "\"a\\\", b\",c")], true),
        ("Foo", [("Foo", "a,,b")], [("Foo", "a,b")], false),
        // Order may mean something, and so does case.
        (
            "Accept-Language", [("Accept-Language", "en, de")], [("Accept-Language", "de, en")],
            false
        ),
        ("Foo", [("Foo", "a")], [("Foo", "A")], false),
        (
            "ACCEPT-ENCODING", [("Accept-Encoding", "gzip,br")], [("accept-encoding", "gzip, br")],
            true
        ),
        ("Accept", [("Accept", "*/*")], [], false),
    ]

    @Test(arguments: rows.indices)
    func `a variant is for requests with the same fields`(row: Int) throws {
        let (vary, first, second, isSame) = Self.rows[row]
        let key = try key(vary, first)
        #expect(key.matches(fields(second)) == isSame)
        #expect(key.matches(fields(first)))
        // Two keys are equal exactly where one matches the other's request.
        let other = try self.key(vary, second)
        #expect((key == other) == isSame)
    }

    @Test(arguments: ["\"Foo, Bar\"", "Foo Bar", "Foo, (Bar)", "Foo, B\u{E4}r"])
    func `a Vary that names no field lets no request have the response`(vary: String) {
        let response = fields([("Vary", vary)])
        #expect(VaryKey(of: response, request: fields([]), policy: .standard) == nil)
    }

    @Test(arguments: ["*", "*, *", ", *", "Foo, *", "*, Foo"])
    func `a star matches nothing`(vary: String) {
        let response = fields([("Vary", vary)])
        #expect(VaryKey(of: response, request: FieldSection(), policy: .standard) == nil)
        #expect(VaryKey.isAny(response))
        let ignoring = CachePolicy.changed { $0.ignored = .vary }
        #expect(VaryKey(of: response, request: fields([]), policy: ignoring) == .empty)
    }

    @Test func `without Vary every request matches`() throws {
        let key = try #require(VaryKey(of: fields([]), request: fields([]), policy: .standard))
        #expect(key == .empty && key.matches(fields([("Foo", "1")])))
    }

    @Test func `a description shows no value`() throws {
        let key = try key("Authorization, Foo", [("Authorization", "Bearer s3cret")])
        #expect("\(key)" == "authorization, foo")
    }

    @Test func `names count once, and not too many`() throws {
        #expect(try key("b, A, a, B", []).names == ["a", "b"])
        let many = (0...32).map { "n\($0)" }.joined(separator: ",")
        let response = fields([("Vary", many)])
        #expect(VaryKey(of: response, request: fields([]), policy: .standard) == nil)
    }

    @Test func `of several variants that match the latest is served`() throws {
        let one = try key("Foo", [("Foo", "1")])
        let two = try key("Foo", [("Foo", "2")])
        let candidates = [
            stored([("Date", date(-10))], vary: one), stored([("Date", date(-5))], vary: one),
            stored([("Date", date(-7))], vary: .empty), stored([("Date", date())], vary: two),
        ]
        func selected(_ pairs: CacheFields) -> Int? {
            StoredResponse.selected(from: candidates, for: fields(pairs))
        }
        #expect(selected([("Foo", "1")]) == 1)
        #expect(selected([("Foo", "2")]) == 3)
        #expect(selected([]) == 2)
        #expect(StoredResponse.selected(from: [], for: fields([])) == nil)
        let twins = [stored([Self.day]), stored([Self.day])]
        #expect(StoredResponse.selected(from: twins, for: fields([])) == 1)
    }

    private static let day = ("Date", date())
}
