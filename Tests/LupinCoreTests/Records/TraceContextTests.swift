// What the fields of W3C Trace Context mean, and what is malformed.

import LupinCore
import Testing

struct TraceContextTests {
    private static let trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    private static let span = "00f067aa0ba902b7"
    private static let sample = "00-\(trace)-\(span)-01"

    @Test func `a traceparent is read and written alike`() throws {
        let context = try #require(TraceContext(parents: [Self.sample], states: []))
        #expect(context.trace.text == Self.trace)
        #expect(context.span.text == Self.span)
        #expect(context.isSampled)
        #expect(context.parentText == Self.sample)
        #expect(TraceContext(parents: [" \(Self.sample) "], states: []) == context)
    }

    @Test func `of the flags only the one for sampling counts`() {
        for (flags, isSampled) in [("00", false), ("02", false), ("03", true), ("ff", true)] {
            let context = TraceContext(
                parents: ["00-\(Self.trace)-\(Self.span)-\(flags)"],
                states: []
            )
            #expect(context?.isSampled == isSampled, "\(flags)")
        }
    }

    @Test func `a later version is read as far as it is known, and written as 00`() throws {
        for text in ["cc-\(Self.trace)-\(Self.span)-01", "01-\(Self.trace)-\(Self.span)-01-more"] {
            let context = try #require(TraceContext(parents: [text], states: []), "\(text)")
            #expect(context.parentText == Self.sample)
        }
    }

    @Test(arguments: [
        "",
        "00",
        "ff-\(trace)-\(span)-01",
        "0-\(trace)-\(span)-01",
        "00-\(trace)-\(span)-1",
        "00-\(trace)-\(span)-01-more",
        "00-\(trace)-\(span)-0100",
        "01-\(trace)-\(span)-01more",
        "00-\(trace)-\(span)-0g",
        "00-\(trace.uppercased())-\(span)-01",
        "00-\(trace)-\(span.uppercased())-01",
        "0A-\(trace)-\(span)-01",
        "00-00000000000000000000000000000000-\(span)-01",
        "00-\(trace)-0000000000000000-01",
        "00_\(trace)-\(span)-01",
        "00-\(trace)_\(span)-01",
        "00-\(trace)-\(span)_01",
        "00-\(trace.dropLast())\u{E9}-\(span)-01",
    ])
    func `what is malformed is no context`(text: String) {
        #expect(TraceContext(parents: [text], states: ["a=1"]) == nil)
    }

    @Test func `every beginning of a traceparent is malformed`() {
        for length in 0..<Self.sample.count {
            #expect(TraceContext(parents: [String(Self.sample.prefix(length))], states: []) == nil)
        }
    }

    @Test func `two fields are malformed, as is none`() {
        #expect(TraceContext(parents: [Self.sample, Self.sample], states: []) == nil)
        #expect(TraceContext(parents: [], states: ["a=1"]) == nil)
    }

    @Test func `a malformed tracestate leaves the traceparent alone`() throws {
        let context = try #require(TraceContext(parents: [Self.sample], states: ["A=1"]))
        #expect(context.state == TraceState())
    }

    @Test func `the variables of a pipeline say the same as the fields`() {
        let environment = ["TRACEPARENT": Self.sample, "TRACESTATE": "a=1,b=2"]
        let context = TraceContext(environment: environment)
        #expect(context?.parentText == Self.sample)
        #expect(context?.state.text == "a=1,b=2")
        #expect(TraceContext(environment: ["TRACESTATE": "a=1"]) == nil)
        #expect(TraceContext(environment: ["TRACEPARENT": "x"]) == nil)
    }

    @Test func `identifiers are never all zero`() {
        #expect(TraceID(high: 0, low: 0) == nil)
        #expect(TraceID(high: 1, low: 0)?.text == "00000000000000010000000000000000")
        #expect(SpanID(0) == nil)
        #expect(SpanID(random: 0).text == "0000000000000001")
        #expect(SpanID(random: .max).text == "ffffffffffffffff")
    }
}
