// That the manual's table of attributes is the table of the program.

import Foundation
import LupinCore
import LupinRecords
import Testing

struct TelemetryDocumentTests {
    private let page = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../../Sources/lupin/lupin.docc/telemetry.md").standardizedFileURL
    private static let head =
        "| Attribute | In | Convention | Meaning |\n|---|---|---|---|\n"

    private static var table: String {
        let rows = TelemetryName.allCases.map { name in
            let row = name.row
            let items = row.items.map(\.rawValue).joined(separator: ", ")
            return
                "| `\(name.rawValue)` | \(items) | \(row.convention.rawValue) | \(row.meaning) |\n"
        }
        return head + rows.joined()
    }

    @Test func `the manual's table of attributes is the program's`() throws {
        var text = try String(contentsOf: page, encoding: .utf8)
        if ProcessInfo.processInfo.environment["LUPIN_WRITE_DOCS"] == "1" {
            let start = try #require(text.firstRange(of: Self.head))
            let end = try #require(text[start.upperBound...].firstRange(of: "\n\n"))
            let isEmpty = text[start.upperBound...].first == "\n"
            let last = isEmpty ? start.upperBound : text.index(after: end.lowerBound)
            text.replaceSubrange(start.lowerBound..<last, with: Self.table)
            try text.write(to: page, atomically: true, encoding: .utf8)
        }
        #expect(
            text.contains(Self.table + "\n"),
            "LUPIN_WRITE_DOCS=1 swift test --filter TelemetryDocumentTests writes it anew"
        )
    }

    @Test func `every attribute has a meaning and a place`() {
        for name in TelemetryName.allCases {
            #expect(!name.row.meaning.isEmpty && !name.row.items.isEmpty, "\(name.rawValue)")
            #expect(name.rawValue.hasPrefix("lupin.") == (name.row.convention == .own))
        }
    }
}
