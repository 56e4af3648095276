// What a server breaks that HTTP/2 forbids is told by its name.
import LupinCore
import LupinWire
import Testing

struct HTTP2BreachTests {
    /// A frame; its payload is shorter than 256 bytes.
    private static func frame(_ type: UInt8, _ flags: UInt8, _ payload: [UInt8]) -> [UInt8] {
        [0, 0, UInt8(payload.count), type, flags, 0, 0, 0, 1] + payload
    }

    /// HEADERS of stream 1 with literal fields that go into no table.
    private static func head(_ fields: [(String, String)], isEnd: Bool = false) -> [UInt8] {
        var block: [UInt8] = []
        for (name, value) in fields {
            for text in [name, value] {
                if text == name { block.append(0) }
                block += [UInt8(text.utf8.count)] + Array(text.utf8)
            }
        }
        return frame(1, isEnd ? 5 : 4, block)
    }

    /// What a client gets of a response to its GET, behind the server's settings, until it has
    /// written its own frames: the same, however the response comes but for its payload.
    private static func told(_ frames: [UInt8]) -> [String] {
        let server = HTTP2Connection(.server, .standard)
        let wire = server.drained() + frames
        let each = [[wire[...]], wire.indices.map { wire[$0...$0] }].map { pieces in
            let client = HTTP2Connection(.client, .standard)
            _ = client.ask(RequestHead(.get, "/"))
            _ = client.drained()
            let first = events(of: pieces, at: client)
            _ = client.drained()
            return (first + events(of: [[]], at: client)).filter { !$0.hasPrefix("data") }
        }
        #expect(each[0] == each[1])
        return each[0]
    }

    @Test(
        arguments: [
            ([(":status", "200"), ("Server", "x")], "uppercaseFieldName"),
            ([(":status", "200"), ("a b", "x")], "invalidFieldName"),
            ([(":status", "200"), ("", "x")], "invalidFieldName"),
            ([(":status", "200"), ("connection", "close")], "connectionField"),
            ([(":status", "200"), ("keep-alive", "timeout=5")], "connectionField"),
            ([(":status", "200"), ("transfer-encoding", "chunked")], "connectionField"),
            ([(":status", "200"), ("upgrade", "h2c")], "connectionField"),
            ([(":status", "200"), ("x", "a\u{1}b")], "controlByte"),
            ([(":status", "200"), ("content-length", "two")], "invalidLength"),
            (
                [(":status", "200"), ("content-length", "1"), ("content-length", "2")],
                "severalLengths"
            ),
            ([(":status", "200"), (":status", "200")], "invalidPseudoField"),
            ([(":status", "200"), (":path", "/")], "invalidPseudoField"),
            ([("x", "y"), (":status", "200")], "invalidPseudoField"),
            ([(":status", "2x0")], "invalidPseudoField"),
            ([("x", "y")], "missingStatus"),
        ] as [([(String, String)], String)]
    )
    func `a head that breaks a rule is refused by the rule`(
        fields: [(String, String)],
        reason: String
    ) {
        let events = Self.told(Self.head(fields, isEnd: true))
        #expect(events.contains("refused 1 \(reason)"), "\(events)")
        #expect(events.filter { $0.hasPrefix("response") }.isEmpty)
    }

    @Test(
        arguments: [
            (["four and more"], "lengthMismatch"), (["123"], "lengthMismatch"),
            (["12", "345"], "lengthMismatch"),
        ] as [([String], String)]
    )
    func `a body that does not fit its length is refused`(parts: [String], reason: String) {
        var frames = Self.head([(":status", "200"), ("content-length", "4")])
        for (index, part) in parts.enumerated() {
            frames += Self.frame(0, index == parts.count - 1 ? 1 : 0, Array(part.utf8))
        }
        let events = Self.told(frames)
        #expect(events.contains("refused 1 \(reason)"), "\(events)")
        #expect(!events.contains { $0.hasPrefix("end") })
    }

    @Test func `trailers that end nothing are refused`() {
        let frames = Self.head([(":status", "200")]) + Self.head([("x", "y")])
        #expect(Self.told(frames).contains("refused 1 malformedMessage"))
    }

    @Test func `a response as it should be is refused by nothing`() {
        var frames = Self.head([(":status", "200"), ("content-length", "4"), ("te", "trailers")])
        frames += Self.frame(0, 0, Array("full".utf8)) + Self.head([("x", "y")], isEnd: true)
        let events = Self.told(frames)
        #expect(!events.contains { $0.hasPrefix("refused") }, "\(events)")
        #expect(events.contains("end 1 | x: y"))
    }
}
