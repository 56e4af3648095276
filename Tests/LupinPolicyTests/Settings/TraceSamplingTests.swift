// Which share of traces a text means, and which traces it keeps.

import LupinCore
import LupinPolicy
import Testing

struct TraceSamplingTests {
    @Test(arguments: [
        ("5%", 50_000), ("100%", 1_000_000), ("0%", 0), ("0.25%", 2500), ("12.5%", 125_000),
        ("0.0001%", 1),
    ])
    func `a share is read and written`(text: String, millionths: Int) {
        #expect(TraceShare(percent: text)?.millionths == UInt64(millionths))
        #expect(TraceShare(percent: text)?.percentText == text)
    }

    @Test(arguments: ["", "5", "%", "101%", "-1%", "1e2%", "5.%", "5.00001%", "100.0001%", "x%"])
    func `other texts are no share`(text: String) {
        #expect(TraceShare(percent: text) == nil)
    }

    @Test func `a ratio is read as OpenTelemetry writes it`() {
        #expect(TraceShare(ratio: "0.05")?.percentText == "5%")
        #expect(TraceShare(ratio: "1")?.percentText == "100%")
        #expect(TraceShare(ratio: "1.0")?.percentText == "100%")
        #expect(TraceShare(ratio: "0")?.percentText == "0%")
        #expect(TraceShare(ratio: "0.333333333333")?.percentText == "33.3333%")
        for text in ["", "1.1", "2", ".5", "0.", "0.x", "-0.5", "0.1.2"] {
            #expect(TraceShare(ratio: text) == nil, "\(text)")
        }
    }

    @Test func `a share keeps the traces below its bound`() throws {
        let first = try #require(TraceID(high: 1, low: 0))
        let last = try #require(TraceID(high: 1, low: .max))
        #expect(TraceShare.all.keeps(first) && TraceShare.all.keeps(last))
        #expect(!TraceShare.none.keeps(first) && !TraceShare.none.keeps(last))
        #expect(TraceShare.usual.keeps(first) && !TraceShare.usual.keeps(last))
        var generator = SplitMix(state: 7)
        let kept = (0..<20_000).count { _ in
            TraceID(high: 1, low: generator.next()).map(TraceShare.usual.keeps) ?? false
        }
        #expect((800...1200).contains(kept), "\(kept) of 20000 are about 5%")
    }

    @Test func `a trace that was begun elsewhere is kept as its caller says`() throws {
        let trace = try #require(TraceID(high: 1, low: .max))
        let span = SpanID(random: 1)
        let kept = TraceContext(trace: trace, span: span, isSampled: true)
        let dropped = TraceContext(trace: trace, span: span, isSampled: false)
        var sampling = TraceSampling(share: .none)
        #expect(sampling.keeps(trace, joining: kept))
        #expect(!sampling.keeps(trace, joining: nil))
        sampling.share = .all
        #expect(!sampling.keeps(trace, joining: dropped))
        sampling.followsParent = false
        #expect(sampling.keeps(trace, joining: dropped))
    }
}

private struct SplitMix {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ z >> 30) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ z >> 27) &* 0x94D0_49BB_1331_11EB
        return z ^ z >> 31
    }
}
