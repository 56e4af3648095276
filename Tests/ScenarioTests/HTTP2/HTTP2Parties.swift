// What stories of HTTP/2 have in common: clients that speak it, and origins of TLS behind them.
import LupinTestKit
import Testing

extension ProxyFixture {
    /// A client that begins with HTTP/2 by prior knowledge.
    func http2Client(
        _ settings: [HTTP2Frame.Setting] = [],
        manners: FrameStream.Manners = FrameStream.Manners()
    ) throws -> HTTP2Client {
        try HTTP2Client(inside: try client(), settings: settings, manners: manners)
    }

    /// `origin.test`, which speaks HTTP/2 inside TLS and nothing else.
    func http2Origin() throws -> PlayedHTTP2Origin {
        try PlayedHTTP2Origin(security: try authority.server("origin.test", ["h2"]))
    }

    /// An origin of HTTP/1.1 whose answers are as long as the paths of its requests say.
    func measuredOrigin() throws -> ScriptedOrigin {
        try origin { connection in
            while let request = try? connection.nextRequest() {
                let count = Int(request.target.dropFirst()) ?? 0
                let body = String(repeating: "x", count: count)
                try? connection.send("HTTP/1.1 200 OK\r\nContent-Length: \(count)\r\n\r\n\(body)")
            }
        }
    }
}

extension HTTP2Fields {
    /// The head of an extended CONNECT (RFC 8441 §5.1).
    static func webSocket(
        scheme: String = "http",
        authority: String,
        path: String = "/chat",
        protocol name: String = "websocket"
    ) -> HTTP2Fields {
        let head = HTTP2Fields.request(
            "CONNECT",
            scheme: scheme,
            authority: authority,
            path: path,
            protocol: name
        )
        return head + ["sec-websocket-version": "13"]
    }

    /// The head of a CONNECT.
    static func connect(_ authority: String) -> HTTP2Fields {
        .request("CONNECT", scheme: nil, authority: authority, path: nil)
    }
}

extension HTTP2Client {
    /// Ends an upload that was answered before its end: what was left of it passed by unread, and
    /// nobody reset its stream.
    func endUnwanted(_ stream: UInt32) throws {
        try frames.sendData(stream, Array("rest".utf8))
        try frames.expectAlive()
        for case .reset(stream, let code) in frames.unasked {
            throw SocketFailure("the stream was reset with \(code)")
        }
    }
}

extension FrameStream {
    /// The text of DATA on `stream`.
    func text(of stream: UInt32, exactly count: Int) throws -> String {
        String(decoding: try bytes(of: stream, exactly: count), as: UTF8.self)
    }

    /// That DATA on `stream` ends with nothing more.
    func expectEnd(of stream: UInt32) throws {
        let part = try part(of: stream)
        guard case .data(_, let bytes, true) = part, bytes.isEmpty else {
            throw SocketFailure("\(part), where the end was due")
        }
    }

    /// That the peer had enough: GOAWAY with ENHANCE_YOUR_CALM, and the end.
    func expectCalm() throws {
        try expectGoAway(.enhanceYourCalm)
        _ = try waitForEnd()
    }
}
