// What chunked framing looks like when lupin writes it.
import LupinCore
import LupinWire
import Testing

struct ChunkedEncoderTests {
    @Test(arguments: [
        (0, ""), (1, "1\r\n"), (15, "f\r\n"), (16, "10\r\n"), (255, "ff\r\n"),
        (4096, "1000\r\n"), (Int.max, "7fffffffffffffff\r\n"),
    ])
    func `a chunk line is the size in hexadecimal`(size: Int, line: String) {
        var output: [UInt8] = []
        ChunkedEncoder.appendChunkHeader(size: size, to: &output)
        #expect(String(decoding: output, as: UTF8.self) == line)
    }

    @Test func `trailers that could change the meaning of the message stay behind`() {
        var trailers = FieldSection()
        trailers.add(name: "Content-Length", value: "5")
        trailers.add(name: "X-Checksum", value: "1")
        trailers.add(name: "Authorization", value: "Basic eA==")
        trailers.add(name: "X-Hop", value: "2")
        trailers.add(name: "Host", value: "a")
        trailers.add(name: "ETag", value: "\"e\"")
        trailers.lines[3].isHopByHop = true
        var output: [UInt8] = []
        ChunkedEncoder.appendLastChunk(trailers: trailers, to: &output)
        #expect(
            String(decoding: output, as: UTF8.self)
                == "0\r\nX-Checksum: 1\r\nETag: \"e\"\r\n\r\n"
        )
    }

    @Test func `what is encoded is decoded again`() throws {
        var output: [UInt8] = []
        for text in ["hello", ", ", String(repeating: "x", count: 300)] {
            ChunkedEncoder.appendChunkHeader(size: text.utf8.count, to: &output)
            output += Array(text.utf8)
            ChunkedEncoder.appendChunkEnd(to: &output)
        }
        ChunkedEncoder.appendLastChunk(to: &output)
        let count = output.count
        let decoder = ChunkedDecoder(side: .response, limits: HTTP1Limits())
        var span = output.mutableSpan
        let (consumed, produced) = try decoder.decode(&span)
        #expect(consumed == count)
        #expect(produced == 307)
        #expect(decoder.isComplete)
        #expect(String(decoding: output[..<9], as: UTF8.self) == "hello, xx")
    }
}
