// What servers send under a coding, what is refused, and that a bomb stays small.

import LupinCoding
import LupinCore
import Testing

struct ContentDecoderTests {
    private func problem(
        _ bytes: [UInt8],
        _ coding: DecodableCoding = .gzip,
        bytesMax: Int = 1 << 20,
        ratioMax: Int = 2000,
        piece: Int = .max
    ) -> CodingProblem? {
        do throws(CodingProblem) {
            _ = try decoded(bytes, coding, bytesMax: bytesMax, ratioMax: ratioMax, piece: piece)
            return nil
        } catch {
            return error
        }
    }

    @Test(arguments: DecodableCoding.allCases, [1, 2, 3, 1000])
    func `pieces of any length decode to the same`(coding: DecodableCoding, piece: Int) throws {
        let bytes = sampleBytes(20_000)
        #expect(try decoded(try coded(bytes, coding), coding, piece: piece) == bytes)
    }

    @Test(arguments: [1, 2, 100])
    func `deflate without zlib's frame is read too`(piece: Int) throws {
        let bytes = sampleBytes(500)
        // RFC 1950: two bytes before, the four of Adler-32 behind.
        let bare = Array(try encoded(bytes, .deflate).dropFirst(2).dropLast(4))
        #expect(try decoded(bare, .deflate, piece: piece) == bytes)
        // A stored block and the last, empty one, as RFC 1951 §3.2.4 has them.
        let stored: [UInt8] = [0, 2, 0, 0xFD, 0xFF, 0x68, 0x69, 3, 0]
        #expect(try decoded(stored, .deflate, piece: piece) == Array("hi".utf8))
        #expect(try decoded([3, 0], .deflate, piece: piece) == [])
    }

    @Test(arguments: [1, 10, 1 << 20])
    func `several gzip members are one body`(piece: Int) throws {
        let members = try encoded([1, 2], .gzip) + encoded([], .gzip) + encoded([3], .gzip)
        #expect(try decoded(members, .gzip, piece: piece) == [1, 2, 3])
        let twice = try encoded([1], .deflate) + encoded([2], .deflate)
        #expect(problem(twice, .deflate, piece: piece) == .corrupt)
    }

    @Test(
        arguments: [[0], [0, 0, 0], [0x1F], [0x1F, 0], Array("garbage".utf8)],
        [1, 2, 1 << 20]
    )
    func `what follows a gzip stream is dropped`(rest: [UInt8], piece: Int) throws {
        let whole = try encoded([1, 2], .gzip)
        #expect(try decoded(whole + rest, .gzip, piece: piece) == [1, 2])
        let two = whole + (try encoded([3], .gzip))
        #expect(try decoded(two + rest, .gzip, piece: piece) == [1, 2, 3])
        #expect(problem(Array(two.dropLast()), .gzip, piece: piece) == .truncated)
    }

    @Test(arguments: DecodableCoding.allCases)
    func `a body of no bytes is nothing, and one cut off is truncated`(
        coding: DecodableCoding
    ) throws {
        #expect(try decoded([], coding) == [])
        let whole = try coded(sampleBytes(300), coding)
        for count in 1..<whole.count {
            #expect(problem(Array(whole.prefix(count)), coding) == .truncated)
        }
        #expect((problem(whole + [0], coding) == nil) == (coding == .gzip))
    }

    @Test func `a changed byte of the data or its check is corrupt`() throws {
        let whole = try encoded(sampleBytes(300), .gzip)
        for index in [0, 1, 2, whole.count - 8, whole.count - 1] {
            var bytes = whole
            bytes[index] ^= 0xFF
            #expect(problem(bytes) == .corrupt, "byte \(index)")
        }
        #expect(problem(Array("{\"plain\": true}".utf8)) == .corrupt)
        #expect(problem(Array("{\"plain\": true}".utf8), .deflate) != nil)
    }

    @Test func `no byte in any place traps, and the output keeps its bound`() throws {
        for coding in DecodableCoding.allCases {
            let whole = try coded(sampleBytes(60), coding)
            for index in whole.indices {
                for bit in 0..<8 {
                    var bytes = whole
                    bytes[index] ^= 1 << UInt8(bit)
                    let output = try? decoded(bytes, coding, bytesMax: 100)
                    #expect((output ?? []).count <= 100)
                }
            }
        }
    }

    @Test(arguments: DecodableCoding.allCases)
    func `a body may be as long as the bound and no longer`(coding: DecodableCoding) throws {
        let whole = try coded(sampleBytes(40_000), coding)
        #expect(problem(whole, coding, bytesMax: 40_000) == nil)
        #expect(problem(whole, coding, bytesMax: 39_999) == .tooLong(bytesMax: 39_999))
        #expect(problem(whole, coding, bytesMax: 0) == .tooLong(bytesMax: 0))
        #expect(problem(try coded([], coding), coding, bytesMax: 0) == nil)
        #expect(problem(whole, coding, bytesMax: .max, ratioMax: .max) == nil)
    }

    @Test(arguments: DecodableCoding.allCases)
    func `a bomb fails with no more than the bound in memory`(coding: DecodableCoding) throws {
        let bomb = try coded([UInt8](repeating: 0, count: 4 << 20), coding)
        var decoder = ContentDecoder(coding, bytesMax: 256 << 10, ratioMax: .max)
        var output: [UInt8] = []
        #expect(throws: CodingProblem.tooLong(bytesMax: 256 << 10)) {
            try decoder.decode(bomb.span, isLast: true, into: &output)
        }
        #expect(output.count == 256 << 10)
        // The failure is final, and nothing is added to it.
        #expect(throws: CodingProblem.tooLong(bytesMax: 256 << 10)) {
            try decoder.decode(Span(), isLast: true, into: &output)
        }
        #expect(output.count == 256 << 10)
    }

    @Test(arguments: DecodableCoding.allCases)
    func `the ratio counts beyond 64 KiB`(coding: DecodableCoding) throws {
        let short = try coded([UInt8](repeating: 0, count: ContentDecoder.freeBytes), coding)
        #expect(problem(short, coding, ratioMax: 10) == nil)
        let long = try coded([UInt8](repeating: 0, count: ContentDecoder.freeBytes + 1), coding)
        #expect(problem(long, coding, ratioMax: 10) == .tooDense(ratioMax: 10))
        #expect(problem(long, coding, ratioMax: 10_000) == nil)
    }

    @Test func `every problem has its sentence`() {
        let problems: [CodingProblem] = [
            .memory, .corrupt, .truncated, .tooLong(bytesMax: 7), .tooDense(ratioMax: 7), .tooWide,
        ]
        #expect(Set(problems.map(\.sentence)).count == problems.count)
    }
}
