// The page on redaction says which forms of a secret are found.

import Foundation
import LupinTestKit
import Testing

struct RedactionDocumentTests {
    private let page = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../../Sources/LupinCore/LupinCore.docc/Redaction.md")
        .standardizedFileURL

    @Test func `Redaction is the table of the forms`() throws {
        if ProcessInfo.processInfo.environment["LUPIN_WRITE_DOCS"] == "1" {
            try RedactionDocument.text.write(to: page, atomically: true, encoding: .utf8)
        }
        #expect(
            try String(contentsOf: page, encoding: .utf8) == RedactionDocument.text,
            "LUPIN_WRITE_DOCS=1 swift test --filter RedactionDocumentTests writes it anew"
        )
    }

    @Test func `the manual has the table of the names`() throws {
        let path = page.deletingLastPathComponent()
            .appending(path: "../../lupin/lupin.docc/records.md").standardizedFileURL
        var text = try String(contentsOf: path, encoding: .utf8)
        let begin = try #require(text.range(of: "<!-- names of secrets -->\n")).upperBound
        let end = try #require(text.range(of: "<!-- end of names -->")).lowerBound
        let due = RedactionDocument.names.joined(separator: "\n") + "\n"
        if ProcessInfo.processInfo.environment["LUPIN_WRITE_DOCS"] == "1" {
            text.replaceSubrange(begin..<end, with: due)
            try text.write(to: path, atomically: true, encoding: .utf8)
            return
        }
        #expect(
            text[begin..<end] == due,
            "LUPIN_WRITE_DOCS=1 swift test --filter RedactionDocumentTests writes it anew"
        )
    }

    @Test func `every form has a name of its own`() {
        #expect(Set(SecretForm.allCases.map(\.name)).count == SecretForm.allCases.count)
    }
}
