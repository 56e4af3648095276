// That `lupin log` prints from the log what lupin itself would have printed, filtered.

import LupinCore
import LupinRecords
import LupinTestKit
import Testing

struct RecordPrinterTests {
    @Test func `a JSON line says in short what its record said`() throws {
        var tunnel = makeFullRecord()
        tunnel.mode = .tunnel
        tunnel.request?.form = .authority
        tunnel.tunnel = TunnelRecord()
        tunnel.tunnel?.receivedBytes = 99
        var failed = makeFullRecord()
        failed.outcome = .error
        failed.error = LupinError(.dnsError, detail: "\u{1B}[31m \"x\"")
        failed.request?.method = .other("PROPFIND")
        var reset = makeFullRecord()
        reset.version = .http2
        reset.outcome = .aborted
        reset.reset = HTTP2Reset(.cancel, by: .client)
        for record in [makeFullRecord(), tunnel, failed, reset] {
            let line = jsonLine(of: record, redactor: makeRedactor(), dropped: 2)
            let parsed = try #require(parseSummary(line))
            #expect(parsed == RecordSummary(record, dropped: 2, redactor: makeRedactor()))
        }
    }

    @Test(arguments: [
        "", "{}", "null", "[1]", "{\"event\":\"tunnel\"}", "{\"event\":\"exchange\"}",
        "{\"event\":\"exchange\",\"ts\":\"2026-11-20 22:41:07\"}",
        "{\"event\":\"exchange\",\"ts\":\"2026-13-20T22:41:07.123456Z\"}", "{\"a\":1,}", "{",
        "{\"a\":01}", "{\"a\":\"\u{1}\"}", "{\"a\":tru}", "{\"a\":1}x",
    ])
    func `other lines are none`(line: String) {
        #expect(parseSummary(line) == nil)
    }

    @Test(
        arguments: [
            ("null", .null), ("-1.5e2", .number(-150)), ("\"\\ud83e\\udd8a\"", .string("🦊")),
            ("\"\\ud83e\"", .string("\u{FFFD}")),
            (" [ 1 , true ] ", .list([.number(1), .bool(true)])),
            ("\"\\b\\f\\/\"", .string("\u{8}\u{C}/")), ("{}", .object([])), ("[]", .list([])),
        ] as [(String, JSONValue)]
    )
    func `JSON is read`(text: String, value: JSONValue) {
        #expect(parseJSON(text) == value)
    }

    @Test func `deep nesting is refused`() {
        #expect(parseJSON(String(repeating: "[", count: 100_000)) == nil)
        for (count, isRead) in [(65, true), (66, false)] {
            let deep = String(repeating: "[", count: count) + String(repeating: "]", count: count)
            #expect((parseJSON(deep) != nil) == isRead)
        }
    }

    @Test func `of members with one name the last counts, and a byte order mark is passed over`() {
        #expect(parseJSON(#"{"a":1,"\u0061":{"b":2}}"#)?["a", "b"] == .number(2))
        #expect(parseJSON("\u{FEFF}{}") == .object([]))
    }

    @Test func `every piece of a line is refused without a trap`() {
        let line = jsonLine(of: makeFullRecord(), redactor: makeRedactor())
        for end in 0..<line.count {
            #expect(parseJSON(String(line.prefix(end))) == nil)
        }
    }

    @Test func `a stream is cut into lines wherever its pieces end`() throws {
        let line = jsonLine(of: makeFullRecord(), redactor: makeRedactor()) + "\n"
        let stream = Array((line + "garbage\n" + line).utf8)
        let wanted = Array((line + line).utf8)
        for size in [1, 7, 1000, stream.count] {
            var printer = RecordPrinter(
                filter: ExchangeFilter(),
                keepsJSON: true,
                text: SummaryText(isColoured: false),
                clock: { 0 }
            )
            var input: [UInt8] = []
            var output: [UInt8] = []
            for start in stride(from: 0, to: stream.count, by: size) {
                input += stream[start..<min(start + size, stream.count)]
                output += printer.take(from: &input)
            }
            #expect(output == wanted)
            #expect(input.isEmpty)
        }
    }

    @Test func `the last line needs no end`() throws {
        var printer = RecordPrinter(
            filter: try ExchangeFilter("status:2xx"),
            keepsJSON: false,
            text: SummaryText(isColoured: false),
            clock: { 0 }
        )
        var input = Array(jsonLine(of: makeFullRecord(), redactor: makeRedactor()).utf8)
        #expect(printer.take(from: &input).isEmpty)
        #expect(!printer.finish(&input).isEmpty)
    }
}
