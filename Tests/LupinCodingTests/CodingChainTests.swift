// Codings of a body that passes in pieces: undone in their order, and refused when they can't be.
import LupinCoding
import LupinTestKit
import Testing

struct CodingChainTests {
    private static let text = Array("The quick brown fox jumps over the lazy dog. ".utf8)

    private func decoded(
        _ bytes: [UInt8],
        _ codings: [String],
        pieces: Int
    ) throws -> [UInt8] {
        let chain = try #require(CodingChain(codings))
        var output: [UInt8] = []
        for start in stride(from: 0, to: bytes.count, by: pieces) {
            let piece = Array(bytes[start..<min(start + pieces, bytes.count)])
            output += try chain.decode(piece.span, isLast: false)
        }
        return output + (try chain.decode([UInt8]().span, isLast: true))
    }

    @Test(arguments: [["gzip"], ["deflate"], ["gzip", "deflate"], []], [1, 7, 4096])
    func `each coding comes off, the last one first`(codings: [String], pieces: Int) throws {
        let body = Array(repeatElement(Self.text, count: 100).joined())
        let coded = try WholeBody.encoded(body, with: codings)
        #expect(try decoded(coded, codings, pieces: pieces) == body)
    }

    @Test(arguments: [1, 4096])
    func `brotli comes off`(pieces: Int) throws {
        let coded = CompressedBody.brotli(Self.text)
        #expect(try decoded(coded, ["br"], pieces: pieces) == Self.text)
    }

    /// Each coding for itself stays below the ratio: gzip makes 1,000 of one byte, and of that
    /// again.
    @Test(arguments: [0, 3 << 20])
    func `a few bytes that become many MiB are refused`(before: Int) throws {
        var numbers = Numbers(state: 1)
        let noise = (0..<before).map { _ in UInt8(numbers.next(below: 256)) }
        let body = noise + [UInt8](repeating: 0, count: 64 << 20)
        let coded = try WholeBody.encoded(body, with: ["gzip", "gzip"])
        #expect(coded.count < noise.count + 100_000)
        #expect(throws: CodingProblem.tooDense(ratioMax: 1100)) {
            try decoded(coded, ["gzip", "gzip"], pieces: CodingChain.pieceBytes)
        }
    }

    @Test func `what lupin can't undo has no chain`() {
        #expect(CodingChain(["gzip", "exi"]) == nil)
        #expect(CodingChain(Array(repeating: "gzip", count: 6)) == nil)
        #expect(CodingChain([])?.isEmpty == true)
        #expect(CodingChain(["gzip"])?.isEmpty == false)
    }

    @Test func `a body that ends early is a problem`() throws {
        let coded = try WholeBody.encoded(Self.text, with: ["gzip"])
        #expect(throws: CodingProblem.truncated) {
            try decoded(Array(coded.dropLast(4)), ["gzip"], pieces: 4096)
        }
    }
}
