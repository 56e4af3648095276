// The Date of responses that are alike but for it: always the one that is due.
import Foundation
import LupinCore
import LupinTestKit
import Testing

struct RepeatedDateTests {
    private static func dated(_ date: String) -> String {
        EqualRequests.response(200, "Date: \(date)", body: "good")
    }

    @Test func `the origin's is passed on as it changes`() async throws {
        try await ProxyFixture.run { proxy in
            let equal = try EqualRequests(proxy)
            for i in 0..<6 {
                let date = "Mon, 23 Nov 2026 09:3\(i / 2):0\(i) GMT"
                for _ in 0..<2 {
                    #expect(try equal.repeatOnce(Self.dated(date)).values("Date") == [date])
                }
            }
            #expect(try equal.repeatOnce().values("Date") == [EqualRequests.date])
        }
    }

    @Test func `lupin's own is the time of day`() async throws {
        try await ProxyFixture.run { proxy in
            let equal = try EqualRequests(proxy, EqualRequests.response(200, body: "good"))
            let format = DateFormatter()
            format.locale = Locale(identifier: "en_US_POSIX")
            format.dateFormat = "EEE, dd MMM yyyy HH:mm:ss zzz"
            var seen: Set<String> = []
            try eventually("another second") {
                guard let text = try? equal.repeatOnce()["Date"] else { return false }
                seen.insert(text)
                let age = format.date(from: text)?.timeIntervalSinceNow ?? 100
                #expect(abs(age) < 2)
                return seen.count > 1
            }
        }
    }

    /// Dates that are like no other, and whether the response is refused.
    static let odd: [(line: String, isRefused: Bool)] = [
        ("Date: Sun, 22 Nov 2026 09:30:00 GM", false), ("Date: soon", false), ("Date:", false),
        ("Date: Sun, 22 Nov 2026 09:30:00 GMT+01", false),
        ("Date: \(EqualRequests.date)\r\nDate: \(EqualRequests.date)", false),
        ("Date: \(EqualRequests.date)\r\nDate: soon", false),
        ("dATE: \(EqualRequests.date)", false), ("Date:\(EqualRequests.date)", false),
        ("Date: Sun, 22 Nov 2026 09:30:00 \u{E9}", false),
        ("Date: Sun, 22 Nov 2026 09:30:00 G\0T", true),
        ("Date: Sun, 22 Nov 2026\r09:30:00 GMT", true),
        ("Date: Sun, 22 Nov 2026\n09:30:00 GMT", false),
        ("Date: Sun, 22 Nov 2026\r\n9:30:00 GMT", false),
        ("Date: Sun, 22 Nov 2026\r\n : 30:00 GMT", false),
        ("Date: Sun, 22 Nov 2026\r\n\r\n:30:00GMT", false),
        ("Date: Sun, 22 Nov 2026\u{7F}09:30:00 GMT", false),
        ("Date: Sun, 22 Nov 2026\u{1B}09:30:00 GMT", false),
        ("Date : Sun, 22 Nov 2026 09:30:00 GM", false),
        ("Date: Sun, 22 Nov 2026 09:30:00 GM ", false),
        ("Date: 22, Sun Nov 2026 09:30:00 GMT", false),
    ]

    /// What a client sees of a response with that line, which it gets in one piece and then FIN.
    private static func outcome(
        _ proxy: ProxyFixture,
        _ line: String,
        isWarm: Bool
    ) throws -> String {
        let origin = try PlayedOrigin()
        let client = try proxy.client()
        let request = EqualRequests.request("http://\(origin.authority)/")
        var connection: OriginConnection?
        for _ in 0..<(isWarm ? 5 : 1) {
            try client.send(request)
            let now = try connection ?? origin.accept()
            connection = now
            try now.request()
            try now.send(EqualRequests.good)
            try client.response()
        }
        let before = client.stream.receivedCount
        try client.send(request)
        try connection?.request()
        try connection?.send("HTTP/1.1 200 X\r\nContent-Length: 4\r\n\(line)\r\n\r\ngood")
        _ = try? client.response()
        let bytes = Array(client.stream.received[before...])
        let text = String(decoding: bytes, as: UTF8.self)
            .replacing(origin.authority, with: "ORIGIN")
            .replacing(/(Lupin-Id:|explain) [0-9a-f]+/, with: "ID")
        // Of lupin's own there is no more to see than that it is there.
        let isOwn = !line.lowercased().contains("date") || text.hasPrefix("HTTP/1.1 502")
        return isOwn ? text.replacing(/Date: [^\r]*/, with: "Date: own") : text
    }

    @Test(arguments: odd.indices)
    func `odd ones are read as an ordinary exchange reads them`(row: Int) async throws {
        let (line, isRefused) = Self.odd[row]
        try await ProxyFixture.run { proxy in
            let ordinary = try Self.outcome(proxy, line, isWarm: false)
            let repeated = try Self.outcome(proxy, line, isWarm: true)
            #expect(repeated == ordinary)
            #expect(ordinary.hasPrefix("HTTP/1.1 502 ") == isRefused)
        }
    }

    /// Dates of which a reader of lines sees one, and a client more or another.
    static let doubtful = [
        "Date: DATE\r\n (about)", "Date:soon\r\nDate: DATE", "Date: DATE\r\nDate:soon",
        "Connection: Date\r\nDate: DATE", "X: y\r\n Date: DATE",
        "Date: DATE\r\n ",
    ]

    @Test(arguments: doubtful)
    func `one that is not the whole of it is not taken for it`(line: String) async throws {
        try await ProxyFixture.run { proxy in
            func response(_ minute: Int) -> String {
                let date = "Sun, 06 Nov 1994 09:3\(minute):00 GMT"
                return EqualRequests.response(
                    200,
                    line.replacing("DATE", with: date),
                    body: "good"
                )
            }
            let equal = try EqualRequests(proxy, response(0))
            for minute in [0, 1, 2] {
                let seen = try equal.repeatOnce(response(minute))
                // A year that is over: lupin's own Date may stand beside it.
                #expect(!seen.whole.contains("1994 09:30") || minute == 0)
                let isHidden = line.hasPrefix("Connection")
                #expect(seen.whole.contains("1994 09:3\(minute)") != isHidden)
            }
        }
    }
}
