// Credentials, demands and redirects in a record: in its JSON and in the line for people.

import LupinCore
import LupinRecords
import LupinTestKit
import Testing

struct RecordFieldsTests {
    private func line(_ change: (inout ExchangeRecord) -> Void) -> String {
        var record = makeFullRecord()
        change(&record)
        return jsonLine(of: record, redactor: makeRedactor(secrets: ["s3cr3tBearer"]))
    }

    private func text(_ change: (inout ExchangeRecord) -> Void) throws -> String {
        var record = makeFullRecord()
        change(&record)
        let redactor = makeRedactor()
        let summary = RecordSummary(record, dropped: 0, redactor: redactor)
        // `lupin log` prints the same.
        let line = jsonLine(of: record, redactor: redactor)
        #expect(try #require(parseSummary(line)) == summary)
        var bytes: [UInt8] = []
        var text = SummaryText(isColoured: false)
        text.append(summary, to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    @Test func `a credential is named, never told`() throws {
        var authentication = AuthenticationRecord(token: "github")
        #expect(
            line { $0.authentication = authentication }
                .contains(#","auth":{"token":"github","action":"none"},"#)
        )
        #expect(try text { $0.authentication = authentication }.contains("×2 curl ["))
        authentication.version = 7
        authentication.action = .refreshed
        authentication.waitMicroseconds = 212_431
        #expect(
            line { $0.authentication = authentication }.contains(
                #","auth":{"token":"github","version":7,"action":"refreshed","wait":212.431},"#
            )
        )
        #expect(
            try text { $0.authentication = authentication }.contains("×2 github refreshed curl [")
        )
        authentication.action = .used
        #expect(try text { $0.authentication = authentication }.contains("×2 curl ["))
    }

    @Test func `what validate demands is said to hold, or what does not`() throws {
        #expect(
            line { $0.validation = ValidationRecord() }.contains(#","validate":{"ok":true},"#)
        )
        #expect(
            line { $0.validation = ValidationRecord(note: "json was not checked") }
                .contains(#","validate":{"ok":true,"note":"json was not checked"},"#)
        )
        let failed = ValidationRecord(condition: "status 503", action: .fail)
        #expect(
            line { $0.validation = failed }.contains(
                #","validate":{"ok":false,"condition":"status 503","then":"fail"},"#
            )
        )
        #expect(
            try text { $0.validation = failed }
                .hasSuffix("[everyone, github] validate: status 503\n")
        )
        #expect(try text { $0.validation = ValidationRecord() }.hasSuffix("github]\n"))
    }

    @Test func `redirects show where they led, without secrets`() throws {
        let redirects = [
            RedirectRecord(status: 302, location: "http://a.example/?token=qu3ryToken"),
            RedirectRecord(status: 307, location: "http://b.example/s3cr3tBearer"),
        ]
        let line = line { $0.redirects = redirects }
        #expect(
            line.contains(
                #","redirects":[{"status":302,"location":"http://a.example/?token=REDACTED."#
            )
        )
        #expect(line.contains(#"{"status":307,"location":"http://b.example/REDACTED."#))
        #expect(!line.contains("qu3ry") && !line.contains("s3cr3t"))
        #expect(try text { $0.redirects = redirects }.contains("×2 2 redirects curl"))
        #expect(try text { $0.redirects = [redirects[0]] }.contains("×2 1 redirect curl"))
    }
}
