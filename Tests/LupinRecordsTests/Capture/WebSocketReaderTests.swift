// Messages of a WebSocket come out of its frames, however these are cut, and nothing else does.
import LupinRecords
import Testing

struct WebSocketReaderTests {
    /// A frame; lengths in the shortest form.
    private static func frame(
        _ opcode: UInt8,
        _ payload: [UInt8],
        isFinal: Bool = true,
        isCompressed: Bool = false,
        mask: [UInt8] = []
    ) -> [UInt8] {
        let bit: UInt8 = mask.isEmpty ? 0 : 0x80
        var bytes = [opcode | (isFinal ? 0x80 : 0) | (isCompressed ? 0x40 : 0)]
        let count = payload.count
        switch count {
        case ..<126: bytes.append(bit | UInt8(count))
        case ..<65_536: bytes += [bit | 126, UInt8(count >> 8), UInt8(count & 0xFF)]
        default:
            bytes.append(bit | 127)
            bytes += (0..<8).map { UInt8(truncatingIfNeeded: count >> (56 - $0 * 8)) }
        }
        bytes += mask
        for (i, byte) in payload.enumerated() {
            bytes.append(mask.isEmpty ? byte : byte ^ mask[i % 4])
        }
        return bytes
    }

    /// A message as a test expects it.
    private struct Heard: Equatable {
        var kind: WebSocketMessage.Kind
        var payload: [UInt8]
        var bytes: UInt64
        var isCompressed = false
    }

    private static func text(_ text: String) -> Heard { message(.text, Array(text.utf8)) }

    private static func message(_ kind: WebSocketMessage.Kind, _ payload: [UInt8]) -> Heard {
        Heard(kind: kind, payload: payload, bytes: UInt64(payload.count))
    }

    /// What comes out of bytes in pieces, and whether they could be read to their end.
    private func read(
        _ bytes: [UInt8],
        piece: Int = .max,
        bytesMax: Int = 1 << 20
    ) -> (messages: [Heard], hasFailed: Bool) {
        var reader = WebSocketReader(bytesMax: bytesMax)
        var messages: [Heard] = []
        var start = 0
        while start < bytes.count {
            let end = start + min(piece, bytes.count - start)
            reader.read(bytes.span.extracting(start..<end)) { message in
                messages.append(
                    Heard(
                        kind: message.kind,
                        payload: message.payload,
                        bytes: message.bytes,
                        isCompressed: message.isCompressed
                    )
                )
            }
            start = end
        }
        return (messages, reader.hasFailed)
    }

    private static let mask: [UInt8] = [0x37, 0xFA, 0x21, 0x3D]

    @Test(arguments: [1, 2, 3, 7, 1000, .max])
    func `messages of every length and kind are read, masked or not`(piece: Int) {
        let lengths = [0, 1, 2, 3, 4, 5, 125, 126, 127, 65_535, 65_536, 70_000]
        for mask in [[], Self.mask] {
            var bytes: [UInt8] = []
            var expected: [Heard] = []
            for length in lengths {
                let payload = (0..<length).map { UInt8(truncatingIfNeeded: $0 * 7) }
                bytes += Self.frame(2, payload, mask: mask)
                expected.append(Self.message(.binary, payload))
            }
            bytes += Self.frame(1, Array("hi".utf8), mask: mask)
            bytes += Self.frame(8, [3, 232], mask: mask)
            expected += [Self.text("hi"), Self.message(.close, [3, 232])]
            let found = read(bytes, piece: piece)
            #expect(found.messages == expected && !found.hasFailed)
        }
    }

    @Test(arguments: [1, 2, 5, .max])
    func `fragments are one message, and control frames may stand between them`(piece: Int) {
        let bytes =
            Self.frame(1, Array("one ".utf8), isFinal: false, mask: Self.mask)
            + Self.frame(9, Array("ping".utf8))
            + Self.frame(0, [], isFinal: false)
            + Self.frame(10, [], mask: Self.mask)
            + Self.frame(0, Array("message".utf8), mask: [1, 2, 3, 4])
            + Self.frame(1, Array("next".utf8))
        let expected = [
            Self.message(.ping, Array("ping".utf8)), Self.message(.pong, []),
            Self.text("one message"), Self.text("next"),
        ]
        let found = read(bytes, piece: piece)
        #expect(found.messages == expected && !found.hasFailed)
    }

    @Test(arguments: [1, 3, .max])
    func `a long message keeps its beginning and tells its length`(piece: Int) {
        let bytes =
            Self.frame(2, [UInt8](0..<100), isFinal: false, mask: Self.mask)
            + Self.frame(0, [UInt8](100..<200), mask: Self.mask) + Self.frame(1, [0x61])
        let found = read(bytes, piece: piece, bytesMax: 110)
        #expect(found.messages.map(\.payload) == [[UInt8](0..<110), [0x61]])
        #expect(found.messages.map(\.bytes) == [200, 1])
        #expect(read(bytes, bytesMax: 0).messages.map(\.payload) == [[], []])
    }

    @Test func `a compressed message is marked by its first frame`() {
        let bytes =
            Self.frame(1, [1], isFinal: false, isCompressed: true) + Self.frame(0, [2])
            + Self.frame(1, [3])
        #expect(read(bytes).messages.map(\.isCompressed) == [true, false])
    }

    @Test(
        arguments: [
            frame(0, [1]), frame(1, [1], isFinal: false) + frame(1, [2]),
            frame(1, [], isFinal: false) + frame(2, [2]), frame(3, []), frame(7, []),
            frame(11, []), frame(15, []), frame(9, [1], isFinal: false),
            frame(8, [UInt8](repeating: 0, count: 126)),
            [0x82, 127, 0x80, 0, 0, 0, 0, 0, 0, 0], [UInt8](repeating: 0xFF, count: 40),
            Array("HTTP/1.1 400 Bad Request\r\n\r\n".utf8),
        ]
    )
    func `what is no frame ends the reading`(bytes: [UInt8]) {
        let rest = Self.frame(1, Array("unread".utf8))
        for piece in [1, .max] {
            let found = read(bytes + rest, piece: piece)
            #expect(found.hasFailed)
            #expect(!found.messages.contains(Self.text("unread")))
        }
    }

    @Test func `a frame that claims everything and sends little takes little`() {
        let bytes = [0x82, 127, 0x7F] + [UInt8](repeating: 0xFF, count: 7) + [1, 2, 3]
        let found = read(bytes)
        #expect(found.messages.isEmpty && !found.hasFailed)
    }
}
