// Codings come off in their order and are put on again.
import LupinCoding
import LupinTestKit
import Testing

struct WholeBodyTests {
    @Test(arguments: [[], ["gzip"], ["deflate"], ["x-gzip", "deflate"], ["deflate", "gzip"]])
    func `a body comes back through its codings`(codings: [String]) throws {
        for count in [0, 1, 100_000, 300_000] {
            let bytes = sampleBytes(count)
            let coded = try WholeBody.encoded(bytes, with: codings)
            #expect(try WholeBody.decoded(coded, from: codings, bytesMax: 1 << 20) == bytes)
        }
    }

    @Test func `codings that lupin never applies come off, too`() throws {
        let bytes = sampleBytes(100_000)
        let twice = try WholeBody.encoded(CompressedBody.brotli(bytes), with: ["gzip"])
        #expect(try WholeBody.decoded(twice, from: ["BR", "gzip"], bytesMax: 1 << 20) == bytes)
        let other = CompressedBody.zstd(CompressedBody.brotli(bytes))
        #expect(try WholeBody.decoded(other, from: ["br", "zstd"], bytesMax: 1 << 20) == bytes)
    }

    @Test func `what is unknown, too long or damaged is told apart`() throws {
        #expect(throws: WholeBody.Problem.unknown(coding: "compress")) {
            try WholeBody.decoded([1], from: ["compress"], bytesMax: 10)
        }
        for coding in ["br", "zstd"] {
            #expect(throws: WholeBody.Problem.unknown(coding: coding)) {
                try WholeBody.encoded([1], with: ["gzip", coding])
            }
        }
        let coded = try WholeBody.encoded(sampleBytes(1000), with: ["gzip"])
        #expect(throws: WholeBody.Problem.tooLong) {
            try WholeBody.decoded(coded, from: ["gzip"], bytesMax: 999)
        }
        #expect(throws: WholeBody.Problem.self) {
            try WholeBody.decoded(Array(coded.dropLast()), from: ["gzip"], bytesMax: 1000)
        }
    }
}
