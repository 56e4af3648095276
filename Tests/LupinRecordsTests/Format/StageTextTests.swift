// What the lines of stages look like for people, and which of them a filter lets through.

import LupinCore
import LupinRecords
import LupinTestKit
import Testing

struct StageTextTests {
    private func text(
        _ stage: StageRecord,
        isColoured: Bool = false,
        columns: Int? = nil
    ) -> String {
        var bytes: [UInt8] = []
        var text = SummaryText(isColoured: isColoured, columns: columns)
        text.append(stage, to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    @Test(
        arguments: zip(
            makeStages(),
            [
                "  · 6f1c0e0b accepted GET http://api.github.com/user?code=REDACTED.0126&page=2 "
                    + "from curl",
                "  · 6f1c0e0b matched everyone, github",
                "  · 6f1c0e0b adapted http://staging.github.com/user [default accept]",
                "  · 6f1c0e0b token_wait github",
                "  · 6f1c0e0b connecting api.github.com:80",
                "  · 6f1c0e0b sent [::1]:443 h2 reused",
                "  · 6f1c0e0b progress ↑3.0MiB ↓0B",
                "503 6f1c0e0b response",
                "503 6f1c0e0b retrying retry: status \"503\"\\n, in 312ms",
                "  · 6f1c0e0b cached hit; ttl=60",
                "200 6f1c0e0b finished ↓5.0KiB 743ms error dns_error: no such host",
            ]
        )
    )
    func `a stage is a short line`(stage: StageRecord, line: String) {
        #expect(text(stage) == "22:41:07.123 \(line)\n")
    }

    @Test func `attempts and tokens are short lines too`() {
        let attempts = makeFullRecord().attempts.enumerated().map { index, attempt in
            text(
                StageRecord(
                    .attempt,
                    AttemptSummary(attempt, number: index + 1, makeRedactor()),
                    of: makeMoment()
                )
            )
        }
        #expect(
            attempts == [
                "22:41:07.123   · 6f1c0e0b attempt 1 retry: connect connection_refused: "
                    + "connect: Connection refused\n",
                "22:41:07.123 200 6f1c0e0b attempt 2 http://staging.github.com/user [::1]:443 "
                    + "reused deliver, in 312ms\n",
            ]
        )
        var token = TokenSummary(name: "gh", version: 7, detail: "", microseconds: sampleStart)
        #expect(text(StageRecord(token)) == "22:41:07.123   · token gh refreshed v7\n")
        token = TokenSummary(name: "gh", version: nil, detail: "no", microseconds: sampleStart)
        #expect(text(StageRecord(token)) == "22:41:07.123   · token gh failed no\n")
        #expect(text(StageRecord(token), isColoured: true).contains("\u{1B}[31mgh failed no"))
    }

    @Test func `no rule is said to be none`() {
        #expect(text(StageRecord(.matched)).hasSuffix(" matched no rule\n"))
    }

    @Test func `a line fits the terminal`() {
        var stage = makeStages()[0]
        stage.url = "http://a/" + String(repeating: "long/", count: 100) + "end"
        let line = text(stage, columns: 100)
        #expect(line.count <= 101)
        #expect(line.contains("…") && line.contains("/end from curl"))
    }

    @Test func `what strangers wrote cannot steer a terminal`() {
        for stage in makeStages() {
            var stage = stage
            stage.url = "\u{1B}[2J"
            stage.target = "\u{1B}[2J"
            stage.rules = ["\u{1B}[2J"]
            stage.token = "\u{1B}[2J"
            stage.id = "\u{1B}[2J"
            stage.outcome = "\u{1B}[2J"
            #expect(!text(stage).contains("\u{1B}"))
        }
    }

    @Test(
        arguments: [
            (nil, nil, nil, nil, 11), ("*.github.com", nil, nil, nil, 11),
            ("b.example", nil, nil, nil, 0), (nil, "503", nil, nil, 2),
            (nil, nil, "github", nil, 10), (nil, nil, "other", nil, 0),
            (nil, nil, nil, "error", 1), (nil, "2xx", "github", "error", 1),
        ] as [(String?, String?, String?, String?, Int)]
    )
    func `a filter lets lines through that have what is asked for`(
        host: String?,
        status: String?,
        rule: String?,
        outcome: String?,
        count: Int
    ) throws {
        let given = [("host", host), ("status", status), ("rule", rule), ("outcome", outcome)]
        let words = given.compactMap { key, value in value.map { "\(key):\($0)" } }
        let filter = try ExchangeFilter(words.joined(separator: " "))
        let lines = makeStages().compactMap { parseJSON(jsonLine(of: $0)) }
        #expect(lines.count { filter.matches($0, now: 0) } == count)
    }

    @Test(arguments: [false, true])
    func `tail prints stages between exchanges`(keepsJSON: Bool) throws {
        let whole = jsonLine(of: makeFullRecord(), redactor: makeRedactor())
        let lines = makeStages().map { jsonLine(of: $0) } + [whole]
        var printer = RecordPrinter(
            filter: ExchangeFilter(),
            keepsJSON: keepsJSON,
            text: SummaryText(isColoured: false),
            clock: { 0 }
        )
        var input = Array(lines.map { $0 + "\n" }.joined().utf8)
        let output = String(decoding: printer.take(from: &input), as: UTF8.self)
        let printed = output.split(separator: "\n").map(String.init)
        if keepsJSON {
            #expect(printed == lines)
        } else {
            #expect(printed.count == lines.count)
            let stages = makeStages().map { String(text($0).dropLast()) }
            #expect(printed.dropLast() == stages[...])
        }
    }
}
