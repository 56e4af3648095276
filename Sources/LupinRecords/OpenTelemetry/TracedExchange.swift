// A finished exchange that has a trace: its record, and what the record does not say.

package import LupinCore

/// A part of an exchange that is no attempt.
package struct TraceMark: Sendable, Equatable {
    package enum Kind: Sendable, Equatable {
        /// The cache was asked, and said this.
        case cache(status: String)
        /// The exchange waited for a credential.
        case token(name: String)
    }

    package var kind: Kind
    package var id: SpanID
    /// Microseconds since 1970.
    package var begun: Int64
    package var ended: Int64

    package init(_ kind: Kind, _ id: SpanID, begun: Int64, ended: Int64) {
        self.kind = kind
        self.id = id
        self.begun = begun
        self.ended = ended
    }
}

/// A finished exchange for export.
package struct TracedExchange: Sendable {
    package var record: ExchangeRecord
    package var context: SpanContext?

    package init(_ record: ExchangeRecord, _ context: SpanContext?) {
        self.record = record
        self.context = context
    }
}

/// Where an exchange stands in a trace that is recorded.
package struct SpanContext: Sendable {
    package var trace: TraceID
    /// The span of the exchange.
    package var span: SpanID
    /// The span of the caller; nil where the trace begins here.
    package var parent: SpanID?
    package var state: TraceState
    package var marks: [TraceMark]

    package init(
        trace: TraceID,
        span: SpanID,
        parent: SpanID?,
        state: TraceState = TraceState(),
        marks: [TraceMark] = []
    ) {
        self.trace = trace
        self.span = span
        self.parent = parent
        self.state = state
        self.marks = marks
    }
}
