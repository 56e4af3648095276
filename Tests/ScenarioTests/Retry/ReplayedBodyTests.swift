// A body that is sent again is the same body: byte by byte, with its trailers, or not at all.
import Foundation
import LupinTestKit
import Synchronization
import Testing

struct ReplayedBodyTests {
    private static let kept = "retry: {use: standard, backoff: none, replay_spill: 0}"
    private static let spilled = "retry: {use: standard, backoff: none, replay_spill: 1MiB}"
    static let sizes = [0, 1, 64 << 10, (256 << 10) - 1, 256 << 10]
    static let spilledSizes = [(256 << 10) + 1, 1 << 20, (1 << 20) + 1, (1280 << 10)]

    /// Sends a PUT to an origin that answers 503 to the first one: its bodies as they came.
    private func put(
        _ count: Int,
        isChunked: Bool,
        _ rules: String
    ) async throws -> (requests: [ScriptedMessage], status: Int, record: RecordLine) {
        let result = Mutex<([ScriptedMessage], Int, String)>(([], 0, ""))
        try await ProxyFixture.run(rules) { proxy in
            let (flaky, origin) = try proxy.flaky(.status(503), .good)
            let client = try proxy.client()
            let body = LongBody.bytes(count)
            if isChunked {
                try client.send(
                    "PUT",
                    origin.url(),
                    ["Transfer-Encoding: chunked", "Trailer: X-Sum"]
                )
                try client.send(Array(LongBody.chunked(body).dropLast(2)))
                try client.send("X-Sum: 77\r\n\r\n")
            } else {
                try client.send("PUT", origin.url(), ["Content-Length: \(count)"])
                try client.send(body)
            }
            let status = try client.response(to: "PUT").status
            let text = try proxy.record().text
            result.withLock { $0 = (flaky.requests, status, text) }
        }
        let (requests, status, text) = result.withLock { $0 }
        return (requests, status, try #require(RecordLine(text)))
    }

    @Test(arguments: sizes, [false, true])
    func `what fits in memory`(count: Int, isChunked: Bool) async throws {
        let (requests, status, record) = try await put(
            count,
            isChunked: isChunked,
            everywhere(Self.kept)
        )
        #expect(status == 200)
        try #require(requests.count == 2)
        #expect(requests[1].body == LongBody.bytes(count))
        #expect(requests[0].body == requests[1].body)
        #expect(requests[1].trailer("X-Sum") == requests[0].trailer("X-Sum"))
        if isChunked { #expect(requests[1].trailer("X-Sum") == "77") }
        #expect(record["attempts.0.replayable"] == nil)
        #expect(record["http.request.body.size"] == "\(count)")
    }

    @Test(arguments: spilledSizes, [false, true])
    func `what goes into a file`(count: Int, isChunked: Bool) async throws {
        let (requests, status, record) = try await put(
            count,
            isChunked: isChunked,
            everywhere(Self.spilled)
        )
        #expect(status == 200)
        try #require(requests.count == 2)
        #expect(requests[1].body == LongBody.bytes(count))
        #expect(requests[1].trailer("X-Sum") == (isChunked ? "77" : nil))
        #expect(record["attempts.0.replayable"] == nil)
    }

    @Test(
        arguments: [((256 << 10) + 1, kept), (1 << 20, kept), ((1280 << 10) + 1, spilled)],
        [false, true]
    )
    func `what outgrows both is sent once, whole`(
        row: (count: Int, rules: String),
        isChunked: Bool
    ) async throws {
        let (requests, status, record) = try await put(
            row.count,
            isChunked: isChunked,
            everywhere(row.rules)
        )
        #expect(status == 503)
        try #require(requests.count == 1)
        #expect(requests[0].body == LongBody.bytes(row.count))
        #expect(requests[0].trailer("X-Sum") == (isChunked ? "77" : nil))
        #expect(record["attempts.0.replayable"] == "0")
        #expect(record["attempts.0.reason"] == "the body was not kept")
    }

    @Test func `the memory of all replays is bounded`() async throws {
        let rules = everywhere(Self.kept, "limits: {replay_memory: 64KiB}")
        let (requests, status, record) = try await put((64 << 10) + 1, isChunked: false, rules)
        #expect(status == 503)
        #expect(requests.map(\.body) == [LongBody.bytes((64 << 10) + 1)])
        #expect(record["attempts.0.replayable"] == "0")
        let fitting = try await put(64 << 10, isChunked: false, rules)
        #expect(fitting.status == 200)
    }

    @Test func `what was kept is given back`() async throws {
        let rules = everywhere(Self.kept, "limits: {replay_memory: 64KiB}")
        try await ProxyFixture.run(rules) { proxy in
            let client = try proxy.client()
            let body = String(repeating: "x", count: 60_000)
            // Each of them fills the memory, so each has to give it back.
            for _ in 0..<4 {
                let (flaky, origin) = try proxy.flaky(.reset, .status(503), .good)
                try client.send("PUT", origin.url(), body: body)
                #expect(try client.response(to: "PUT").status == 200)
                #expect(flaky.requests.map(\.body.count) == [60_000, 60_000, 60_000])
            }
        }
    }

    @Test func `where memory is full a file takes over`() async throws {
        let rules = everywhere(Self.spilled, "limits: {replay_memory: 64KiB}")
        let (requests, status, _) = try await put(300_000, isChunked: false, rules)
        #expect(status == 200)
        #expect(requests.map(\.body) == [LongBody.bytes(300_000), LongBody.bytes(300_000)])
    }

    @Test func `files leave nothing behind, and have no name meanwhile`() async throws {
        let folder = NSTemporaryDirectory() + "lupin-spill-\(UUID().uuidString)"
        try FileManager.default.createDirectory(
            atPath: folder,
            withIntermediateDirectories: true
        )
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try await ProxyFixture.run(
            everywhere(Self.spilled),
            environment: ["TMPDIR": folder]
        ) { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            let body = LongBody.bytes(600_000)
            try client.send("PUT", origin.url(), ["Content-Length: \(body.count)"])
            let sending = TestThread { try client.send(body) }
            let first = try origin.accept()
            #expect(try first.request().body == body)
            try sending.join()
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder).isEmpty)
            #expect(openFiles(below: folder).count == 1)
            first.reset()
            let second = try origin.accept()
            #expect(try second.request().body == body)
            try second.reply(body: "good")
            #expect(try client.response(to: "PUT").bodyText == "good")
            _ = try proxy.record()
            try eventually("the file's end") { openFiles(below: folder).isEmpty }
        }
    }

