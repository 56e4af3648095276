// Decides which traces are kept: a share of them, by the trace's identifier.

package import LupinCore

/// A share of all traces, in millionths.
package struct TraceShare: Hashable, Sendable {
    private static let whole: UInt64 = 1_000_000

    /// From 0 to a million.
    package let millionths: UInt64

    package static let all = TraceShare(millionths: whole)
    package static let none = TraceShare(millionths: 0)
    /// What holds where nothing is said.
    package static let usual = TraceShare(millionths: 50_000)

    private init(millionths: UInt64) { self.millionths = millionths }

    /// Parses `5%` or `0.25%`, from 0 to 100, with four decimals at most.
    package init?(percent text: some StringProtocol) {
        guard text.hasSuffix("%"),
            let millionths = Self.fixed(String(text.dropLast()), decimals: 4)
        else { return nil }
        self.init(checking: millionths)
    }

    /// Parses `0.05`, from 0 to 1, as `OTEL_TRACES_SAMPLER_ARG` has it; further decimals count as
    /// nothing.
    package init?(ratio text: some StringProtocol) {
        let parts = text.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        var short = String(parts.first ?? "")
        if parts.count == 2 {
            guard parts[1].utf8.allSatisfy(\.isASCIIDigit) else { return nil }
            short += "." + String(parts[1].prefix(6))
        }
        guard let millionths = Self.fixed(short, decimals: 6) else { return nil }
        self.init(checking: millionths)
    }

    private init?(checking millionths: UInt64) {
        guard millionths <= Self.whole else { return nil }
        self.millionths = millionths
    }

    /// `5%`, `0.25%`.
    package var percentText: String {
        let (percent, rest) = millionths.quotientAndRemainder(dividingBy: 10_000)
        if rest == 0 { return "\(percent)%" }
        var digits = String(rest + 10_000).dropFirst()
        while digits.last == "0" { digits.removeLast() }
        return "\(percent).\(digits)%"
    }

    /// Whether a trace is kept.
    ///
    /// As OpenTelemetry's TraceIdRatioBased does it: identifier and share alone decide, so every
    /// service decides alike.
    package func keeps(_ trace: TraceID) -> Bool {
        if millionths >= Self.whole { return true }
        let bound = (UInt64(1) << 63) / Self.whole * millionths
        return trace.low >> 1 < bound
    }

    /// Parses digits with an optional point as an integer of so many decimals.
    private static func fixed(_ text: String, decimals: Int) -> UInt64? {
        let parts = text.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        guard let first = parts.first, let whole = NumberReader.unsigned(first, max: 1000) else {
            return nil
        }
        var digits = ""
        if parts.count == 2 {
            digits = String(parts[1])
            guard (1...decimals).contains(digits.utf8.count) else { return nil }
        }
        digits += String(repeating: "0", count: decimals - digits.utf8.count)
        guard let rest = NumberReader.unsigned(digits, max: Self.whole) else { return nil }
        // Bounded: by 1000 with six decimals, and a million.
        let scale = (0..<decimals).reduce(UInt64(1)) { result, _ in result * 10 }
        return whole * scale + rest
    }
}

/// Which traces are recorded.
package struct TraceSampling: Hashable, Sendable {
    /// The share of traces that begin here.
    package var share: TraceShare
    /// A trace that a request brings along is kept as its caller says; else by the share, too.
    package var followsParent: Bool

    package init(share: TraceShare = .usual, followsParent: Bool = true) {
        self.share = share
        self.followsParent = followsParent
    }

    /// Whether to record an exchange, which joins `parent` or begins `trace`.
    package func keeps(_ trace: TraceID, joining parent: TraceContext?) -> Bool {
        if followsParent, let parent { return parent.isSampled }
        return share.keeps(trace)
    }
}
