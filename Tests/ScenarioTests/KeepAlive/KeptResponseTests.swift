// Responses on a connection that is kept: each has its request, and the next one goes on behind it.
import Foundation
import LupinTestKit
import Testing

struct KeptResponseTests {
    @Test(arguments: [0, 20_000])
    func `equal requests get equal answers, and a record each`(size: Int) async throws {
        try await ProxyFixture.run { proxy in
            let body = String(decoding: LongBody.bytes(size).map { $0 & 0x7F }, as: UTF8.self)
            let date = "Date: \(KeptConnection.date)"
            let answer = KeptConnection.response(200, "X-Kind: one", date, body: body)
            let (flaky, origin) = try proxy.flaky(.say(answer))
            let clients = try (0..<3).map { _ in try proxy.client() }
            let request = KeptConnection.request(
                origin.url("/a?b"),
                ["Connection: X-Own", "X-Own: 1", "Proxy-Connection: keep-alive", "Accept: */*"]
            )
            var answers: Set<String> = []
            for i in 0..<9 {
                let client = clients[i % 3]
                try client.send(request)
                answers.insert(try client.response().whole)
            }
            #expect(answers.count == 1)
            #expect(answers.first?.hasSuffix("\n\n\(body)") == true)
            #expect(answers.first?.contains("\nVia: 1.1 ") == true)
            #expect(Set(flaky.requests.map(\.whole)).count == 1)
            let first = try #require(flaky.requests.first)
            #expect(flaky.asked == 9)
            #expect(first.startLine == "GET /a?b HTTP/1.1")
            #expect(first.names == ["Host", "Accept", "Via"])
            try check(try proxy.records(9), origin, size)
        }
    }

    private func check(_ records: [RecordLine], _ origin: ScriptedOrigin, _ size: Int) throws {
        #expect(Set(records.compactMap { $0["id"] }).count == 9)
        #expect(Set(records.compactMap { $0["client.port"] }).count == 3)
        #expect(records.map { $0["ts"] ?? "" } == records.compactMap { $0["ts"] }.sorted())
        for record in records {
            #expect(record["outcome"] == "ok")
            #expect(record["http.response.status_code"] == "200")
            #expect(record["http.response.body.size"] == "\(size)")
            #expect(record["url.full"] == origin.url("/a?b"))
            #expect(record.count("attempts") == 1)
            #expect(record["attempts.0.peer"] == origin.authority)
            #expect(record["attempts.0.status"] == "200")
            let total = try #require(record.number("timing.total"))
            #expect(total >= record.number("attempts.0.timing.wait") ?? .infinity)
            for name in ["client_in", "client_out", "upstream_in", "upstream_out"] {
                #expect(record["bytes.\(name)"] == records[0]["bytes.\(name)"])
            }
        }
    }

    /// What is not like the response before, and how the client sees it.
    static let others: [(response: String, status: Int, body: String)] = [
        (KeptConnection.response(404, body: "good"), 404, "good"),
        (
            KeptConnection.response(200, "Date: \(KeptConnection.date)", body: "longer"), 200,
            "longer"
        ),
        ("HTTP/1.1 200 X\r\nTransfer-Encoding: chunked\r\n\r\n4\r\ngood\r\n0\r\n\r\n", 200, "good"),
        ("HTTP/1.1 103 Hint\r\nX-H: 1\r\n\r\n" + KeptConnection.good, 200, "good"),
        ("HTTP/1.1 101 Off\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n", 502, ""),
        ("nonsense\r\n\r\n", 502, ""),
        ("HTTP/1.1 200 X\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\ngood", 502, ""),
    ]

    @Test(arguments: others.indices)
    func `one that differs is taken for what it is`(other: Int) async throws {
        let (text, status, body) = Self.others[other]
        try await ProxyFixture.run { proxy in
            let kept = try KeptConnection(proxy)
            try kept.ask()
            try kept.connection.send(text)
            let response = try kept.client.response()
            #expect(response.status == status)
            #expect(body.isEmpty || response.bodyText == body)
            #expect(response.interim.count == (text.contains(" 103 ") ? 1 : 0))
            let record = try proxy.records(KeptConnection.served + 1)[KeptConnection.served]
            #expect(record["http.response.status_code"] == "\(status)")
            #expect(record["outcome"] == (status == 502 ? "error" : "ok"))
            #expect(record.count("attempts") == 1)
            if status == 502 {
                #expect(try kept.askAnew("new").bodyText == "new")
            } else {
                #expect(try kept.repeatOnce().bodyText == "good")
                #expect(try kept.repeatOnce(text).bodyText == body)
            }
        }
    }

    @Test func `head and body may come in any pieces`() async throws {
        try await ProxyFixture.run { proxy in
            let kept = try KeptConnection(proxy)
            let bytes = Array(KeptConnection.good.utf8)
            for cut in [1, 17, bytes.count - 4, bytes.count - 1] {
                try kept.ask()
                try kept.connection.send(Array(bytes[..<cut]))
                try proxy.settle()
                try kept.connection.send(Array(bytes[cut...]))
                #expect(try kept.client.response().bodyText == "good")
            }
            try kept.ask()
            try kept.connection.sendBytewise(KeptConnection.good)
            #expect(try kept.client.response().bodyText == "good")
            #expect(!kept.origin.hasWaiting)
        }
    }

    @Test func `an origin that says close is not asked again on that connection`() async throws {
        try await ProxyFixture.run { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            let request = KeptConnection.request(origin.url())
            let closing = KeptConnection.response(200, "Connection: close", body: "last")
            // Two on each connection, the second of which says that it is the last.
            for _ in 0..<2 {
                try client.send(request)
                let connection = try origin.accept()
                try connection.request()
                try connection.reply(body: "first")
                #expect(try client.response().bodyText == "first")
                try client.send(request)
                try connection.request()
                try connection.send(closing)
                #expect(try client.response().bodyText == "last")
                // lupin closes too, and does not wait for the origin.
                _ = try connection.waitForEnd()
            }
        }
    }

    private static func dated(_ date: String) -> String {
        KeptConnection.response(200, "Date: \(date)", body: "good")
    }

    @Test func `the origin's Date is passed on as it changes`() async throws {
        try await ProxyFixture.run { proxy in
            let kept = try KeptConnection(proxy)
            for i in 0..<3 {
                let date = "Mon, 23 Nov 2026 09:30:0\(i) GMT"
                for _ in 0..<2 {
                    #expect(try kept.repeatOnce(Self.dated(date)).values("Date") == [date])
                }
            }
            #expect(try kept.repeatOnce().values("Date") == [KeptConnection.date])
        }
    }

    @Test func `lupin's own Date is the time of day`() async throws {
        try await ProxyFixture.run { proxy in
            let kept = try KeptConnection(proxy, KeptConnection.response(200, body: "good"))
            let format = DateFormatter()
            format.locale = Locale(identifier: "en_US_POSIX")
            format.dateFormat = "EEE, dd MMM yyyy HH:mm:ss zzz"
            let text = try #require(try kept.repeatOnce()["Date"])
            let age = format.date(from: text)?.timeIntervalSinceNow ?? 100
            #expect(abs(age) < 10)
        }
    }
}
