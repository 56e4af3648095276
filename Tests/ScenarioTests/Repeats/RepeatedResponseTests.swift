// Responses in a series of equal requests: alike, with another Date, or no longer as they were.
import Foundation
import LupinTestKit
import Testing

struct RepeatedResponseTests {
    /// What a client asks for, and what the origin says to it each time.
    static let kinds: [(status: Int, request: [String], response: String)] = [
        (204, [], "HTTP/1.1 204 None\r\nX-A: b\r\n\r\n"),
        (304, ["If-None-Match: \"a\""], "HTTP/1.1 304 Same\r\nETag: \"a\"\r\n\r\n"),
        (304, ["If-None-Match: \"a\""], "HTTP/1.1 304 Same\r\nContent-Length: 9\r\n\r\n"),
        (404, [], EqualRequests.response(404, body: "gone")),
        (500, [], EqualRequests.response(500, body: "ill")),
        (503, [], EqualRequests.response(503, "Retry-After: 1", body: "busy")),
        (401, [], EqualRequests.response(401, "WWW-Authenticate: Basic realm=\"a\"")),
        (
            206, ["Range: bytes=0-3"],
            EqualRequests.response(206, "Content-Range: bytes 0-3/9", body: "part")
        ),
        (200, [], "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n"),
        (200, [], "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 1\r\n\r\n1"),
        (200, [], "HTTP/1.1 200 \r\nContent-Length: 1\r\nKeep-Alive: timeout=9\r\n\r\nk"),
    ]

    @Test(arguments: kinds.indices)
    func `responses of all kinds come as they came first`(kind: Int) async throws {
        let (status, fields, response) = Self.kinds[kind]
        try await ProxyFixture.run { proxy in
            let (flaky, origin) = try proxy.flaky(.say(response))
            let client = try proxy.client()
            let request = EqualRequests.request(origin.url(), fields)
            var answers: Set<String> = []
            for _ in 0..<8 {
                try client.send(request)
                var message = try client.response()
                #expect(message.status == status)
                // lupin's own is the time of day.
                message.fields.removeAll { $0.name == "Date" }
                answers.insert(message.whole)
            }
            #expect(answers.count == 1)
            #expect(flaky.asked == 8)
            #expect(origin.connections.count == 1)
            #expect(Set(try proxy.records(8).dropFirst().map(\.likeOthers)).count == 1)
        }
    }

    @Test func `a status that says nothing was done is judged each time`() async throws {
        try await ProxyFixture.run { proxy in
            let equal = try EqualRequests(proxy)
            for _ in 0..<3 {
                try equal.ask()
                try equal.connection.send(EqualRequests.response(408))
                let fresh = try equal.origin.accept()
                try fresh.request()
                try fresh.reply(200, "Connection: close", body: "again")
                #expect(try equal.client.response().bodyText == "again")
                try equal.repeatOnce()
            }
        }
    }

    /// What is not like the responses before, and how the client sees it.
    static let others: [(response: String, status: Int, body: String)] = [
        (EqualRequests.response(404, body: "good"), 404, "good"),
        (EqualRequests.response(200, "Date: \(EqualRequests.date)", body: "evil"), 200, "evil"),
        (EqualRequests.response(200, "Date: \(EqualRequests.date)", body: "longer"), 200, "longer"),
        (EqualRequests.response(200, "X-New: 1", body: "good"), 200, "good"),
        ("HTTP/1.1 200 X\r\nTransfer-Encoding: chunked\r\n\r\n4\r\ngood\r\n0\r\n\r\n", 200, "good"),
        ("HTTP/1.1 103 Hint\r\nX-H: 1\r\n\r\n" + EqualRequests.good, 200, "good"),
        ("HTTP/1.1 401 No\r\nContent-Length: 0\r\nWWW-Authenticate: Basic\r\n\r\n", 401, ""),
        ("HTTP/1.1 101 Off\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n", 502, ""),
        ("nonsense\r\n\r\n", 502, ""),
        ("HTTP/1.1 200 X\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\ngood", 502, ""),
        ("HTTP/1.1 200 X\r\nContent-Length: 4\r\nDate : Sun, 22 Nov\r\n\r\ngood", 200, "good"),
    ]

    @Test(arguments: others.indices, [false, true])
    func `one that differs is taken for what it is`(other: Int, isBytewise: Bool) async throws {
        let (text, status, body) = Self.others[other]
        try await ProxyFixture.run { proxy in
            let equal = try EqualRequests(proxy)
            try equal.ask()
            if isBytewise {
                // What is refused is not read to its end.
                try? equal.connection.sendBytewise(text)
            } else {
                try equal.connection.send(text)
            }
            let response = try equal.client.response()
            #expect(response.status == status)
            #expect(body.isEmpty || response.bodyText == body)
            #expect(response.interim.count == (text.contains(" 103 ") ? 1 : 0))
            let record = try proxy.records(EqualRequests.warmUps + 1)[EqualRequests.warmUps]
            #expect(record["http.response.status_code"] == "\(status)")
            #expect(record["outcome"] == (status == 502 ? "error" : "ok"))
            #expect(record.count("attempts") == 1)
            if status == 502 {
                #expect(try equal.askAnew("new").bodyText == "new")
            } else {
                #expect(try equal.repeatOnce().bodyText == "good")
                #expect(try equal.repeatOnce(text).bodyText == body)
                #expect(try equal.repeatOnce(text).bodyText == body)
            }
        }
    }

    @Test func `head and body may come in any pieces`() async throws {
        try await ProxyFixture.run { proxy in
            let equal = try EqualRequests(proxy)
            let bytes = Array(EqualRequests.good.utf8)
            for cut in [1, 9, 16, 17, 40, 60, bytes.count - 6, bytes.count - 4, bytes.count - 1] {
                try equal.ask()
                try equal.connection.send(Array(bytes[..<cut]))
                try proxy.settle()
                try equal.connection.send(Array(bytes[cut...]))
                #expect(try equal.client.response().bodyText == "good")
            }
            try equal.ask()
            try equal.connection.sendBytewise(EqualRequests.good)
            #expect(try equal.client.response().bodyText == "good")
            #expect(!equal.origin.hasWaiting)
        }
    }

    @Test(arguments: [0, 1])
    func `bytes behind a response are nobody's answer`(pause: Int) async throws {
        try await ProxyFixture.run { proxy in
            let equal = try EqualRequests(proxy)
            try equal.ask()
            let evil = EqualRequests.response(200, body: "evil")
            if pause == 0 {
                try equal.connection.send(EqualRequests.good + evil)
            } else {
                try equal.connection.send(EqualRequests.good)
                try equal.connection.send(evil)
            }
            #expect(try equal.client.response().bodyText == "good")
            _ = try equal.connection.waitForEnd()
            #expect(try equal.askAnew("new").bodyText == "new")
        }
    }

    @Test func `a response that nobody asked for is nobody's answer`() async throws {
        try await ProxyFixture.run { proxy in
            let equal = try EqualRequests(proxy)
            try equal.connection.send(EqualRequests.good)
            _ = try equal.connection.waitForEnd()
            #expect(try equal.askAnew("new").bodyText == "new")
        }
    }

    @Test func `an origin that says close is not asked again on that connection`() async throws {
        try await ProxyFixture.run { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            let request = EqualRequests.request(origin.url())
            let closing = EqualRequests.response(200, "Connection: close", body: "last")
            // Two on each connection, the second of which says that it is the last.
            for _ in 0..<5 {
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
}
