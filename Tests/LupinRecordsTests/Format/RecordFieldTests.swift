// That the table of the record's fields is what is written, read and documented.

import Foundation
import LupinCore
import LupinRecords
import LupinTestKit
import Testing

struct RecordFieldTests {
    private let page = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../../Sources/LupinCore/LupinCore.docc/RecordFields.md")
        .standardizedFileURL

    @Test func `RecordFields is the table`() throws {
        if ProcessInfo.processInfo.environment["LUPIN_WRITE_DOCS"] == "1" {
            try RecordFieldDocument.text.write(to: page, atomically: true, encoding: .utf8)
        }
        #expect(
            try String(contentsOf: page, encoding: .utf8) == RecordFieldDocument.text,
            "LUPIN_WRITE_DOCS=1 swift test --filter RecordFieldTests writes it anew"
        )
    }

    @Test func `every path and every meaning stands there once`() {
        let rows = RecordField.allCases.map(\.row)
        #expect(Set(rows.map(\.path)).count == rows.count)
        #expect(rows.allSatisfy { !$0.meaning.isEmpty })
        #expect(Set(AttemptField.allCases.map(\.row.path)).count == AttemptField.allCases.count)
    }

    /// An inner switch that forgets a field would write nothing, and nobody would miss it.
    @Test func `a record that has everything has every field of the table`() throws {
        var record = makeRecordWithEverything()
        record.attempts[0].start = 5000
        let json = try #require(
            parseJSON(jsonLine(of: record, redactor: makeRedactor(), dropped: 1))
        )
        for field in RecordField.allCases {
            #expect(json[field: field] != nil, "\(field.row.path)")
            let isText = json[field: field]?.string != nil
            #expect(isText == field.row.isText, "\(field.row.path)")
        }
        let attempt = try #require(json[field: .attempts]?.list?.first)
        for field in AttemptField.allCases {
            #expect(attempt[attempt: field] != nil, "attempts[].\(field.row.path)")
        }
    }

    @Test func `a line longer than any before it is whole, and so is the next one`() throws {
        var format = RecordFormat(redactor: makeRedactor())
        var line = JSONLine()
        for length in [10, 3000, 4000, 10, 200_000, 10] {
            var record = makeFullRecord()
            record.rules.matched = (0..<length / 10).map { "rule \($0)" }
            line.bytes.removeAll()
            format.appendJSON(record, dropped: 0, to: &line)
            let json = try #require(parseJSON(String(decoding: line.bytes, as: UTF8.self)))
            #expect(json[field: .matched]?.list?.count == length / 10)
            #expect(json[field: .total]?.number == 743.3)
        }
    }

    private func makeRecordWithEverything() -> ExchangeRecord {
        var record = makeFullRecord()
        record.client.user = "ada"
        record.client.isRedirected = true
        record.request?.method = .other("BREW")
        record.responseBodyBytes = 1
        record.headers = .listed(["accept", "etag"])
        record.version = .http2
        record.stream = 1
        record.reset = HTTP2Reset(.cancel, by: .client)
        record.authentication = AuthenticationRecord(token: "github")
        record.authentication?.version = 7
        record.authentication?.waitMicroseconds = 1
        record.note(exchangedStandIn: "github")
        record.note(standInElsewhere: "nexus")
        record.cache = "lupin; hit"
        let verdict = TrustPolicy.system(host: true).evaluate(ScriptedTrust())
        record.trust = TrustRecord(policy: "acme", verdict: verdict, leaf: nil)
        record.trust?.leaf = "sha256/AAAA"
        record.trust?.notAfter = 1
        record.validation = ValidationRecord(condition: "status", action: .fail, note: "x")
        record.bypass = BypassRecord(sinceMicroseconds: 1, untilMicroseconds: 2, cause: "x")
        record.redirects = [RedirectRecord(status: 302, location: "http://a.example/")]
        record.error = LupinError(.destinationUnavailable, detail: "connect")
            .blaming(
                "p.test:3128",
                status: 407,
                challenge: ParentChallenge(refused: "Basic", offers: ["NTLM"])
            ).naming(parentRule: "corp")
        record.loginStep = "NTLM"
        record.flaws = ResponseFlaws([.lineFeed])
        record.tunnel = TunnelRecord()
        record.tunnel?.closedBy = .client
        record.tunnel?.serverName = "a.example"
        record.tunnel?.protocols = ["h2"]
        record.tunnel?.offeredECH = true
        record.timing = everyPhase
        var attempt = record.attempts[1]
        attempt.error = record.error
        attempt.via = "p.test:3128"
        attempt.reason = "because"
        attempt.isReplayable = false
        attempt.unkept = .size
        attempt.stream = 3
        attempt.reset = .cancel
        attempt.goAway = .noError
        attempt.tls = .tls13
        attempt.timing = everyPhase
        record.attempts = [attempt, attempt]
        return record
    }

    private var everyPhase: Timing {
        var timing = Timing()
        for path: WritableKeyPath<Timing, Int64?> in [
            \.blocked, \.dns, \.tcp, \.tls, \.send, \.wait, \.receive, \.total,
        ] {
            timing[keyPath: path] = 1
        }
        return timing
    }
}
