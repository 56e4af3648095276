// The place in a trace that a request brings along, and how it is written.

/// A position in a trace: what `traceparent` and `tracestate` say (W3C Trace Context §3).
package struct TraceContext: Hashable, Sendable {
    /// The name of the field, and of the variable in upper case.
    package static let parentField = "traceparent"
    package static let stateField = "tracestate"

    package var trace: TraceID
    /// The span that the next one is a child of.
    package var span: SpanID
    /// Whether the caller records the trace.
    package var isSampled: Bool
    package var state = TraceState()

    package init(trace: TraceID, span: SpanID, isSampled: Bool, state: TraceState = TraceState()) {
        self.trace = trace
        self.span = span
        self.isSampled = isSampled
        self.state = state
    }

    /// Reads the fields of a request; nil where there is none, or where it is malformed: then a new
    /// trace begins (§4.3).
    ///
    /// A malformed `tracestate` alone is dropped.
    /// - Parameters:
    ///   - parents: The values of all `traceparent` fields; more than one is malformed.
    ///   - states: The values of all `tracestate` fields, in order: parts of one list.
    package init?(parents: [String], states: [String]) {
        guard parents.count == 1, let parent = Self.parent(Array(parents[0].utf8).span) else {
            return nil
        }
        self = parent
        state = TraceState(states) ?? TraceState()
    }

    /// Reads the variables `TRACEPARENT` and `TRACESTATE`; nil as above.
    package init?(environment: [String: String]) {
        self.init(
            parents: environment["TRACEPARENT"].map { [$0] } ?? [],
            states: environment["TRACESTATE"].map { [$0] } ?? []
        )
    }

    /// The value of `traceparent`: always of version 00, which is the one that lupin knows (§4.3).
    package var parentText: String {
        "00-\(trace.text)-\(span.text)-\(isSampled ? "01" : "00")"
    }

    /// The length of version 00; later ones are that long at least.
    private static let lengthMin = 55

    /// Parses `00-` trace `-` span `-` flags.
    ///
    /// Of a later version the same parts are read, and what is behind them is ignored (§3.2.4).
    private static func parent(_ text: Span<UInt8>) -> TraceContext? {
        let text = text.extracting(text.trimmedRange)
        guard text.count >= lengthMin, isLowerHex(text, 0..<2),
            [2, 35, 52].allSatisfy({ text[$0] == 0x2D }),
            isLowerHex(text, 3..<35), isLowerHex(text, 36..<52), isLowerHex(text, 53..<55),
            let version = NumberReader.hexadecimalByte(text, at: 0), version != 0xFF,
            let flags = NumberReader.hexadecimalByte(text, at: 53)
        else { return nil }
        if text.count > lengthMin, version == 0 || text[lengthMin] != 0x2D { return nil }
        guard let high = NumberReader.hexadecimal(text.extracting(3..<19)),
            let low = NumberReader.hexadecimal(text.extracting(19..<35)),
            let trace = TraceID(high: high, low: low),
            let span = NumberReader.hexadecimal(text.extracting(36..<52)).flatMap({ SpanID($0) })
        else { return nil }
        return TraceContext(trace: trace, span: span, isSampled: flags & 1 == 1)
    }

    /// Upper case is malformed (§3.2.2.3).
    private static func isLowerHex(_ text: Span<UInt8>, _ range: Range<Int>) -> Bool {
        for i in range where !(text[i].isASCIIDigit || (0x61...0x66).contains(text[i])) {
            return false
        }
        return true
    }
}
