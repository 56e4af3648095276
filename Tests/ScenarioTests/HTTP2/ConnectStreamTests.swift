// CONNECT on a stream of HTTP/2: a tunnel beside others, and how either end of it ends the other.
import LupinTestKit
import Testing

struct ConnectStreamTests {
    /// A tunnel through a stream, and the far end of it.
    private func tunnel(
        _ proxy: ProxyFixture,
        _ client: HTTP2Client
    ) throws -> (stream: UInt32, far: OriginConnection) {
        let origin = try PlayedOrigin()
        let stream = try client.open(.connect(origin.authority))
        let far = try origin.accept()
        let response = try client.frames.head(on: stream)
        #expect(response[":status"] == "200")
        // RFC 9110 §9.3.6: no framing in the answer to a CONNECT.
        #expect(response["content-length"] == nil)
        #expect(response["transfer-encoding"] == nil)
        return (stream, far)
    }

    @Test func `bytes go both ways, and tunnels do not mix`() async throws {
        try await ProxyFixture.run { proxy in
            let client = try proxy.http2Client()
            let tunnels = try (0..<3).map { _ in try tunnel(proxy, client) }
            for (stream, _) in tunnels { try client.frames.send(.data(stream, "to \(stream)")) }
            for (stream, far) in tunnels.reversed() {
                #expect(try far.stream.text(4) == "to \(stream)")
                try far.send("from \(stream)")
            }
            for (stream, _) in tunnels {
                #expect(try client.frames.text(of: stream, exactly: 6) == "from \(stream)")
            }
            let body = BytePattern.bytes(9, 300_000)
            let sending = TestThread { try tunnels[1].far.send(body) }
            #expect(try client.frames.bytes(of: tunnels[1].stream, exactly: 300_000) == body)
            try sending.join()
        }
    }

    /// RFC 9113 §8.5: the proxy ends the stream when the connection behind it is gone.
    @Test func `a stream whose inside has ended is over for both sides`() async throws {
        let rules = """
            intercept: {mode: all}
            rules: [{match: {host: other.test}, respond: {status: 200}}]
            """
        let clock = VirtualClock()
        try await ProxyFixture.run(rules, clock: clock) { proxy in
            let client = try proxy.http2Client()
            for _ in 0..<3 {
                let stream = try client.open(.connect("origin.test:443"))
                #expect(try client.frames.head(on: stream)[":status"] == "200")
                // It is refused, and what might still come is read for a while.
                let request = "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"
                try client.frames.send(.data(stream, request))
                var text = ""
                var isOver = false
                while !isOver {
                    let part = try client.frames.part(of: stream)
                    guard case .data(_, let bytes, let ends) = part else { break }
                    text += String(decoding: bytes, as: UTF8.self)
                    isOver = ends
                }
                #expect(text.hasPrefix("HTTP/1.1 400 "))
                try clock.advance(by: .seconds(2))
                try client.frames.expectReset(stream, .noError)
            }
        }
    }

    @Test(arguments: [true, false])
    func `each direction ends by itself`(isClientFirst: Bool) async throws {
        try await ProxyFixture.run { proxy in
            let client = try proxy.http2Client()
            let (stream, far) = try tunnel(proxy, client)
            if isClientFirst {
                try client.frames.send(.data(stream, "last", end: true))
                #expect(try far.stream.text(4) == "last")
                #expect(try far.waitForEnd() == .finished)
                try far.send("more")
                #expect(try client.frames.text(of: stream, exactly: 4) == "more")
                far.close()
                try client.frames.expectEnd(of: stream)
            } else {
                try far.send("last")
                far.shutdownWrite()
                #expect(try client.frames.text(of: stream, exactly: 4) == "last")
                try client.frames.expectEnd(of: stream)
                try client.frames.send(.data(stream, "more", end: true))
                #expect(try far.stream.text(4) == "more")
                #expect(try far.waitForEnd() == .finished)
            }
            let record = try proxy.record()
            #expect(record["mode"] == "tunnel")
            #expect(record["outcome"] == "ok")
            #expect(record["network.protocol.version"] == "2")
            #expect(record["tunnel.sent"] == "4")
            #expect(record["tunnel.received"] == "4")
            #expect(record["tunnel.closed_by"] == (isClientFirst ? "client" : "upstream"))
            // Nothing of it is said on the stream any more.
            try client.frames.expectAlive()
            #expect(!client.frames.unasked.contains { $0.stream == stream && $0.isOfMessage })
        }
    }

    @Test func `a reset of the stream is one of the connection`() async throws {
        try await ProxyFixture.run { proxy in
            let client = try proxy.http2Client()
            let (stream, far) = try tunnel(proxy, client)
            try client.frames.send(.resetStream(stream))
            #expect(try far.waitForEnd() == .reset)
            try client.frames.expectAlive()
            let record = try proxy.record()
            #expect(record["outcome"] == "aborted")
            #expect(record["network.reset"] == "CANCEL")
            #expect(record["network.reset_by"] == "client")
        }
    }

    @Test func `a reset of the connection is a CONNECT_ERROR of the stream`() async throws {
        try await ProxyFixture.run { proxy in
            let client = try proxy.http2Client()
            let (stream, far) = try tunnel(proxy, client)
            try far.send("some")
            #expect(try client.frames.text(of: stream, exactly: 4) == "some")
            far.reset()
            // RFC 9113 §8.5.
            try client.frames.expectReset(stream, .connectError)
            try client.frames.expectAlive()
        }
    }

    @Test func `the end of the connection ends every tunnel`() async throws {
        try await ProxyFixture.run { proxy in
            let client = try proxy.http2Client()
            let tunnels = try (0..<3).map { _ in try tunnel(proxy, client) }
            client.close()
            for (_, far) in tunnels { #expect(try far.waitForEnd() == .reset) }
        }
    }

    @Test func `a target that refuses connections gets 502`() async throws {
        try await ProxyFixture.run { proxy in
            let origin = try PlayedOrigin()
            origin.close()
            let client = try proxy.http2Client()
            let stream = try client.open(.connect(origin.authority))
            let response = try client.response(on: stream)
            #expect(response.status == 502)
            #expect(response["proxy-status"]?.contains("error=connection_refused") == true)
            try client.frames.expectAlive()
        }
    }

    @Test func `a target that access denies gets 403`() async throws {
        let rules = "access: {deny_targets: [\"denied.test\"]}"
        try await ProxyFixture.run(rules, resolve: ProxyFixture.here) { proxy in
            let client = try proxy.http2Client()
            let stream = try client.open(.connect("denied.test:443"))
            #expect(try client.response(on: stream).status == 403)
            #expect(try proxy.record()["outcome"] == "denied")
        }
    }

    @Test(arguments: ["a.test", "a.test:0", "a.test:99999", ":443"])
    func `a target without host or port is refused`(target: String) async throws {
        try await ProxyFixture.run { proxy in
            let client = try proxy.http2Client()
            let stream = try client.open(.connect(target))
            let reaction = try client.frames.reaction(wanting: "a refusal", resetOf: stream) {
                event in
                guard case .fields(stream, let fields, _) = event else { return nil }
                guard fields[":status"] == "400" else {
                    throw SocketFailure("\(fields.lines)")
                }
                return .reset(.protocolError)
            }
            #expect(reaction == .reset(.protocolError))
            try client.frames.expectAlive()
        }
    }
}
