// HEADERS on numbers that a client has passed over, and on those that it has used.
import LupinWire
import Testing

struct SkippedStreamTests {
    /// What a server makes of requests on `streams`, in that order.
    private func server(_ streams: [UInt32]) throws -> HTTP2Connection {
        let client = HTTP2Connection(.client, .standard)
        let server = HTTP2Connection(.server, .standard)
        var wire = client.drained()
        for stream in streams { wire += Self.get(stream) }
        try server.receive(wire.span, now: 0)
        return server
    }

    /// HEADERS that end their stream: `GET http://a/`, in HPACK without Huffman codes.
    private static func get(_ stream: UInt32) -> [UInt8] {
        let block: [UInt8] = [0x82, 0x86, 0x84, 0x01, 0x01, 0x61]
        let number = (0..<4).map { UInt8(truncatingIfNeeded: stream >> (24 - 8 * UInt32($0))) }
        return [0, 0, UInt8(block.count), 1, 0x05] + number + block
    }

    @Test(
        arguments: [[5, 3], [5, 1], [101, 1], [101, 99], [3, 9, 1], [3, 9, 7]] as [[UInt32]]
    )
    func `a number that was passed over ends the connection`(streams: [UInt32]) throws {
        #expect(try server(streams).isGoingAway)
    }

    @Test(arguments: [[1, 3, 5], [5], [1, 101], [1, 3, 1], [5, 9, 5]] as [[UInt32]])
    func `numbers that count up, and those that were used, do not`(streams: [UInt32]) throws {
        #expect(try !server(streams).isGoingAway)
    }

    @Test func `of very many gaps the first are forgotten`() throws {
        let many = [UInt32](stride(from: 1, through: 801, by: 4))
        #expect(try !server(many + [3]).isGoingAway)
        #expect(try server(many + [799]).isGoingAway)
    }
}
