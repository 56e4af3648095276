// How long lupin waits for clients of HTTP/2, by a clock that the test moves.
import LupinTestKit
import Testing

struct StreamTimeoutTests {
    @Test func `an idle connection is told to go`() async throws {
        let clock = VirtualClock()
        try await ProxyFixture.run("timeouts: {client_idle: 5s}", clock: clock) { proxy in
            let origin = try proxy.measuredOrigin()
            let head = HTTP2Fields.request(authority: origin.authority, path: "/3")
            let fresh = try proxy.http2Client()
            let used = try proxy.http2Client()
            #expect(try used.request(head).body.count == 3)
            try clock.advance(by: .milliseconds(4900))
            #expect(try used.request(head).body.count == 3)
            // Frames that ask for nothing are no reason to stay.
            try fresh.frames.expectAlive()
            for _ in 0..<2 { try clock.advance(by: .seconds(1)) }
            try fresh.frames.expectGoAway(.noError)
            #expect(try fresh.frames.waitForEnd() == .finished)
            try used.frames.expectAlive()
            for _ in 0..<5 { try clock.advance(by: .seconds(1)) }
            try used.frames.expectGoAway(.noError)
            #expect(try used.frames.waitForEnd() == .finished)
        }
    }

    @Test func `a connection with a stream is not idle`() async throws {
        let clock = VirtualClock()
        let rules = "timeouts: {client_idle: 5s, response_header: 60s}"
        try await ProxyFixture.run(rules, clock: clock) { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.http2Client()
            let stream = try client.send(.request(authority: origin.authority))
            let far = try origin.accept()
            try far.request()
            for _ in 0..<10 { try clock.advance(by: .seconds(1)) }
            try far.reply(body: "late")
            #expect(try client.response(on: stream).bodyText == "late")
            try client.frames.expectAlive()
        }
    }

    @Test func `a head that never ends does not keep the connection`() async throws {
        let clock = VirtualClock()
        try await ProxyFixture.run("timeouts: {client_idle: 5s}", clock: clock) { proxy in
            let client = try proxy.http2Client()
            let block = HPACK.block(.request(authority: "a.test"))
            let head = HTTP2Frame.headers(1, block: block, endHeaders: false)
            try client.frames.send(bytes: Array(head.bytes.dropLast()))
            try proxy.settle()
            for _ in 0..<7 { try clock.advance(by: .seconds(1)) }
            _ = try client.frames.waitForEnd()
        }
    }

    @Test func `half a preface is waited for as long as a head`() async throws {
        let clock = VirtualClock()
        let rules = "timeouts: {client_header: 5s}"
        try await ProxyFixture.run(rules, clock: clock) { proxy in
            let client = try proxy.client()
            try client.send(Array(HTTP2Frame.preface.prefix(9)))
            try proxy.settle()
            try clock.advance(by: .milliseconds(4900))
            #expect(!client.stream.socket.isClosedByPeer)
            try clock.advance(by: .milliseconds(200))
            #expect(try client.response().status == 408)
        }
    }

    @Test(arguments: [1, 9, 16, 23])
    func `a client that leaves in its preface leaves nothing`(count: Int) async throws {
        try await ProxyFixture.run { proxy in
            let client = try proxy.client()
            try client.send(Array(HTTP2Frame.preface.prefix(count)))
            try proxy.settle()
            client.shutdownWrite()
            _ = try client.stream.untilEnd()
            let other = try proxy.http2Client()
            try other.frames.expectAlive()
        }
    }

    @Test func `a preface may come byte by byte`() async throws {
        try await ProxyFixture.run { proxy in
            let origin = try proxy.measuredOrigin()
            let client = try proxy.client()
            let frames = FrameStream(client.stream.socket, to: .server, owner: client)
            for byte in HTTP2Frame.preface { try frames.send(bytes: [byte]) }
            let head = HTTP2Fields.request(authority: origin.authority, path: "/3")
            try frames.sendBytewise(.settings(), .headers(1, head, end: true))
            #expect(try frames.message(on: 1).body.count == 3)
        }
    }
}
