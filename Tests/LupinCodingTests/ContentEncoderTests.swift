// That what was compressed is a body of its coding, however it was cut and however small the room.

import LupinCoding
import LupinCore
import LupinTestKit
import Testing

/// Bytes that compress about as well as text does.
func sampleBytes(_ count: Int, seed: UInt64 = 1) -> [UInt8] {
    var state = seed
    return (0..<count).map { _ in
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return UInt8(truncatingIfNeeded: 0x61 + (state >> 33) % 16)
    }
}

/// `bytes` compressed, in pieces of `piece` bytes and outputs of `room` bytes.
func encoded(
    _ bytes: [UInt8],
    _ coding: ContentCoding,
    piece: Int = .max,
    room: Int = 1 << 16,
    level: Int = 6
) throws -> [UInt8] {
    var encoder = try ContentEncoder(coding, level: level)
    var output: [UInt8] = []
    var start = 0
    while !encoder.isEnded {
        let end = min(
            bytes.count,
            start.addingReportingOverflow(piece).overflow ? .max : start + piece
        )
        let isLast = end == bytes.count
        let input = bytes.span.extracting(start..<end)
        let before = output.count
        let progress = encoder.encode(input, isLast ? .end : .more, into: &output, room: room)
        #expect(output.count - before <= room)
        start += progress.consumed
    }
    return output
}

/// `bytes` in a coding, of which lupin itself applies only two.
func coded(_ bytes: [UInt8], _ coding: DecodableCoding) throws -> [UInt8] {
    switch coding {
    case .gzip: try encoded(bytes, .gzip)
    case .deflate: try encoded(bytes, .deflate)
    case .brotli: CompressedBody.brotli(bytes)
    case .zstd: CompressedBody.zstd(bytes)
    }
}

/// What `bytes` decode to.
func decoded(
    _ bytes: [UInt8],
    _ coding: DecodableCoding,
    bytesMax: Int = 16 << 20,
    ratioMax: Int = 2000,
    piece: Int = .max
) throws(CodingProblem) -> [UInt8] {
    var decoder = ContentDecoder(coding, bytesMax: bytesMax, ratioMax: ratioMax)
    var output: [UInt8] = []
    var start = 0
    repeat {
        let count = min(piece, bytes.count - start)
        let input = bytes.span.extracting(start..<start + count)
        start += count
        try decoder.decode(input, isLast: start == bytes.count, into: &output)
    } while start < bytes.count
    return output
}

struct ContentEncoderTests {
    @Test(arguments: ContentCoding.allCases, [0, 1, 1000, 100_000])
    func `what was compressed comes back, however it is cut`(
        coding: ContentCoding,
        count: Int
    ) throws {
        let bytes = sampleBytes(count)
        let whole = try encoded(bytes, coding)
        #expect(try decoded(whole, DecodableCoding(coding)) == bytes)
        for (piece, room) in [(1000, 100), (7777, 1 << 16), (.max, 512)] {
            #expect(try encoded(bytes, coding, piece: piece, room: room) == whole)
        }
        if count == 1000 { #expect(try encoded(bytes, coding, piece: 1, room: 1) == whole) }
        if count > 1000 { #expect(whole.count < count * 2 / 3) }
    }

    @Test func `a body says its coding in its first bytes, and is the same each time`() throws {
        let gzip = try encoded(sampleBytes(100), .gzip)
        // RFC 1952 §2.3: magic, deflate, no flags, no time.
        #expect(gzip.prefix(8) == [0x1F, 0x8B, 8, 0, 0, 0, 0, 0])
        let deflate = try encoded(sampleBytes(100), .deflate)
        #expect(deflate[0] == 0x78 && (Int(deflate[0]) << 8 | Int(deflate[1])) % 31 == 0)
        #expect(try encoded(sampleBytes(100), .gzip) == gzip)
    }

    @Test func `behind a pause everything that was taken can be decoded`() throws {
        var encoder = try ContentEncoder(.gzip)
        var output: [UInt8] = []
        var decoder = ContentDecoder(.gzip, bytesMax: 1 << 20)
        var plain: [UInt8] = []
        for word in ["one ", "two ", "three"] {
            let before = output.count
            let bytes = Array(word.utf8)
            #expect(encoder.encode(bytes.span, into: &output, room: 1000).isDone)
            var holdsInput = encoder.holdsInput
            #expect(holdsInput)
            var isDone = false
            while !isDone {
                isDone = encoder.encode(Span(), .pause, into: &output, room: 7).isDone
            }
            holdsInput = encoder.holdsInput
            #expect(!holdsInput)
            try decoder.decode(output.span.extracting(before...), isLast: false, into: &plain)
            #expect(String(decoding: plain, as: UTF8.self).hasSuffix(word))
        }
        let paused = output.count
        #expect(encoder.encode(Span(), .pause, into: &output, room: 1000).isDone)
        #expect(output.count == paused)
        #expect(encoder.encode(Span(), .end, into: &output, room: 1000).isDone)
        #expect(try decoded(output, .gzip) == Array("one two three".utf8))
    }

    @Test func `behind the end nothing is taken, and without room nothing is written`() throws {
        var encoder = try ContentEncoder(.deflate)
        var output: [UInt8] = []
        let bytes = sampleBytes(10)
        for room in [0, -1] {
            let progress = encoder.encode(bytes.span, .end, into: &output, room: room)
            #expect(progress.consumed == 0 && !progress.isDone && output.isEmpty)
        }
        #expect(encoder.encode(bytes.span, .end, into: &output, room: 1000).isDone)
        let count = output.count
        let after = encoder.encode(bytes.span, into: &output, room: 1000)
        let isEnded = encoder.isEnded
        #expect(after.consumed == 0 && after.isDone && isEnded && output.count == count)
    }

    @Test func `a level out of range is the nearest one`() throws {
        let bytes = sampleBytes(5000)
        #expect(try encoded(bytes, .gzip, level: 99) == encoded(bytes, .gzip, level: 9))
        #expect(try encoded(bytes, .gzip, level: -1) == encoded(bytes, .gzip, level: 1))
    }

    @Test func `what stood in the output stays`() throws {
        var encoder = try ContentEncoder(.gzip)
        var output: [UInt8] = [1, 2, 3]
        _ = encoder.encode(Span(), .end, into: &output, room: 1000)
        #expect(output.prefix(4) == [1, 2, 3, 0x1F])
    }
}
