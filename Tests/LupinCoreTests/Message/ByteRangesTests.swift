// What Range and Content-Range say, and what of it is sent.

import LupinCore
import LupinTestKit
import Testing

struct ByteRangesTests {
    private static let rows: [(String, UInt64, [Range<UInt64>]?)] = [
        ("bytes=0-0", 10, [0..<1]), ("bytes=0-99", 10, [0..<10]), ("bytes=5-", 10, [5..<10]),
        ("bytes=-3", 10, [7..<10]), ("bytes=-30", 10, [0..<10]), ("bytes=-0", 10, []),
        ("bytes=10-", 10, []), ("bytes=0-", 0, []), ("bytes=-1", 0, []),
        ("BYTES=1-2", 10, [1..<3]), ("bytes= 1-2", 10, [1..<3]), ("bytes=,1-2,", 10, [1..<3]),
        ("bytes=1-2 ,\t3-4", 1000, [1..<5]),
        // In the order of the request, unless they nearly touch.
        ("bytes=500-599,0-99", 1000, [500..<600, 0..<100]),
        ("bytes=0-99,180-199", 1000, [0..<200]),
        ("bytes=0-99,181-199", 1000, [0..<100, 181..<200]),
        ("bytes=5-9,0-6", 1000, [0..<10]), ("bytes=0-9,0-9,0-9", 10, [0..<10]),
        ("bytes=900-999,0-9,5-20", 1000, [0..<21, 900..<1000]),
        ("bytes=0-1,5000-", 1000, [0..<2]),
        ("bytes=4611686018427387904-", 10, []), ("bytes=0-4611686018427387904", 10, [0..<10]),
        // Not valid, so ignored.
        ("bytes=2-1", 10, nil), ("bytes=", 10, nil), ("bytes", 10, nil), ("bytes=a-b", 10, nil),
        ("bytes=1", 10, nil), ("bytes=1-2-3", 10, nil), ("bytes=1-2 3-4", 10, nil),
        ("bytes=--1", 10, nil), ("bytes=-", 10, nil), ("items=1-2", 10, nil), ("=1-2", 10, nil),
        ("bytes =1-2", 10, nil), ("", 10, nil), ("bytes=1 - 2", 10, nil),
        ("bytes=0-99999999999999999999999", 10, nil),
    ]

    @Test(arguments: rows.indices)
    func `a Range asks for bytes that are there`(row: Int) {
        let (value, length, expected) = Self.rows[row]
        let request = RangeRequest(parsing: Array(value.utf8).span)
        #expect(request?.resolved(length: length) == expected)
    }

    @Test func `too many parts and two lines are ignored`() {
        func value(_ count: Int) -> String {
            "bytes=" + (0..<count).map { "\($0 * 1000)-\($0 * 1000)" }.joined(separator: ",")
        }
        #expect(RangeRequest(of: makeFields([("Range", value(16))]))?.parts.count == 16)
        #expect(RangeRequest(of: makeFields([("Range", value(17))])) == nil)
        #expect(
            RangeRequest(of: makeFields([("Range", "bytes=1-2"), ("Range", "bytes=1-2")])) == nil
        )
        #expect(RangeRequest(of: makeFields([])) == nil)
    }

    @Test(
        arguments: [
            ("bytes 0-4/10", "bytes 0-4/10"), ("BYTES 0-4/10", "bytes 0-4/10"),
            ("bytes 0-4/*", "bytes 0-4/*"), ("bytes */10", "bytes */10"),
            ("bytes  0-9/10 ", "bytes 0-9/10"), ("bytes 0-10/10", nil), ("bytes 4-3/10", nil),
            ("bytes */*", nil), ("bytes 0-4", nil), ("bytes 0-4/", nil), ("bytes 0-4/10x", nil),
            ("bytes=0-4/10", nil), ("items 0-4/10", nil), ("", nil), ("bytes -4/10", nil),
            ("bytes 0-18446744073709551615/*", nil), ("bytes 0-4/18446744073709551615", nil),
        ] as [(String, String?)]
    )
    func `a Content-Range is valid or none`(value: String, expected: String?) {
        #expect(ContentRange(parsing: Array(value.utf8).span)?.text == expected)
        let twice = makeFields([("Content-Range", value), ("Content-Range", value)])
        #expect(ContentRange(of: twice) == nil)
    }

    /// At the bounds of 62, 63 and 64 bits, behind the last one, and far beyond.
    private static let large: [(digits: String, isRead: Bool)] = [
        ("4611686018427387904", true), ("4611686018427387905", false),
        ("9223372036854775807", false), ("9223372036854775808", false),
        ("18446744073709551615", false), ("18446744073709551616", false),
        ("18446744073709551619", false), ("46116860184273879049", false),
        (String(repeating: "9", count: 40), false),
        (String(repeating: "0", count: 40) + "4", true),
    ]

    @Test(arguments: large)
    func `a number that nothing can have as its length makes no range`(
        digits: String,
        isRead: Bool
    ) {
        for value in ["bytes=\(digits)-", "bytes=-\(digits)", "bytes=0-\(digits)"] {
            let request = RangeRequest(parsing: Array(value.utf8).span)
            #expect((request != nil) == isRead)
            #expect(request?.resolved(length: .max).count ?? 1 == 1)
        }
        for value in ["0-\(digits)/*", "\(digits)-\(digits)/*", "*/\(digits)", "0-0/\(digits)"] {
            let range = ContentRange(parsing: Array("bytes \(value)".utf8).span)
            #expect((range != nil) == isRead)
        }
    }

    @Test func `ranges at the end of all numbers are joined`() {
        let request = RangeRequest(parsing: Array("bytes=-9,-5".utf8).span)
        #expect(request?.resolved(length: .max) == [UInt64.max - 9 ..< .max])
    }

    @Test func `the total of many parts saturates`() {
        let huge: Range<UInt64> = 0..<(1 << 63)
        let parts = MultipartRanges(
            ranges: [huge, huge, huge],
            completeLength: nil,
            mediaType: nil,
            boundary: "B"
        )
        #expect(parts.contentLength == .max)
        #expect(parts.heads.count == 3)
    }

    @Test func `any bytes are read without harm`() {
        var seed: UInt64 = 3
        for _ in 0..<5000 {
            var bytes = Array("bytes".utf8)
            for _ in 0..<12 {
                seed = seed &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                bytes.append(Array("0123456789-,= */9999".utf8)[Int(seed >> 33) % 20])
            }
            let ranges = RangeRequest(parsing: bytes.span)?.resolved(length: 50) ?? []
            #expect(ranges.allSatisfy { !$0.isEmpty && $0.upperBound <= 50 })
            _ = ContentRange(parsing: bytes.span)
        }
    }
}
