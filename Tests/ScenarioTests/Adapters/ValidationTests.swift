// Responses that are not what a rule demands: refused, asked for again, or only noted.
import LupinCoding
import LupinCore
import LupinTestKit
import Synchronization
import Testing

struct ValidationTests {
    /// A demand and a response that does not meet it.
    struct Row: Sendable, CustomTestStringConvertible {
        let demand: String
        let status: Int
        let fields: [String]
        let body: String
        let sentence: String

        var testDescription: String { demand }
        var bad: String {
            (["HTTP/1.1 \(status) X", "Content-Length: \(body.utf8.count)"] + fields)
                .joined(separator: "\r\n") + "\r\n\r\n" + body
        }
    }

    static let rows = [
        Row(
            demand: "status: 200-299",
            status: 404,
            fields: [],
            body: "gone",
            sentence: "status 404 is not in 200-299"
        ),
        Row(
            demand: "content_type: accept",
            status: 200,
            fields: ["Content-Type: text/html"],
            body: "<p>",
            sentence: "text/html"
        ),
        Row(
            demand: "content_type: [application/json]",
            status: 200,
            fields: [],
            body: "[]",
            sentence: "there is no Content-Type"
        ),
        Row(
            demand: "header: {X-Ok: \"yes\"}",
            status: 200,
            fields: ["X-Ok: no"],
            body: "x",
            sentence: "no value of X-Ok is an expected one"
        ),
        Row(
            demand: "size: {max: 4B}",
            status: 200,
            fields: [],
            body: "12345",
            sentence: "5"
        ),
        Row(
            demand: "json: {/ok: true}",
            status: 200,
            fields: ["Content-Type: application/json"],
            body: #"{"ok":false}"#,
            sentence: "/ok"
        ),
    ]

    private static let good =
        head(
            "HTTP/1.1 200 OK",
            "Content-Type: application/json",
            "X-Ok: yes",
            "Content-Length: 11"
        ) + #"{"ok":true}"#

    private static func rules(_ demand: String, then action: String) -> String {
        "rules:\n  - {name: v, match: {path: /**}, validate: {\(demand), then: \(action)}}"
    }

