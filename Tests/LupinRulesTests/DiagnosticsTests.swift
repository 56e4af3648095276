// The form of a report: place, sentence, code, the line, carets and hint; order and number.

import LupinCore
import LupinPolicy
import LupinRules
import Testing

struct DiagnosticsTests {
    @Test func `a problem shows its place, its line without indentation, carets and a hint`() {
        #expect(
            errors("timeouts:\n    connect: 60   # too bare") == """
                lupin.yaml:3:14: "60" has no unit  [E-TYPE]
                    connect: 60   # too bare
                             ^^  write 60s
                """
        )
    }

    @Test func `a problem without a hint ends at the carets`() {
        #expect(
            errors("log: {sync: on}") == """
                lupin.yaml:2:7: "sync" is not available yet: waiting for the log arrives in a \
                later version  [E-AVAIL]
                    log: {sync: on}
                          ^^^^
                """
        )
    }

    @Test func `columns and carets count characters, not bytes or scalars`() {
        #expect(
            errors("timeouts: {\"ü\": 1s, \"e\u{301}😀\": 1s, idle: 5}") == """
                lupin.yaml:2:12: unknown key "ü" in "timeouts"  [E-KEY]
                    timeouts: {"ü": 1s, "e\u{301}😀": 1s, idle: 5}
                               ^^^  known: client_idle, client_header, min_rate, sniff, expect, \
                dns, connect, tls, response_header, idle, tunnel_idle, drain, total
                lupin.yaml:2:21: unknown key "e\u{301}😀" in "timeouts"  [E-KEY]
                    timeouts: {"ü": 1s, "e\u{301}😀": 1s, idle: 5}
                                        ^^^^  known: client_idle, client_header, min_rate, sniff, \
                expect, dns, connect, tls, response_header, idle, tunnel_idle, drain, total
                lupin.yaml:2:37: "5" has no unit  [E-TYPE]
                    timeouts: {"ü": 1s, "e\u{301}😀": 1s, idle: 5}
                                                        ^  write 5s
                """
        )
    }

    /// Around 64 and its multiples, where the search for a place begins anew.
    @Test(arguments: Array(0..<12) + Array(60..<70) + Array(120..<132) + [640, 2000])
    func `a place is found however far along its line`(width: Int) {
        let before = "log: {path: " + String(repeating: "ü", count: width)
        let text = "\(before), to: !mine x}"
        let problem = decode(text).errors.first { $0.message.contains("!mine") }
        #expect(problem?.line == 2)
        #expect(problem?.column == before.count + 7)
        #expect(problem?.caretCount == 5)
    }

    @Test func `all problems come at once, in the order of the file`() {
        let lines = decode(
            """
            rules:
              - match: {pth: /}
            workers: 0
            log: {format: xml}
            timeouts: {idle: soon, dns: 0}
            """
        ).errors.map { "\($0.line):\($0.column) \($0.code.rawValue)" }
        #expect(
            lines == ["3:13 E-KEY", "4:10 E-RANGE", "5:15 E-NAME", "6:18 E-TYPE", "6:29 E-RANGE"]
        )
    }

    @Test func `a report shows twenty problems and counts the rest`() {
        let body = "limits:\n" + (1...25).map { "  wrong\($0): 1\n" }.joined()
        let result = decode(body)
        #expect(result.errors.count == 25)
        #expect(result.configuration == nil)
        let report = result.errors.report()
        #expect(report.hasSuffix("\n… and 5 more"))
        #expect(report.contains("\"wrong20\""))
        #expect(!report.contains("\"wrong21\""))
    }

    @Test func `what an alias repeats is told once`() {
        #expect(
            errors("timeouts: &t {idle: 5}\nrules: [{match: {}, timeouts: *t}]") == """
                lupin.yaml:2:21: "5" has no unit  [E-TYPE]
                    timeouts: &t {idle: 5}
                                        ^  write 5s
                """
        )
    }

    @Test func `control characters of the file never reach the terminal`() throws {
        let text = errors("log: \"\\x1b[31m\"")
        #expect(!text.unicodeScalars.contains("\u{1B}"))
    }

    @Test func `the nearest key is found across swaps, case and dashes`() {
        let keys = ["response_header", "connect", "idle", "total"]
        #expect(nearest(to: "response-header", among: keys) == "response_header")
        #expect(nearest(to: "conenct", among: keys) == "connect")
        #expect(nearest(to: "Idle", among: keys) == "idle")
        #expect(nearest(to: "toal", among: keys) == "total")
        #expect(nearest(to: "retry", among: keys) == nil)
        #expect(nearest(to: String(repeating: "x", count: 10_000), among: keys) == nil)
    }
}
