// How requests on streams that are equal come to another end: resets, windows, failures, a stop.
import LupinTestKit
import Testing

struct StreamForwardEndTests {
    private static let warmUps = EqualStreams.warmUps

    @Test func `a client that resets its stream is an abort`() async throws {
        try await ProxyFixture.run { proxy in
            let equal = try EqualStreams(proxy)
            let stream = try equal.ask()
            try equal.client.frames.send(.resetStream(stream))
            let record = try proxy.records(Self.warmUps + 1)[Self.warmUps]
            #expect(record["outcome"] == "aborted")
            #expect(record["network.reset"] == "CANCEL")
            #expect(record["network.reset_by"] == "client")
            #expect(record["network.stream"] == "\(stream)")
            // What the origin still says is for nobody.
            _ = try equal.connection.waitForEnd()
            #expect(try equal.askAnew("new").bodyText == "new")
        }
    }

    @Test func `a client that leaves is an abort`() async throws {
        try await ProxyFixture.run { proxy in
            let equal = try EqualStreams(proxy)
            _ = try equal.ask()
            let beside = try equal.askBeside()
            equal.client.close()
            let records = try proxy.records(Self.warmUps + 2)[Self.warmUps...]
            #expect(records.map { $0["outcome"] } == ["aborted", "aborted"])
            for far in [equal.connection, beside] { _ = try far.waitForEnd() }
        }
    }

    @Test(arguments: [0, 1, 3])
    func `a body waits for its window`(window: UInt32) async throws {
        try await ProxyFixture.run { proxy in
            let equal = try EqualStreams(proxy)
            let slow = try proxy.http2Client([.initialWindowSize(window)], manners: .none)
            try slow.frames.send(.settingsAcknowledgement)
            let stream = try equal.ask(by: slow)
            try equal.connection.send(EqualStreams.good)
            let head = try slow.frames.head(on: stream)
            #expect(head[":status"] == "200")
            let begun = try slow.frames.text(of: stream, exactly: Int(window))
            try slow.frames.send(.windowUpdate(stream, 2))
            let more = try slow.frames.text(of: stream, exactly: min(2, 4 - Int(window)))
            try slow.frames.send(.windowUpdate(stream, 9))
            let rest = try slow.frames.text(of: stream, exactly: 4 - begun.count - more.count)
            #expect(begun + more + rest == "good")
            let record = try proxy.records(Self.warmUps + 1)[Self.warmUps]
            #expect(record["outcome"] == "ok")
            #expect(record["http.response.body.size"] == "4")
            #expect(record["network.stream"] == "\(stream)")
            #expect(record["bytes.upstream_in"] != "0")
        }
    }

    @Test func `a stream that is reset while its body waits is an abort`() async throws {
        try await ProxyFixture.run { proxy in
            let equal = try EqualStreams(proxy)
            let slow = try proxy.http2Client([.initialWindowSize(1)])
            let stream = try equal.ask(by: slow)
            try equal.connection.send(EqualStreams.good)
            _ = try slow.frames.head(on: stream)
            _ = try slow.frames.text(of: stream, exactly: 1)
            try slow.frames.send(.resetStream(stream))
            let record = try proxy.records(Self.warmUps + 1)[Self.warmUps]
            #expect(record["outcome"] == "aborted")
            #expect(record["network.reset_by"] == "client")
            #expect(try equal.askAnew("new").bodyText == "new")
        }
    }