    @Test(arguments: [false, true])
    func `a body that was half there goes on behind what was kept`(isChunked: Bool) async throws {
        try await ProxyFixture.run(everywhere(Self.kept)) { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            let framing = isChunked ? "Transfer-Encoding: chunked" : "Content-Length: 10"
            try client.send("PUT", origin.url(), [framing])
            try client.send(isChunked ? "4\r\n0123\r\n" : "0123")
            let first = try origin.accept()
            _ = try first.requestHead()
            _ = try first.stream.text(isChunked ? 9 : 4)
            first.reset()
            let second = try origin.accept()
            var request = try second.requestHead()
            try client.send(isChunked ? "6\r\n456789\r\n0\r\nX-Sum: 7\r\n\r\n" : "456789")
            try second.stream.body(of: &request)
            #expect(request.bodyText == "0123456789")
            if isChunked { #expect(request.trailer("X-Sum") == "7") }
            try second.reply(body: "good")
            #expect(try client.response(to: "PUT").bodyText == "good")
        }
    }

    @Test func `an origin that stops reading and breaks gets it whole the second time`()
        async throws
    {
        let rules = everywhere(Self.spilled)
        try await ProxyFixture.run(rules) { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            let body = LongBody.bytes(1 << 20)
            try client.send("PUT", origin.url(), ["Content-Length: \(body.count)"])
            let sending = TestThread { try client.send(body) }
            let first = try origin.accept()
            first.stream.socket.narrow()
            _ = try first.requestHead()
            _ = try first.stream.bytes(1000)
            first.reset()
            let second = try origin.accept()
            #expect(try second.request().body == body)
            try second.reply(body: "good")
            #expect(try client.response(to: "PUT").bodyText == "good")
            try sending.join()
        }
    }

    @Test(arguments: [0, 1, 100_000, 256 << 10])
    func `a stream's body and trailers`(count: Int) async throws {
        try await ProxyFixture.run(everywhere(Self.kept)) { proxy in
            let (flaky, origin) = try proxy.flaky(.reset, .good)
            let client = try proxy.http2Client()
            let body = LongBody.bytes(count)
            let response = try client.send(
                .request("PUT", authority: origin.authority),
                body: body,
                trailers: ["x-sum": "7"]
            )
            #expect(try client.response(on: response, to: "PUT").bodyText == "good")
            try #require(flaky.asked == 2)
            #expect(flaky.requests.allSatisfy { $0.body == body })
            #expect(flaky.requests.allSatisfy { $0.trailer("x-sum") == "7" })
        }
    }

    @Test func `an early answer that is tried again takes the body from its beginning`()
        async throws
    {
        try await ProxyFixture.run(everywhere(Self.kept)) { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            try client.send("PUT", origin.url(), ["Content-Length: 8"])
            try client.send("half")
            let first = try origin.accept()
            _ = try first.requestHead()
            #expect(try first.stream.text(4) == "half")
            try first.reply(503)
            let second = try origin.accept()
            _ = try second.requestHead()
            #expect(try second.stream.text(4) == "half")
            try client.send("full")
            #expect(try second.stream.text(4) == "full")
            try second.reply(body: "good")
            #expect(try client.response(to: "PUT").bodyText == "good")
        }
    }
}
