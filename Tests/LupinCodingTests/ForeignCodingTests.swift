// What is brotli's and zstd's own: frames in a row, windows, and what their encoders may choose.

import LupinCoding
import LupinCore
import LupinTestKit
import Testing

struct ForeignCodingTests {
    private func outcome(
        _ bytes: [UInt8],
        _ coding: DecodableCoding,
        piece: Int = .max
    ) -> Result<[UInt8], CodingProblem> {
        do throws(CodingProblem) {
            return .success(try decoded(bytes, coding, ratioMax: .max, piece: piece))
        } catch {
            return .failure(error)
        }
    }

    @Test(arguments: [0, 1, 5, 9, 11] as [Int32])
    func `brotli of every quality and window is read`(quality: Int32) {
        let bytes = sampleBytes(70_000)
        for bits in [10, 16, 24] as [Int32] {
            let coded = CompressedBody.brotli(bytes, quality: quality, windowBits: bits)
            for piece in [1, 777, .max] {
                #expect(outcome(coded, .brotli, piece: piece) == .success(bytes))
            }
        }
    }

    @Test(arguments: [1, 3, .max])
    func `brotli with a large window, or with anything behind its end, is corrupt`(piece: Int) {
        let bytes = sampleBytes(5000)
        let large = CompressedBody.brotli(bytes, windowBits: 28, isLarge: true)
        #expect(outcome(large, .brotli, piece: piece) == .failure(.corrupt))
        let whole = CompressedBody.brotli(bytes)
        #expect(outcome(whole + [0], .brotli, piece: piece) == .failure(.corrupt))
        #expect(outcome(whole + whole, .brotli, piece: piece) == .failure(.corrupt))
    }

    @Test(arguments: [1, 2, 17, 19, .max])
    func `several frames of zstd are one body, and those to skip are nothing`(piece: Int) {
        let frame = CompressedBody.zstd(sampleBytes(3000))
        let skipped = CompressedBody.skippable([1, 2, 3])
        let body =
            skipped + frame + CompressedBody.skippable([]) + frame
            + CompressedBody.zstd([]) + CompressedBody.zstd([7], isChecked: false) + skipped
        let expected = sampleBytes(3000) + sampleBytes(3000) + [7]
        #expect(outcome(body, .zstd, piece: piece) == .success(expected))
        #expect(outcome(skipped, .zstd, piece: piece) == .success([]))
        for rest in [skipped, frame] {
            let cut = outcome(frame + rest.dropLast(), .zstd, piece: piece)
            #expect(cut == .failure(.truncated))
        }
    }

    @Test(arguments: [1, 4, .max])
    func `what is no frame of zstd is corrupt, wherever it stands`(piece: Int) {
        let frame = CompressedBody.zstd(sampleBytes(300))
        let strangers = [
            Array("{\"plain\": true}".utf8),
            // The magic number of a format before RFC 8878.
            [0x25, 0xB5, 0x2F, 0xFD] + [UInt8](repeating: 0, count: 20),
            [UInt8](repeating: 0, count: 20),
        ]
        for stranger in strangers {
            #expect(outcome(stranger, .zstd, piece: piece) == .failure(.corrupt))
            #expect(outcome(frame + stranger, .zstd, piece: piece) == .failure(.corrupt))
        }
        var damaged = frame
        damaged[frame.count - 1] ^= 1
        #expect(outcome(damaged, .zstd, piece: piece) == .failure(.corrupt))
        // A frame that needs a dictionary: the flag, its number, and no content.
        let dictionary: [UInt8] = [0x28, 0xB5, 0x2F, 0xFD, 0x21, 7, 0, 1, 0, 0]
        #expect(outcome(dictionary, .zstd, piece: piece) == .failure(.corrupt))
    }

    @Test(arguments: [1, 5, 18, .max])
    func `a window of zstd may have 8 MiB and no more, however short the frame is`(piece: Int) {
        let bytes = sampleBytes(2000)
        // RFC 8878 §3.1.1.1.2: a window of 2 to the power of 10 and the upper five bits, and an
        // eighth of it for each of the lower three; then one block that is stored, the last.
        func frame(_ window: UInt8) -> [UInt8] {
            let block = UInt32(bytes.count) << 3 | 1
            let head = (0..<3).map { UInt8(truncatingIfNeeded: block >> ($0 * 8)) }
            return [0x28, 0xB5, 0x2F, 0xFD, 0x00, window] + head + bytes
        }
        #expect(outcome(frame(13 << 3), .zstd, piece: piece) == .success(bytes))
        #expect(outcome(frame(13 << 3 | 1), .zstd, piece: piece) == .failure(.tooWide))
        #expect(outcome(frame(31 << 3 | 7), .zstd, piece: piece) == .failure(.tooWide))
        // The same with the length of its content, which zstd would decode in one go.
        var measured = frame(14 << 3)
        measured.replaceSubrange(4..<6, with: [0x40, 14 << 3, 0xD0, 0x06])
        #expect(outcome(measured, .zstd, piece: piece) == .failure(.tooWide))
        measured[5] = 13 << 3
        #expect(outcome(measured, .zstd, piece: piece) == .success(bytes))
    }

    @Test func `zstd of every level is read, with and without length and checksum`() {
        let bytes = sampleBytes(300_000)
        for level in [-5, 1, 9, 19] as [Int32] {
            let coded = CompressedBody.zstd(
                bytes,
                level: level,
                windowBits: 23,
                isChecked: level > 1,
                isMeasured: level < 9
            )
            for piece in [1000, .max] {
                #expect(outcome(coded, .zstd, piece: piece) == .success(bytes))
            }
        }
    }

    @Test func `64 MiB of zeros take no more than the bound`() throws {
        let zeros = [UInt8](repeating: 0, count: 64 << 20)
        for coding in [.brotli, .zstd] as [DecodableCoding] {
            let bomb = try coded(zeros, coding)
            #expect(bomb.count < 64 << 10)
            var decoder = ContentDecoder(coding, bytesMax: 1 << 20, ratioMax: .max)
            var output: [UInt8] = []
            #expect(throws: CodingProblem.tooLong(bytesMax: 1 << 20)) {
                try decoder.decode(bomb.span, isLast: true, into: &output)
            }
            #expect(output.count == 1 << 20)
            #expect(throws: CodingProblem.tooDense(ratioMax: 200)) {
                try WholeBodyProblem.unwrapped(bomb, coding)
            }
        }
    }
}

/// The default limit of the ratio.
private enum WholeBodyProblem {
    static func unwrapped(_ bytes: [UInt8], _ coding: DecodableCoding) throws(CodingProblem) {
        var decoder = ContentDecoder(coding, bytesMax: 64 << 20)
        var output: [UInt8] = []
        try decoder.decode(bytes.span, isLast: true, into: &output)
    }
}