    @Test func `resets of such streams are counted`() async throws {
        let limit = 20
        try await ProxyFixture.run("limits: {h2: {resets: \(limit)/30s}}") { proxy in
            let origin = try proxy.measuredOrigin()
            let head = HTTP2Fields.request(authority: origin.authority, path: "/1")
            let client = try proxy.http2Client()
            for _ in 0..<6 { #expect(try client.request(head).body.count == 1) }
            for i in 0..<UInt32(2 * limit) {
                let stream = 13 + 2 * i
                client.frames.sendAnyway(.headers(stream, head, end: true))
                client.frames.sendAnyway(.resetStream(stream))
            }
            try client.frames.expectCalm()
            let innocent = try proxy.http2Client()
            for _ in 0..<6 { #expect(try innocent.request(head).body.count == 1) }
        }
    }

    @Test(arguments: [false, true])
    func `a connection that ends instead of a response is repaired`(
        isReset: Bool
    ) async throws {
        try await ProxyFixture.run { proxy in
            let equal = try EqualStreams(proxy)
            let stream = try equal.ask()
            if isReset { equal.connection.reset() } else { equal.connection.close() }
            let fresh = try equal.origin.accept()
            #expect(try fresh.request().target == "/same")
            try fresh.reply(body: "new")
            #expect(try equal.client.response(on: stream).bodyText == "new")
            let record = try proxy.records(Self.warmUps + 1)[Self.warmUps]
            #expect(record["outcome"] == "ok")
            #expect(record["attempts.0.reason"] == "stale-connection")
        }
    }

    @Test func `a body that breaks off resets the stream`() async throws {
        try await ProxyFixture.run { proxy in
            let equal = try EqualStreams(proxy)
            let stream = try equal.ask()
            try equal.connection.send(String(EqualStreams.good.dropLast(2)))
            try proxy.settle()
            equal.connection.close()
            #expect(try equal.client.response(on: stream).reset == .internalError)
            let record = try proxy.records(Self.warmUps + 1)[Self.warmUps]
            #expect(record["outcome"] == "truncated")
            #expect(try equal.askAnew("new").bodyText == "new")
        }
    }

    @Test func `a slow answer is an ordinary one`() async throws {
        let clock = VirtualClock()
        try await ProxyFixture.run("timeouts: {response_header: 30s}", clock: clock) { proxy in
            let equal = try EqualStreams(proxy)
            let late = try equal.ask()
            for _ in 0..<5 { try clock.advance(by: .milliseconds(50)) }
            try equal.connection.send(EqualStreams.good)
            #expect(try equal.client.response(on: late).bodyText == "good")
            let never = try equal.ask()
            for _ in 0..<16 { try clock.advance(by: .seconds(2)) }
            #expect(try equal.client.response(on: never).status == 504)
            let records = try proxy.records(Self.warmUps + 2)
            #expect(records[Self.warmUps]["outcome"] == "ok")
            #expect(try #require(records[Self.warmUps].number("timing.total")) >= 250)
            #expect(records[Self.warmUps + 1]["error.type"] == "http_response_timeout")
        }
    }

    @Test func `the client's GOAWAY leaves what is under way`() async throws {
        try await ProxyFixture.run { proxy in
            let equal = try EqualStreams(proxy)
            let stream = try equal.ask()
            try equal.client.frames.send(.goAway())
            try equal.connection.send(EqualStreams.good)
            #expect(try equal.client.response(on: stream).bodyText == "good")
        }
    }

    @Test func `a stop waits for what is under way`() async throws {
        try await ProxyFixture.run { proxy in
            let equal = try EqualStreams(proxy)
            let stream = try equal.ask()
            let stopping = try proxy.beginDraining()
            try equal.client.frames.expectGoAway(.noError)
            try equal.connection.send(EqualStreams.good)
            #expect(try equal.client.response(on: stream).bodyText == "good")
            _ = try equal.client.frames.waitForEnd()
            await stopping.value
            #expect(try proxy.records(Self.warmUps + 1).allSatisfy { $0["outcome"] == "ok" })
        }
    }

    @Test func `at the end of a stop it is cut`() async throws {
        let clock = VirtualClock()
        try await ProxyFixture.run("timeouts: {drain: 5s}", clock: clock) { proxy in
            let equal = try EqualStreams(proxy)
            let stream = try equal.ask()
            let stopping = try proxy.beginDraining()
            try equal.client.frames.expectGoAway(.noError)
            clock.push(by: .milliseconds(5100))
            #expect(try equal.client.response(on: stream).status == 503)
            _ = try equal.connection.waitForEnd()
            await stopping.value
        }
    }

    @Test func `other rules hold for the next request`() async throws {
        try await ProxyFixture.run { proxy in
            let equal = try EqualStreams(proxy)
            _ = try await proxy.reload(everywhere("respond: {status: 418}"))
            #expect(try equal.client.request(equal.head).status == 418)
            #expect(!equal.origin.hasWaiting)
        }
    }
}

extension EqualStreams {
    /// Has one more request come to the origin while the connection is taken.
    fileprivate func askBeside() throws -> OriginConnection {
        _ = try client.send(head)
        let other = try origin.accept()
        try other.request()
        return other
    }
}
