// That every stage is a line of valid JSON, and that `lupin log` reads back what was written.

import LupinCore
import LupinRecords
import LupinTestKit
import Testing

struct StageFormatTests {
    @Test(arguments: makeStages())
    func `a stage is read back as it was`(stage: StageRecord) throws {
        let json = try #require(parseJSON(jsonLine(of: stage)))
        #expect(StageRecord(json) == stage)
        #expect(json["event"]?.string == "stage")
        #expect(json["stage"]?.string == stage.stage.rawValue)
        #expect(json["id"]?.string == "6f1c0e0b2a9d4b7fa3c5d6e7f8091a2b")
        #expect(RecordSummary(json) == nil)
    }

    @Test func `every stage has a sample, in the order in which they come`() {
        let stages = makeStages().map(\.stage) + [.attempt, .token]
        #expect(stages == StageRecord.Stage.allCases)
    }

    @Test func `the first line says who asks for what`() {
        #expect(
            jsonLine(of: makeStages()[0]) == #"{"schema":1,"ts":"2026-11-20T22:41:07.123456Z","#
                + #""event":"stage","id":"6f1c0e0b2a9d4b7fa3c5d6e7f8091a2b","stage":"accepted","#
                + #""client":{"address":"127.0.0.1","port":51514,"program":"curl"},"#
                + #""http":{"request":{"method":"GET"}},"url":{"full":"http://api.github.com/user"#
                + #"?code=REDACTED.0126&page=2","domain":"api.github.com"}}"#
        )
    }

    @Test func `the line of a retry says why and when`() {
        let stage = makeStages().first { $0.stage == .retrying }
        #expect(
            stage.map { jsonLine(of: $0) } == #"{"schema":1,"ts":"2026-11-20T22:41:07.123456Z","#
                + #""event":"stage","id":"6f1c0e0b2a9d4b7fa3c5d6e7f8091a2b","stage":"retrying","#
                + #""n":2,"url":{"domain":"api.github.com"},"rules":{"matched":["everyone","#
                + #""github"]},"status":503,"decision":"retry","reason":"status \"503\"\n","#
                + #""delay":312.500}"#
        )
    }

    @Test(
        arguments: [
            (7, "", #""action":"refreshed","version":7}"#),
            (nil, "no \"luck\"", #""action":"failed","detail":"no \"luck\""}"#),
        ] as [(Int?, String, String)]
    )
    func `a token has a line of its own`(version: Int?, detail: String, end: String) throws {
        let summary = TokenSummary(
            name: "github",
            version: version,
            detail: detail,
            microseconds: sampleStart
        )
        let line = jsonLine(of: StageRecord(summary))
        #expect(
            line == #"{"schema":1,"ts":"2026-11-20T22:41:07.123456Z","event":"token","#
                + #""token":"github","# + end
        )
        #expect(try StageRecord(#require(parseJSON(line))) == StageRecord(summary))
    }

    @Test(arguments: [0, 1])
    func `the line of an attempt has what the line of its exchange has`(index: Int) throws {
        let attempt = makeFullRecord().attempts[index]
        let text = jsonLine(ofAttempt: attempt, number: index + 1)
        let line = try #require(parseJSON(text))
        let whole = try #require(
            parseJSON(jsonLine(of: makeFullRecord(), redactor: makeRedactor()))
        )
        #expect(line["attempt"] == whole["attempts"]?.list?[index])
        #expect(line["id"] == whole["id"])
        #expect(line["event"]?.string == "attempt")
        var summary = StageRecord(
            .attempt,
            AttemptSummary(attempt, number: index + 1, makeRedactor()),
            of: makeMoment()
        )
        summary.totalMicroseconds = nil
        #expect(StageRecord(line) == summary)
    }

    @Test(arguments: [
        #"{"event":"stage"}"#, #"{"ts":"2026-11-20T22:41:07.123456Z","event":"stage"}"#,
        #"{"ts":"2026-11-20T22:41:07.123456Z","event":"stage","stage":"later"}"#,
        #"{"ts":"2026-11-20T22:41:07.123456Z","event":"stage","stage":"token"}"#,
        #"{"ts":"2026-11-20T22:41:07.123456Z","event":"matched","stage":"matched"}"#,
        #"{"ts":"yesterday","event":"token","token":"a"}"#, "[]",
    ])
    func `other lines are none`(line: String) throws {
        #expect(try StageRecord(#require(parseJSON(line))) == nil)
    }

    @Test func `numbers that fit nowhere are left out`() throws {
        let line =
            #"{"ts":"2026-11-20T22:41:07.123456Z","event":"stage","stage":"response","#
            + #""n":1e300,"status":70000,"delay":1e300,"client":{"port":70000},"bytes":{"up":-1}}"#
        let json = try #require(parseJSON(line))
        let stage = try #require(StageRecord(json))
        #expect(stage.attempt == 0 && stage.status == 0 && stage.delayMicroseconds == nil)
        #expect(stage.client?.port == 0 && stage.sentBytes == nil)
    }

    @Test func `what monitors are told holds no secret`() throws {
        let redactor = makeRedactor(secrets: ["s3cr3tBearer"])
        var attempt = makeFullRecord().attempts[0]
        attempt.url = "http://a.example/?token=qu3ryToken"
        attempt.reason = "s3cr3tBearer was refused"
        attempt.error = LupinError(.dnsError, detail: "for s3cr3tBearer")
        let summary = AttemptSummary(attempt, number: 1, redactor)
        let lines = [
            jsonLine(of: StageRecord(.attempt, summary, of: makeMoment(redactor))),
            jsonLine(of: StageRecord(.retrying, summary, of: makeMoment(redactor))),
            jsonLine(ofAttempt: attempt, number: 1, redactor: redactor),
        ]
        for line in lines {
            #expect(!line.contains("s3cr3t") && !line.contains("qu3ry"), "\(line)")
            #expect(line.contains("REDACTED."))
        }
        let texts = [summary.url ?? "", summary.reason, summary.failure?.detail ?? ""]
        #expect(texts.allSatisfy { $0.contains("REDACTED.") })
    }
}
