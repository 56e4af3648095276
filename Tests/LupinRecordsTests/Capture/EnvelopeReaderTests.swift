// Messages of gRPC and Connect come out of their envelopes, however the bytes are cut.
import LupinCore
import LupinRecords
import Testing

struct EnvelopeReaderTests {
    private static func format(
        _ type: String,
        _ fields: (String, String)...
    ) -> EnvelopeFormat? {
        var section = FieldSection()
        section.add(name: "Content-Type", value: type)
        for (name, value) in fields { section.add(name: name, value: value) }
        return section.envelopeFormat
    }

    private static func envelope(_ flags: UInt8, _ payload: [UInt8]) -> [UInt8] {
        let count = payload.count
        return [flags, 0, UInt8(count >> 16), UInt8(count >> 8 & 0xFF), UInt8(count & 0xFF)]
            + payload
    }

    /// What comes out of bytes in pieces; the bytes in no envelope; and what was not whole.
    private func read(
        _ bytes: [UInt8],
        piece: Int = .max,
        bytesMax: Int = 1000,
        type: String = "application/grpc"
    ) throws -> (messages: [EnvelopedMessage], rest: [UInt8], end: EnvelopedMessage?) {
        var reader = EnvelopeReader(try #require(Self.format(type)), bytesMax: bytesMax)
        var messages: [EnvelopedMessage] = []
        var rest: [UInt8] = []
        var start = 0
        while start < bytes.count {
            let end = start + min(piece, bytes.count - start)
            rest += reader.read(bytes.span.extracting(start..<end)) { messages.append($0) }
            start = end
        }
        return (messages, rest, reader.end())
    }

    @Test(arguments: [1, 2, 3, 7, .max])
    func `messages are found in pieces of any size`(piece: Int) throws {
        let bytes =
            Self.envelope(0, [1, 2, 3]) + Self.envelope(0, []) + Self.envelope(1, [4])
            + Self.envelope(0x80, [5])
        let (messages, rest, end) = try read(bytes, piece: piece)
        #expect(messages.map(\.payload) == [[1, 2, 3], [], [4], [5]])
        #expect(messages.map(\.isCompressed) == [false, false, true, false])
        #expect(messages.map(\.isEnd) == [false, false, false, true])
        #expect(messages.map(\.bytes) == [3, 0, 1, 1])
        #expect(rest.isEmpty && end == nil)
    }

    @Test(arguments: [1, .max])
    func `a message that is too long is kept in part, and the next whole`(piece: Int) throws {
        let bytes = Self.envelope(0, [UInt8](repeating: 9, count: 70_000)) + Self.envelope(0, [1])
        let (messages, rest, _) = try read(bytes, piece: piece, bytesMax: 10)
        #expect(messages.map(\.payload) == [[UInt8](repeating: 9, count: 10), [1]])
        #expect(messages.map(\.bytes) == [70_000, 1] && rest.isEmpty)
    }

    @Test(arguments: [1, .max])
    func `bytes that are in no envelope come back`(piece: Int) throws {
        let bytes = Self.envelope(0, [1]) + Array("text".utf8)
        let (messages, rest, end) = try read(bytes, piece: piece)
        #expect(messages.map(\.payload) == [[1]] && end == nil)
        #expect(rest == Array("text".utf8))
    }

    @Test func `a message that the body ends within says so`() throws {
        let (messages, rest, end) = try read([0, 0xFF, 0xFF, 0xFF, 0xFF, 1, 2])
        #expect(messages.isEmpty && rest.isEmpty)
        let cut = try #require(end)
        #expect(cut.isCut && cut.payload == [1, 2] && cut.bytes == .max)
        let unfinished = try read([0, 0, 0])
        #expect(unfinished.end == nil && unfinished.messages.isEmpty)
    }

    @Test func `the end of a stream has its own flag in each protocol`() throws {
        let end = Self.envelope(0x02, Array("{}".utf8))
        let ended = try read(end, type: "application/connect+json").messages
        #expect(ended.map(\.isEnd) == [true])
        let (messages, rest, _) = try read(end)
        #expect(messages.isEmpty && rest == end)
    }

    @Test func `the media type says what the messages are`() throws {
        typealias Case = (type: String, content: EnvelopeFormat.Content?)
        let cases: [Case] = [
            ("application/grpc", .protobuf), ("Application/gRPC+Proto; a=b", .protobuf),
            ("application/grpc+json", .text), ("application/grpc+thrift", .binary),
            ("application/grpc-web", .protobuf), ("application/grpc-web+proto", .protobuf),
            ("application/grpc-web-text", nil), ("application/grpc-web-text+proto", nil),
            ("application/connect+json", .text), ("application/connect+proto", .protobuf),
            ("application/connect", nil), ("application/grpcx", nil), ("application/proto", nil),
            ("text/grpc", nil), ("", nil),
        ]
        for (type, content) in cases {
            #expect(Self.format(type)?.content == content, "\(type)")
        }
        #expect(FieldSection().envelopeFormat == nil)
    }

    @Test func `the coding of the messages is that of their own protocol`() {
        let grpc = "application/grpc+proto"
        #expect(Self.format(grpc, ("grpc-encoding", "gzip"))?.coding == "gzip")
        #expect(Self.format(grpc, ("Grpc-Encoding", "Identity"))?.coding == nil)
        #expect(Self.format(grpc, ("connect-content-encoding", "br"))?.coding == nil)
        let connect = Self.format("application/connect+proto", ("Connect-Content-Encoding", "br"))
        #expect(connect?.coding == "br")
    }
}