    private func exchange(
        _ row: Row,
        then action: String,
        _ answers: [String]
    ) async throws -> (response: ScriptedMessage, record: RecordLine, asked: Int) {
        let box = Box()
        try await ProxyFixture.run(Self.rules(row.demand, then: action)) { proxy in
            let origin = try proxy.origin { connection in
                while try connection.nextRequest() != nil {
                    try connection.send(box.next(of: answers))
                }
            }
            let response = try proxy.client().get(origin.url(), "Accept: application/json")
            box.set(response, line: try proxy.record().text)
        }
        return (try #require(box.response), try #require(box.record), box.asked)
    }

    @Test func `a throttled upload goes on while the response is held`() async throws {
        let rules = """
            rules:
              - name: v
                match: {path: /**}
                throttle: {up: 64KiB/s}
                validate: {json: {/ok: true}}
            """
        try await ProxyFixture.run(rules) { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            let body = [UInt8](repeating: 0x61, count: 160 << 10)
            try client.send("POST", origin.url(), ["Content-Length: \(body.count)"])
            let sending = TestThread { try client.send(body) }
            let connection = try origin.accept()
            _ = try connection.requestHead()
            try connection.send(String(Self.good.dropLast(2)))
            #expect(try connection.stream.bytes(body.count) == body)
            try connection.send(String(Self.good.suffix(2)))
            #expect(try client.response(to: "POST").bodyText == #"{"ok":true}"#)
            try sending.join()
        }
    }

    @Test(arguments: rows)
    func `fail leaves the client a 502 that says why`(_ row: Row) async throws {
        let (response, record, asked) = try await exchange(row, then: "fail", [row.bad])
        #expect(response.status == 502)
        #expect(response.bodyText.contains(row.sentence))
        #expect(asked == 1)
        #expect(record["attempts.0.decision"] == "give-up")
        #expect(record["attempts.0.status"] == "\(row.status)")
        #expect(record["attempts.0.reason"]?.contains(row.sentence) == true)
        #expect(record["error.type"] == "proxy_internal_response")
    }

    @Test(arguments: rows)
    func `retry asks once more`(_ row: Row) async throws {
        let (response, record, asked) = try await exchange(row, then: "retry", [row.bad, row.bad])
        #expect(response.status == 502)
        #expect(asked == 2)
        #expect(record["attempts.1.why"] == "retry")
        let answers = [row.bad, Self.good]
        if row.demand.hasPrefix("size") { return }
        let (cured, _, _) = try await exchange(row, then: "retry", answers)
        #expect(cured.status == 200)
        #expect(cured.bodyText == #"{"ok":true}"#)
    }

    @Test(arguments: rows)
    func `log changes nothing for the client`(_ row: Row) async throws {
        let (response, record, asked) = try await exchange(row, then: "log", [row.bad])
        #expect(response.status == row.status)
        #expect(response.bodyText == row.body)
        #expect(asked == 1)
        #expect(record["outcome"] == "ok")
    }

    @Test(arguments: rows.filter { !$0.demand.hasPrefix("size") })
    func `what is demanded passes`(_ row: Row) async throws {
        let (response, record, _) = try await exchange(row, then: "fail", [Self.good])
        #expect(response.status == 200)
        #expect(response.bodyText == #"{"ok":true}"#)
        #expect(record.count("attempts") == 1)
    }

    @Test func `a body in two pieces is put together before it is judged`() async throws {
        let rules = Self.rules("json: {/a/ok: true}", then: "fail")
        try await ProxyFixture.run(rules) { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            for ok in [true, false] {
                try client.send("GET", origin.url())
                let connection = try origin.accept()
                try connection.request()
                let type = "Content-Type: application/problem+json"
                try connection.send(
                    head("HTTP/1.1 200 OK", type, "Connection: close", "Content-Length: 18")
                )
                try connection.send(#"{"a":{"o"#)
                try proxy.settle()
                try connection.send(#"k":\#(ok ? "true " : "false")}}"#)
                let response = try client.response()
                #expect(response.status == (ok ? 200 : 502))
                if ok { #expect(response.bodyText == #"{"a":{"ok":true }}"#) }
                connection.close()
            }
        }
    }

    @Test(arguments: ["status: 200-299", "content_type: accept", "json: {/ok: true}"])
    func `the retry policy is asked before a response is judged`(demand: String) async throws {
        let rules = """
            rules:
              - match: {path: /**}
                retry: {use: alamofire, backoff: none}
                validate: {\(demand), then: fail}
            """
        func statuses(_ answers: [String]) async throws -> [Int] {
            let box = Box()
            try await ProxyFixture.run(rules) { proxy in
                let origin = try proxy.origin { connection in
                    while try connection.nextRequest() != nil {
                        try connection.send(box.next(of: answers))
                    }
                }
                let response = try proxy.client().get(origin.url(), "Accept: application/json")
                box.set(response, line: try proxy.record().text)
            }
            return [try #require(box.response).status, box.asked]
        }
        func answer(_ status: Int) -> String {
            head("HTTP/1.1 \(status) X", "Content-Type: text/plain", "Content-Length: 1") + "x"
        }
        #expect(try await statuses([answer(503), answer(503), Self.good]) == [200, 3])
        #expect(try await statuses([answer(503)]) == [502, 3])
        #expect(try await statuses([answer(404)]) == [502, 1])
    }

    @Test func `a stream of events is refused by its head, and only noted at once`() async throws {
        for action in ["fail", "retry", "log"] {
            try await ProxyFixture.run(Self.rules("json: {/ok: true}", then: action)) { proxy in
                let origin = try proxy.origin { connection in
                    while try connection.nextRequest() != nil {
                        let type = "Content-Type: text/event-stream"
                        try connection.send(
                            head("HTTP/1.1 200 OK", type, "Transfer-Encoding: chunked")
                        )
                        // Who has refused it by its head may be gone.
                        try? connection.send("8\r\ndata: 1\n\r\n")
                    }
                }
                // It has no end: who waited for one would get nothing.
                let client = try proxy.client()
                try client.send("GET", origin.url())
                let response = try #require(try client.stream.head())
                #expect(response.status == (action == "log" ? 200 : 502))
                guard action == "log" else { return }
                #expect(try client.stream.line() == "8")
                client.close()
                let condition = try proxy.record()["validate.condition"]
                #expect(condition == "a body of text/event-stream has no end to wait for")
            }
        }
    }

    @Test(arguments: ["text/event-stream", "application/x-ndjson; charset=utf-8"])
    func `a stream is not held back for its size`(type: String) async throws {
        let rules = Self.rules("size: {min: 1B, max: 10MiB}", then: "fail")
        // The clock stands still: who waited would wait for ever.
        try await ProxyFixture.run(rules, clock: VirtualClock()) { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            try client.send("GET", origin.url())
            let connection = try origin.accept()
            try connection.request()
            try connection.send(
                head("HTTP/1.1 200 OK", "Content-Type: \(type)", "Transfer-Encoding: chunked")
            )
            try connection.send("8\r\ndata: 1\n\r\n")
            #expect(try client.stream.head()?.status == 200)
            #expect(try client.stream.text(13) == "8\r\ndata: 1\n\r\n")
            try connection.send("0\r\n\r\n")
            #expect(try client.stream.text(5) == "0\r\n\r\n")
            let note = try proxy.record()["validate.note"]
            #expect(note?.hasPrefix("size was not checked: a body of ") == true)
        }
    }

    @Test(arguments: ["status: 200-299", "status: 200-299, content_type: accept"])
    func `a 304 that the client asked for is what it gets`(demand: String) async throws {
        try await ProxyFixture.run(Self.rules(demand, then: "fail")) { proxy in
            let origin = try proxy.origin { connection in
                while try connection.nextRequest() != nil {
                    try connection.send(head("HTTP/1.1 304 Not Modified", "ETag: \"a\""))
                }
            }
            let client = try proxy.client()
            for _ in 0..<3 {
                #expect(try client.get(origin.url(), "If-None-Match: \"a\"").status == 304)
            }
            let since = "If-Modified-Since: Sat, 28 Nov 2026 08:00:00 GMT"
            #expect(try client.get(origin.url(), since).status == 304)
            #expect(try client.get(origin.url()).status == 502)
        }
    }

    @Test func `a body that is only noted is delivered as it comes`() async throws {
        try await ProxyFixture.run(Self.rules("json: {/ok: true}", then: "log")) { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            for value in ["true", "false"] {
                try client.send("GET", origin.url())
                let connection = try origin.accept()
                try connection.request()
                let lines = ["HTTP/1.1 200 OK", "Connection: close", "Transfer-Encoding: chunked"]
                try connection.send(lines.joined(separator: "\r\n") + "\r\n\r\n6\r\n{\"ok\":\r\n")
                _ = try client.stream.head()
                #expect(try client.stream.text(11) == "6\r\n{\"ok\":\r\n")
                try connection.send("\(value.utf8.count + 1)\r\n\(value)}\r\n0\r\n\r\n")
                #expect(try client.stream.line() == "\(value.utf8.count + 1)")
                _ = try client.stream.line()
                #expect(try client.stream.text(5) == "0\r\n\r\n")
                connection.close()
            }
            let records = try proxy.records(2)
            #expect(records[0]["validate.ok"] == "1")
            #expect(records[1]["validate.condition"] == "/ok is false, and true is expected")
        }
    }

    /// Bodies in which no value can be found, and what is said of them.
    static let unreadable: [(fields: [String], body: [UInt8], sentence: String)] = [
        ([], Array("<p>".utf8), "the body is not JSON"),
        ([], [], "the body is empty"),
        (
            [],
            Array((#"{"ok":true,"x":""# + String(repeating: "x", count: 300 << 10) + "\"}").utf8),
            "the body is longer than the 256 KiB that lupin inspects"
        ),
        (
            ["Content-Encoding: compress"], Array(#"{"ok":true}"#.utf8),
            "the body is coded with compress, which lupin can't undo"
        ),
        (
            ["Content-Encoding: gzip"], Array(#"{"ok":true}"#.utf8),
            "the body can't be decoded: it is not in the coding that its head names"
        ),
        (
            ["Content-Encoding: gzip"],
            Coded.gzip((0..<300 << 10).map { UInt8(truncatingIfNeeded: $0 &* $0 >> 5) }),
            "the body is longer than the 256 KiB that lupin inspects"
        ),
    ]

    @Test(arguments: unreadable.indices, ["fail", "log"])
    func `a body that can't be judged has failed`(row: Int, action: String) async throws {
        let (fields, body, sentence) = Self.unreadable[row]
        try await ProxyFixture.run(Self.rules("json: {/ok: true}", then: action)) { proxy in
            let origin = try proxy.origin { connection in
                try connection.request()
                let all = ["HTTP/1.1 200 OK", "Content-Length: \(body.count)"] + fields
                try connection.send(Array((all.joined(separator: "\r\n") + "\r\n\r\n").utf8) + body)
            }
            let response = try proxy.client().get(origin.url())
            #expect(response.status == (action == "fail" ? 502 : 200))
            if action == "fail" {
                #expect(response.bodyText.contains("is not what validate of the rule \"v\" (line "))
                #expect(response.bodyText.contains(sentence))
            } else {
                #expect(response.body == body)
            }
            let record = try proxy.record()
            #expect(record["validate.condition"] == sentence)
            #expect(record["validate.then"] == action)
        }
    }

    @Test func `a part of a body has failed, too`() async throws {
        try await ProxyFixture.run(Self.rules("json: {/ok: true}", then: "fail")) { proxy in
            let origin = try proxy.origin(
                answering: head(
                    "HTTP/1.1 206 Part",
                    "Content-Range: bytes 0-10/12",
                    "Content-Length: 11"
                ) + #"{"ok":true}"#
            )
            #expect(try proxy.client().get(origin.url(), "Range: bytes=0-10").status == 502)
            #expect(try proxy.record()["validate.condition"] == "the body is only a part (206)")
        }
    }

    @Test(
        arguments: [
            "gzip", "x-gzip", "deflate", "identity, gzip", "deflate, gzip", "br", "zstd",
        ]
    )
    func `codings are undone for the check, and the client gets the body as it came`(
        codings: String
    ) async throws {
        let plain = Array(#"{"ok":true}"#.utf8)
        let body =
            switch codings {
            case "deflate": Coded.deflate(plain)
            case "deflate, gzip": Coded.gzip(Coded.deflate(plain))
            case "br": CompressedBody.brotli(plain)
            case "zstd": CompressedBody.zstd(plain)
            default: Coded.gzip(plain)
            }
        try await ProxyFixture.run(Self.rules("json: {/ok: true}", then: "fail")) { proxy in
            let origin = try proxy.origin { connection in
                try connection.request()
                let lines = [
                    "HTTP/1.1 200 OK", "Content-Encoding: \(codings)",
                    "Content-Length: \(body.count)",
                ]
                try connection.send(
                    Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8) + body
                )
            }
            let response = try proxy.client().get(origin.url())
            #expect(response.status == 200)
            #expect(response.body == body)
            #expect(try proxy.record()["validate.ok"] == "1")
        }
    }

    @Test func `what has no body is not asked for one`() async throws {
        let rules = Self.rules("json: {/ok: true}, content_type: [application/json]", then: "fail")
        try await ProxyFixture.run(rules) { proxy in
            let origin = try proxy.origin { connection in
                while let request = try connection.nextRequest() {
                    let isHead = request.method == "HEAD"
                    try connection.send(
                        isHead
                            ? head("HTTP/1.1 200 OK", "Content-Length: 70")
                            : head("HTTP/1.1 204 None")
                    )
                }
            }
            let client = try proxy.client()
            #expect(try client.get(origin.url()).status == 204)
            try client.send("HEAD", origin.url())
            #expect(try client.response(to: "HEAD").status == 200)
        }
    }

    @Test func `a method with effects is not tried again`() async throws {
        let rules = Self.rules("status: 200-299", then: "retry")
        try await ProxyFixture.run(rules) { proxy in
            let origin = try proxy.origin(
                answering: head("HTTP/1.1 503 No", "Content-Length: 0")
            )
            let client = try proxy.client()
            try client.send("POST", origin.url(), body: "once")
            #expect(try client.response(to: "POST").status == 502)
            #expect(try proxy.record().count("attempts") == 1)
        }
    }
}

/// What one exchange came to, and how often its origin was asked.
private final class Box: Sendable {
    private struct State {
        var response: ScriptedMessage?
        var line = ""
        var asked = 0
    }

    private let state = Mutex(State())
    var response: ScriptedMessage? { state.withLock { $0.response } }
    var record: RecordLine? { RecordLine(state.withLock { $0.line }) }
    var asked: Int { state.withLock { $0.asked } }

    func set(_ response: ScriptedMessage, line: String) {
        state.withLock { state in
            state.response = response
            state.line = line
        }
    }

    func next(of answers: [String]) -> String {
        state.withLock { state in
            defer { state.asked += 1 }
            return answers[min(state.asked, answers.count - 1)]
        }
    }
}

/// Bodies in content codings.
enum Coded {
    static func gzip(_ plain: [UInt8]) -> [UInt8] { encoded(plain, .gzip) }
    static func deflate(_ plain: [UInt8]) -> [UInt8] { encoded(plain, .deflate) }

    private static func encoded(_ plain: [UInt8], _ coding: ContentCoding) -> [UInt8] {
        var bytes: [UInt8] = []
        // Compressing what is in memory fails for want of memory only.
        guard var encoder = try? ContentEncoder(coding) else { return [] }
        _ = encoder.encode(plain.span, .end, into: &bytes, room: plain.count + 1024)
        return bytes
    }
}
