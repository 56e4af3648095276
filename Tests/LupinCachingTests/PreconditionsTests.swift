// What a client's conditions and ranges make of a stored response.

import LupinCaching
import LupinCore
import Testing

struct PreconditionsTests {
    private static let tagged: CacheFields = [
        ("ETag", "\"abc\""), ("Last-Modified", date(-100)), ("Date", date()),
    ]

    private func answer(
        _ request: CacheFields,
        _ response: CacheFields = tagged,
        status: UInt16 = 200,
        method: Method = .get
    ) -> CacheAnswer {
        let head = get(request, method: method)
        return stored(response, status: status).answer(to: head, asked(head))
    }

    private static let rows: [(CacheFields, CacheAnswer)] = [
        ([], .full),
        ([("If-None-Match", "\"abc\"")], .notModified),
        ([("If-None-Match", "W/\"abc\"")], .notModified),
        ([("If-None-Match", "*")], .notModified),
        ([("If-None-Match", "\"ab\"")], .full),
        ([("If-None-Match", "\"ABC\"")], .full),
        ([("If-None-Match", "abc")], .full),
        ([("If-None-Match", "\"x, \\\", \"abc\", \"y\"")], .notModified),
        ([("If-None-Match", "\"1\", \"2\", \"abc\"")], .notModified),
        ([("If-None-Match", "\"1\",\"abc\" , \"3\"")], .notModified),
        ([("If-None-Match", "\"1\""), ("If-None-Match", "\"abc\"")], .notModified),
        ([("If-None-Match", "")], .full),
        // If-None-Match goes before If-Modified-Since.
        ([("If-None-Match", "\"abc\""), ("If-Modified-Since", date(-900))], .notModified),
        ([("If-None-Match", "\"x\""), ("If-Modified-Since", date())], .full),
        ([("If-Modified-Since", date(-100))], .notModified),
        ([("If-Modified-Since", date(-99))], .notModified),
        ([("If-Modified-Since", date(-101))], .full),
        ([("If-Modified-Since", "Sunday, 22-Nov-26 12:00:00 GMT")], .notModified),
        ([("If-Modified-Since", "yesterday")], .full),
        ([("If-Modified-Since", date()), ("If-Modified-Since", date())], .full),
        // Conditions go before ranges.
        ([("If-None-Match", "\"abc\""), ("Range", "bytes=0-1")], .notModified),
        ([("Range", "bytes=0-1")], .ranges([0..<2])),
        ([("Range", "bytes=-5")], .ranges([95..<100])),
        ([("Range", "bytes=90-")], .ranges([90..<100])),
        ([("Range", "bytes=100-")], .rangeNotSatisfiable(length: 100)),
        ([("Range", "bytes=-0")], .rangeNotSatisfiable(length: 100)),
        ([("Range", "bytes=5-1")], .full),
        ([("Range", "lines=1-2")], .full),
        ([("Range", "bytes=0-1"), ("If-Range", "\"abc\"")], .ranges([0..<2])),
        ([("Range", "bytes=0-1"), ("If-Range", "W/\"abc\"")], .full),
        ([("Range", "bytes=0-1"), ("If-Range", "\"x\"")], .full),
        ([("Range", "bytes=0-1"), ("If-Range", "abc")], .full),
        ([("Range", "bytes=0-1"), ("If-Range", date(-100))], .ranges([0..<2])),
        (
            [("Range", "bytes=0-1"), ("If-Range", "Sunday, 22-Nov-26 11:58:20 GMT")],
            .ranges([0..<2])
        ),
        ([("Range", "bytes=0-1"), ("If-Range", date(-99))], .full),
        ([("Range", "bytes=0-1"), ("If-Range", date(-101))], .full),
        ([("Range", "bytes=200-"), ("If-Range", "\"x\"")], .full),
    ]

    @Test(arguments: rows.indices)
    func `conditions are decided in the order of the RFC`(row: Int) {
        let (request, expected) = Self.rows[row]
        #expect(answer(request) == expected)
    }

    @Test func `without Last-Modified Date stands for it`() {
        let response = [("Date", date(-50))]
        #expect(answer([("If-Modified-Since", date(-50))], response) == .notModified)
        #expect(answer([("If-Modified-Since", date(-51))], response) == .full)
        #expect(answer([("If-Modified-Since", date())], []) == .notModified)
    }

    @Test func `a date that was just made is no strong validator`() {
        let response = [("Last-Modified", date()), ("Date", date())]
        #expect(answer([("Range", "bytes=0-1"), ("If-Range", date())], response) == .full)
    }

    @Test func `weak tags match weakly and never strongly`() {
        let weak = [("ETag", "W/\"abc\""), ("Date", date())]
        #expect(answer([("If-None-Match", "\"abc\"")], weak) == .notModified)
        #expect(answer([("If-None-Match", "W/\"abc\"")], weak) == .notModified)
        let range = [("Range", "bytes=0-1"), ("If-Range", "W/\"abc\"")]
        #expect(answer(range, weak) == .full)
    }

    @Test(arguments: ["abc", "w/\"abc\"", "W\"abc\"", "\"abc", "\"a\" \"b\"", "", "\"a\"b\"", "W/"])
    func `what is no entity tag matches nothing`(tag: String) {
        let response = [("ETag", tag), ("Date", date())]
        #expect(EntityTag(Array(tag.utf8).span) == nil)
        #expect(answer([("If-None-Match", tag)], response) == .full)
    }

    @Test func `two ETags that differ are none`() {
        #expect(EntityTag(of: fields([("ETag", "\"a\""), ("ETag", "\"b\"")])) == nil)
        let same = EntityTag(of: fields([("ETag", "\"a\""), ("ETag", "\"a\"")]))
        #expect(same?.text == "\"a\"" && same?.isWeak == false)
    }

    @Test func `conditions are about what would be successful`() {
        #expect(answer([("If-None-Match", "*")], status: 404) == .full)
        #expect(answer([("Range", "bytes=0-1")], status: 404) == .full)
        #expect(answer([("If-None-Match", "\"abc\"")], status: 203) == .notModified)
    }

    @Test func `HEAD has conditions and no ranges`() {
        #expect(answer([("If-None-Match", "\"abc\"")], method: .head) == .notModified)
        #expect(answer([("Range", "bytes=0-1")], method: .head) == .full)
    }
}
