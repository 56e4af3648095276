// Codings come off in their order and are put on again.
import LupinCoding
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

    @Test func `what is unknown, too long or damaged is told apart`() throws {
        #expect(throws: WholeBody.Problem.unknown(coding: "br")) {
            try WholeBody.decoded([1], from: ["br"], bytesMax: 10)
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
