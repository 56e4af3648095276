// What a client shows inside a CONNECT stream is judged as it is inside a connection.
import LupinTestKit
import Testing

struct ConnectNameTests {
    private static let list = """
        rules:
          - name: list
            match: {not: {host: origin.test}}
            respond: {status: 403}
        """

    /// Opens a tunnel to `origin.test` on a stream.
    private static func run(
        _ rules: String = list,
        _ body:
            @Sendable @escaping (
                ProxyFixture, HTTP2Client, UInt32, PlayedOrigin, OriginConnection
            ) throws -> Void
    ) async throws {
        try await ProxyFixture.run(rules, resolve: ProxyFixture.here) { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.http2Client()
            let stream = try client.open(.connect(origin.authority("origin.test")))
            let far = try origin.accept()
            #expect(try client.frames.head(on: stream)[":status"] == "200")
            try body(proxy, client, stream, origin, far)
        }
    }

    @Test(arguments: [0, 1, 300])
    func `an allowed name goes through, in pieces too`(size: Int) async throws {
        try await Self.run { proxy, client, stream, _, far in
            let hello = ScriptedHello(name: "origin.test").bytes
            for piece in pieces(of: hello, size) { try client.frames.send(.data(stream, piece)) }
            #expect(try far.stream.bytes(hello.count) == hello)
            try far.send("answer")
            #expect(try client.frames.text(of: stream, exactly: 6) == "answer")
            let record: [UInt8] = [23, 3, 3, 0, 4] + Array("last".utf8)
            try client.frames.send(.data(stream, record, end: true))
            #expect(try far.stream.bytes(record.count) == record)
            far.close()
            try client.frames.expectEnd(of: stream)
            #expect(try proxy.record()["tunnel.sni"] == "origin.test")
        }
    }

    @Test(arguments: [0, 1, 300])
    func `another gets an alert, and the connection goes on`(size: Int) async throws {
        try await Self.run { proxy, client, stream, _, far in
            var hello = ScriptedHello(name: "evil.test")
            // More than a block of memory.
            if size == 300 { hello.extensions?.append((21, [UInt8](repeating: 0, count: 20000))) }
            for piece in pieces(of: hello.bytes, size) {
                try client.frames.send(.data(stream, piece))
            }
            let alert: [UInt8] = [21, 3, 3, 0, 2, 2, 112]
            #expect(try client.frames.bytes(of: stream, exactly: 7) == alert)
            try client.frames.expectEnd(of: stream)
            #expect(try far.stream.untilEnd().bytes == [])
            try client.frames.expectAlive()
            let record = try proxy.record()
            #expect(record["outcome"] == "denied")
            #expect(record["error.type"] == "tunnel_name_denied")
            #expect(record["network.protocol.version"] == "2")
        }
    }

    @Test(arguments: [false, true])
    func `HTTP inside is judged by its Host`(isBytewise: Bool) async throws {
        try await Self.run { proxy, client, stream, origin, far in
            let authority = origin.authority("origin.test")
            let foreign = Array(head("GET / HTTP/1.1", "Host: evil.test").utf8)
            for piece in pieces(of: foreign, isBytewise ? 1 : 0) {
                try client.frames.send(.data(stream, piece))
            }
            #expect(try far.stream.untilEnd().bytes == [])
            let status = try client.frames.text(of: stream, exactly: 12)
            #expect(status == "HTTP/1.1 421")
            let own = head("GET /own HTTP/1.1", "Host: \(authority)")
            try client.frames.send(.data(stream, own))
            let next = try origin.accept()
            #expect(try next.request().startLine == "GET /own HTTP/1.1")
            try next.reply(body: "x")
            let records = try proxy.records(2)
            #expect(records.map { $0["http.response.status_code"] } == ["421", "200"])
        }
    }
}

/// `bytes` in pieces of at most `size`; 0 is whole.
private func pieces(of bytes: [UInt8], _ size: Int) -> [[UInt8]] {
    guard size > 0 else { return [bytes] }
    return stride(from: 0, to: bytes.count, by: size).map {
        Array(bytes[$0..<min($0 + size, bytes.count)])
    }
}
