// The page about filters lists the keys of the table.
import Foundation
import LupinRecords
import Testing

struct FilterDocumentTests {
    private static let table =
        "| Key | Compares | For example |\n|---|---|---|\n"
        + FilterKey.allCases.map { key in
            "| `\(key.rawValue)` | \(key.row.meaning) | `\(key.row.example)` |\n"
        }.joined()

    @Test func `the page's table is that of the keys`() throws {
        let here = #filePath.split(separator: "/", omittingEmptySubsequences: false).dropLast(4)
        let path = (here + ["Sources/lupin/lupin.docc/filters.md"]).joined(separator: "/")
        var text = try String(contentsOfFile: path, encoding: .utf8)
        let begin = try #require(text.range(of: "<!-- keys -->\n")).upperBound
        let end = try #require(text.range(of: "<!-- end of keys -->")).lowerBound
        if ProcessInfo.processInfo.environment["LUPIN_WRITE_DOCS"] == "1" {
            text.replaceSubrange(begin..<end, with: Self.table)
            try text.write(toFile: path, atomically: true, encoding: .utf8)
            return
        }
        #expect(
            text[begin..<end] == Self.table,
            "LUPIN_WRITE_DOCS=1 swift test --filter FilterDocumentTests writes it anew"
        )
    }

    @Test(arguments: FilterKey.allCases)
    func `the example of every key is a filter`(key: FilterKey) throws {
        #expect(key.row.example.hasPrefix(key.rawValue))
        _ = try ExchangeFilter(key.row.example)
    }
}
