// What the short line for people looks like, and that it fits.

import LupinCore
import LupinPolicy
import LupinRecords
import LupinTestKit
import Testing

struct RecordSummaryTests {
    private func line(
        _ record: ExchangeRecord,
        isColoured: Bool = false,
        columns: Int? = nil,
        dropped: Int = 0
    ) -> String {
        var bytes: [UInt8] = []
        var text = SummaryText(isColoured: isColoured, columns: columns)
        text.append(
            RecordSummary(record, dropped: dropped, redactor: makeRedactor()),
            to: &bytes
        )
        return String(decoding: bytes, as: UTF8.self)
    }

    @Test func `a line has time, status, method, URL and the rest`() {
        #expect(
            line(makeFullRecord())
                == "22:41:07.123 200 6f1c0e0b GET       5.0KiB  743ms "
                + "http://api.github.com/user?code=REDACTED.0126&page=2 ×2 curl "
                + "[everyone, github]\n"
        )
    }

    @Test(arguments: [80, 140])
    func `the URL begins in the same column, whatever stands before it`(columns: Int) {
        var starts: Set<Int> = []
        for (method, size, total) in [
            (Method.get, 0, 0), (.connect, 1_048_575, 9_999_999), (.delete, 1023, 303_000_000),
            (.other("PROPFIND"), 12, 12_345_000), (.options, nil, nil),
        ] as [(Method, UInt64?, Int64?)] {
            var record = makeFullRecord()
            record.request?.method = method
            record.responseBodyBytes = size
            record.timing.total = total
            let text = line(record, columns: columns)
            starts.insert(
                text.distance(from: text.startIndex, to: text.firstRange(of: "http")!.lowerBound)
            )
        }
        #expect(starts == [50])
    }

    @Test func `what the cache did is a word, and so is the answer of a rule`() {
        var record = makeFullRecord()
        record.attempts = []
        for (status, word) in [
            ("lupin; hit; ttl=30", "hit"), ("lupin; hit; ttl=-5", "stale"),
            ("lupin; fwd=uri-miss; stored", "stored"), ("lupin; fwd=stale; stored", "stored"),
            ("lupin; fwd=stale; fwd-status=304; ttl=2", "revalidated"),
            ("lupin; fwd=stale; fwd-status=503; ttl=-2", "stale"),
            ("lupin; fwd=miss; collapsed", "collapsed"),
        ] {
            record.cache = status
            #expect(line(record).contains("&page=2 \(word) curl ["), "\(status)")
        }
        for status in ["lupin; fwd=bypass", "lupin; fwd=uri-miss; detail=no-store"] {
            record.cache = status
            #expect(line(record).contains("&page=2 curl ["), "\(status)")
        }
        record.cache = nil
        record.rules.steps = [CannedResponse(status: 204).step(of: "rule", answering: .get)]
        #expect(line(record).contains("&page=2 answered curl ["))
    }

    @Test(arguments: [80, 140])
    func `on a terminal a failure has a line of its own`(columns: Int) {
        var record = makeFullRecord()
        record.outcome = .error
        record.response?.status = 502
        record.error = LupinError(.dnsError, detail: "no such host")
        let lines = line(record, columns: columns).split(separator: "\n")
        let indentation = String(repeating: " ", count: 26)
        #expect(lines.last == "\(indentation)error dns_error: no such host")
        #expect(lines.dropLast().allSatisfy { $0.count <= columns })
    }

    @Test func `a failure says what failed`() {
        var record = makeFullRecord()
        record.outcome = .error
        record.response?.status = 502
        record.error = LupinError(.dnsError, detail: "no\nsuch host")
        record.attempts = []
        record.rules.matched = []
        #expect(
            line(record, dropped: 5).hasSuffix(
                "&page=2 curl error dns_error: no\\nsuch host "
                    + "(5 lines lost before this one)\n"
            )
        )
    }

    @Test func `HTTP/2 is named, and the code of a stream that ended early`() {
        var record = makeFullRecord()
        record.version = .http2
        #expect(line(record).hasSuffix("&page=2 h2 ×2 curl [everyone, github]\n"))
        record.reset = HTTP2Reset(.cancel, by: .client)
        record.outcome = .aborted
        #expect(line(record).hasSuffix(" h2 ×2 curl [everyone, github] aborted CANCEL\n"))
        // A stream that ends early although all is well is nothing for people.
        record.outcome = .ok
        #expect(line(record).hasSuffix(" h2 ×2 curl [everyone, github]\n"))
    }

    @Test func `colours come only when asked for`() {
        #expect(line(makeFullRecord(), isColoured: true).contains("\u{1B}[32m200\u{1B}[0m"))
        #expect(!line(makeFullRecord()).contains("\u{1B}"))
    }

    @Test(arguments: [80, 100, 120, 200])
    func `a line fits the terminal`(columns: Int) {
        var record = makeFullRecord()
        record.request = makeRequest("/" + String(repeating: "long/", count: 100) + "end")
        let lines = line(record, columns: columns).split(separator: "\n")
        // Below 101 columns the 24 that a URL keeps leave too little for the rest.
        #expect(lines.map(\.count).max() == columns)
        #expect(lines.count == (columns < 101 ? 2 : 1))
        let text = lines.joined(separator: " ")
        #expect(text.contains("…"))
        #expect(text.contains("/end "))
    }

    @Test(
        arguments: [
            (0, "0B"), (1023, "1023B"), (1024, "1.0KiB"), (1536, "1.5KiB"), (1 << 20, "1.0MiB"),
            (1 << 30, "1.0GiB"), (UInt64.max, "16383.9PiB"),
        ] as [(UInt64, String)]
    )
    func `sizes are short`(size: UInt64, text: String) {
        var record = makeFullRecord()
        record.responseBodyBytes = size
        #expect(line(record).contains(" \(text) "))
    }

    @Test(
        arguments: [
            (0, "0ms"), (9_999_000, "9999ms"), (12_340_000, "12.3s"), (303_000_000, "5m03s"),
            (Int64.max, "153722867280m54s"),
        ] as [(Int64, String)]
    )
    func `durations are short`(duration: Int64, text: String) {
        var record = makeFullRecord()
        record.timing.total = duration
        #expect(line(record).contains(" \(text) "))
    }

    @Test(arguments: [120, 200])
    func `what stands behind a short URL ends at the right margin`(columns: Int) {
        var record = makeFullRecord()
        record.request = makeRequest("/")
        let text = line(record, columns: columns)
        #expect(text.count == columns + 1)
        #expect(
            text.hasPrefix(
                "22:41:07.123 200 6f1c0e0b GET       5.0KiB  743ms http://api.github.com/  "
            )
        )
        #expect(text.hasSuffix(" ×2 curl [everyone, github]\n"))
    }

    @Test func `a bypass stands where the rules would`() {
        var record = makeFullRecord()
        record.bypass = BypassRecord(
            sinceMicroseconds: 1,
            untilMicroseconds: 2,
            cause: "unknown_ca"
        )
        #expect(
            line(record).hasSuffix(
                " curl rules bypassed: the client refused the certificate (unknown_ca)\n"
            )
        )
    }

    @Test func `a line of another day than the one before stands below its date`() {
        var text = SummaryText(isColoured: false)
        var bytes: [UInt8] = []
        for days in [0, 0, 1, 1] as [Int64] {
            var record = makeFullRecord()
            record.startMicroseconds += days * 86_400_000_000
            let summary = RecordSummary(record, dropped: 0, redactor: makeRedactor())
            text.append(summary, to: &bytes)
        }
        let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n")
        #expect(lines.count == 5)
        #expect(lines[2] == "--- 2026-11-21")
        // Whoever knows what day it is gets the date of older lines at once.
        var late = SummaryText(isColoured: false, now: sampleStart + 86_400_000_000)
        bytes = []
        let summary = RecordSummary(makeFullRecord(), dropped: 0, redactor: makeRedactor())
        late.append(summary, to: &bytes)
        #expect(String(decoding: bytes, as: UTF8.self).hasPrefix("--- 2026-11-20\n22:41"))
    }

    @Test func `the time of day is local when asked`() {
        var bytes: [UInt8] = []
        var timestamp = TimestampText(utcOffsetSeconds: 2 * 3600)
        timestamp.append(timeOfDay: sampleStart, to: &bytes)
        #expect(String(decoding: bytes, as: UTF8.self) == "00:41:07.123")
    }
}
