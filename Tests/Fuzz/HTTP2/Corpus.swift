// The frame streams that the HTTP/2 fuzzer starts from: what lupin's own other side would send.
import LupinCore
import LupinWire

enum Corpus {
    static func connection(_ role: HTTP2Connection.Role) -> HTTP2Connection {
        HTTP2Connection(role, HTTP2Parameters(limits: HTTP2Limits(), heads: HTTP1Limits()))
    }

    /// Has a client ask what the responses of the corpus answer.
    static func ask(_ client: HTTP2Connection) -> [UInt8] {
        for (method, path) in [(Method.get, "/"), (.head, "/h"), (.post, "/p"), (.get, "/g")] {
            var head = RequestHead()
            head.method = method
            head.form = .absolute
            head.version = .http2
            head.pathAndQuery = head.fields.store(path)
            head.fields.add(name: "Accept", value: "*/*")
            head.fields.add(name: "Cookie", value: "a=1")
            let framing = method == .post ? BodyFraming.chunked : .none
            let options = RequestOptions(target: .origin, authority: "a.test", framing: framing)
            _ = client.submit(head, options)
        }
        return drained(client)
    }

    /// What a client sends.
    static func requests() -> [UInt8] {
        let client = connection(.client)
        var wire = ask(client)
        wire += body("some of the body", isLast: false, on: 5, of: client)
        wire += body("and the rest", isLast: true, on: 5, of: client)
        client.ping()
        client.reset(7, .cancel)
        client.goAway(isFinal: true)
        return wire + drained(client)
    }

    /// What a server answers.
    static func responses() -> [UInt8] {
        let (client, server) = (connection(.client), connection(.server))
        try? server.receive(ask(client).span, now: 0)
        server.submitInterim(ResponseHead(status: 103), on: 1)
        var wire: [UInt8] = []
        for (stream, framing) in [
            (Int32(1), BodyFraming.chunked), (3, .none), (5, .length(12)), (7, .none),
        ] {
            var head = ResponseHead(status: 200)
            head.fields.add(name: "Server", value: "fuzzed")
            let options = ResponseOptions(framing: framing)
            server.submit(head, options, hasBody: !framing.isEmpty, on: stream)
            wire += drained(server)
        }
        wire += body("twelve bytes", isLast: true, on: 5, of: server)
        wire += body("no length", isLast: true, on: 1, of: server)
        server.goAway(isFinal: true)
        return wire + drained(server)
    }

    private static func body(
        _ text: String,
        isLast: Bool,
        on stream: Int32,
        of connection: HTTP2Connection
    ) -> [UInt8] {
        var bytes: [UInt8] = []
        var trailers = FieldSection()
        trailers.add(name: "X-Sum", value: "8")
        let payload = Array(text.utf8)
        _ = connection.push(
            payload.span,
            isLast: isLast,
            trailers: trailers,
            on: stream,
            into: &bytes
        )
        return bytes
    }

    private static func drained(_ connection: HTTP2Connection) -> [UInt8] {
        var bytes: [UInt8] = []
        connection.drain(into: &bytes)
        return bytes
    }
}
