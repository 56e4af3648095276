// That the random source repeats nothing, across refills and between sources.

import LupinTLS
import Testing

struct RandomnessTests {
    @Test func `words do not repeat across refills`() {
        let source = RandomSource()
        let words = (0..<2000).map { _ in source.next() }
        #expect(Set(words).count == 2000)
    }

    @Test func `two sources give different words`() {
        #expect(RandomSource().next() != RandomSource().next())
    }

    @Test(arguments: [0, 1, 7, 8, 9, 32])
    func `bytes come in the number asked for`(count: Int) {
        #expect(RandomSource.bytes(count: count).count == count)
    }

    @Test func `every bit is set sometimes and cleared sometimes`() {
        let source = RandomSource()
        var ones: UInt64 = 0
        var zeros: UInt64 = 0
        for _ in 0..<200 {
            let word = source.next()
            ones |= word
            zeros |= ~word
        }
        #expect(ones == .max && zeros == .max)
    }
}
