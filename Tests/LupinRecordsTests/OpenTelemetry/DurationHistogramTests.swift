// Which bucket a duration falls into, and how sums are written.

import LupinRecords
import Testing

struct DurationHistogramTests {
    @Test func `a bound belongs to the bucket below it`() {
        for (i, bound) in DurationHistogram.bounds.enumerated() {
            var histogram = DurationHistogram()
            histogram.note(bound)
            #expect(histogram.bucketCounts[i] == 1)
            histogram.note(bound + 1)
            #expect(histogram.bucketCounts[i + 1] == 1)
            #expect(histogram.count == 2)
        }
        #expect(DurationHistogram.bounds == DurationHistogram.bounds.sorted())
    }

    @Test func `odd durations count, too`() {
        var histogram = DurationHistogram()
        for time in [Int64.min, -1, 0, .max] { histogram.note(time) }
        #expect(histogram.bucketCounts.first == 3)
        #expect(histogram.bucketCounts.last == 1)
    }

    @Test func `histograms add up`() {
        var (a, b) = (DurationHistogram(), DurationHistogram())
        a.note(1000)
        b.note(2000)
        b.note(99_000_000)
        a.add(b)
        #expect(a.count == 3)
        #expect(a.sumMicroseconds == 99_003_000)
        #expect(a.bucketCounts.reduce(0, +) == 3)
    }

    @Test(arguments: [
        (0, "0"), (1, "0.000001"), (1_500_000, "1.5"), (1000, "0.001"), (2_000_000, "2"),
        (UInt64.max, "18446744073709.551615"),
    ])
    func `seconds are written without an exponent`(microseconds: UInt64, text: String) {
        #expect(DurationHistogram.secondsText(microseconds) == text)
    }
}
