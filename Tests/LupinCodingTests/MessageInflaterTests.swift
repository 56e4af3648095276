// Messages that permessage-deflate compressed come back, with a bound, and garbage does not.

import LupinCoding
import LupinCore
import Testing

struct MessageInflaterTests {
    /// Messages as RFC 7692 §7.2.1 has them: one stream, each flushed, without the last four bytes.
    private func messages(_ texts: [[UInt8]]) throws -> [[UInt8]] {
        var encoder = try ContentEncoder(.deflate)
        var isFirst = true
        return texts.map { text in
            var output: [UInt8] = []
            var done = 0
            while true {
                let rest = text.span.extracting(done..<text.count)
                let progress = encoder.encode(rest, .pause, into: &output, room: 1 << 16)
                done += progress.consumed
                if progress.isDone { break }
            }
            // Zlib's two bytes stand before the first.
            let deflated = Array(output.dropFirst(isFirst ? 2 : 0))
            isFirst = false
            #expect(deflated.suffix(4) == [0, 0, 0xFF, 0xFF])
            return Array(deflated.dropLast(4))
        }
    }

    private func inflated(
        _ messages: [[UInt8]],
        bytesMax: Int = 1 << 20
    ) throws -> [(text: [UInt8], bytes: Int)] {
        var inflater = try MessageInflater(bytesMax: bytesMax)
        var results: [(text: [UInt8], bytes: Int)] = []
        for message in messages { results.append(try inflater.inflate(message.span)) }
        return results
    }

    @Test func `messages share a window, or each begins anew`() throws {
        let texts = [sampleBytes(1000), sampleBytes(1000), Array("hi".utf8), sampleBytes(200_000)]
        let shared = try messages(texts)
        #expect(shared[1].count < 100)
        #expect(try inflated(shared).map(\.text) == texts)
        let anew = try texts.map { try messages([$0])[0] }
        #expect(try inflated(anew).map(\.text) == texts)
    }

    @Test func `the examples of RFC 7692 are read`() throws {
        let hello: [UInt8] = [0xF2, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00]
        let again: [UInt8] = [0xF2, 0x00, 0x11, 0x00, 0x00]
        let stored: [UInt8] = [0x00, 0x05, 0x00, 0xFA, 0xFF, 0x48, 0x65, 0x6C, 0x6C, 0x6F, 0x00]
        let final: [UInt8] = [0xF3, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00, 0x00]
        let two: [UInt8] = [
            0xF2, 0x48, 0x05, 0x00, 0x00, 0x00, 0xFF, 0xFF, 0xCA, 0xC9, 0xC9, 0x07, 0x00,
        ]
        for messages in [[hello, again], [stored], [final, final, hello], [two, hello]] {
            for message in try inflated(messages) {
                #expect(String(decoding: message.text, as: UTF8.self) == "Hello")
            }
        }
        #expect(try inflated([[0x00]]).map(\.text) == [[]])
    }

    @Test func `a long message keeps its beginning and tells its length`() throws {
        let texts = [sampleBytes(100_000), sampleBytes(10)]
        let found = try inflated(messages(texts), bytesMax: 17)
        #expect(found.map(\.bytes) == [100_000, 10])
        #expect(found.map(\.text) == [Array(texts[0].prefix(17)), texts[1]])
        #expect(try inflated(messages(texts), bytesMax: -1).map(\.text) == [[], []])
    }

    @Test func `a bomb of a message is read to its end and kept in part`() throws {
        let bomb = try messages([[UInt8](repeating: 0, count: 8 << 20)])
        let found = try inflated(bomb, bytesMax: 100)
        #expect(found[0].bytes == 8 << 20 && found[0].text.count == 100)
        let endless = try messages([[UInt8](repeating: 0, count: 65 << 20)])
        #expect(throws: CodingProblem.tooLong(bytesMax: 64 << 20)) { try inflated(endless) }
    }

    @Test(arguments: [[0xFF], [0x07], [0x06, 0x00]] as [[UInt8]])
    func `garbage is corrupt`(payload: [UInt8]) throws {
        var inflater = try MessageInflater(bytesMax: 100)
        #expect(throws: CodingProblem.corrupt) { try inflater.inflate(payload.span) }
    }

    @Test func `no byte in any place traps`() throws {
        let whole = try messages([sampleBytes(60)])[0]
        for index in whole.indices {
            for bit in 0..<8 {
                var bytes = whole
                bytes[index] ^= 1 << UInt8(bit)
                var inflater = try MessageInflater(bytesMax: 50)
                let found = try? inflater.inflate(bytes.span)
                #expect((found?.text.count ?? 0) <= 50)
            }
        }
    }
}
