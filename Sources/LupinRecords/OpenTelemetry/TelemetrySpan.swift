// A span and a log record as values, before they are encoded.

package import LupinCore

/// One span (OpenTelemetry: trace.proto, `Span`).
package struct TelemetrySpan: Sendable, Equatable {
    /// The raw value is the number of the protocol's enum.
    package enum Kind: UInt64, Sendable {
        case `internal` = 1
        case server = 2
        case client = 3
    }

    package var trace: TraceID
    package var id: SpanID
    package var parent: SpanID?
    /// Whether the parent is another program's span.
    package var isParentRemote = false
    package var state = TraceState()
    package var name: String
    package var kind: Kind
    /// Microseconds since 1970.
    package var begun: Int64
    package var ended: Int64
    package var attributes = TelemetryAttributes()
    package var isError = false
    /// A sentence about the error; redacted.
    package var message = ""

    package init(
        trace: TraceID,
        id: SpanID,
        parent: SpanID?,
        name: String,
        kind: Kind,
        begun: Int64,
        ended: Int64
    ) {
        self.trace = trace
        self.id = id
        self.parent = parent
        self.name = name
        self.kind = kind
        self.begun = begun
        // A span never ends before it begins, whatever the clock did.
        self.ended = max(begun, ended)
    }

    /// The flags of the protocol: W3C's in the lowest byte, and whether the parent is remote.
    var flags: UInt64 { isParentRemote ? 0x301 : 0x101 }
}

/// One log record (logs.proto, `LogRecord`).
package struct TelemetryLog: Sendable, Equatable {
    /// The raw value is the number of the protocol's enum.
    package enum Severity: UInt64, Sendable {
        case info = 9
        case warning = 13
        case error = 17

        var text: String {
            switch self {
            case .info: "INFO"
            case .warning: "WARN"
            case .error: "ERROR"
            }
        }
    }

    /// Microseconds since 1970.
    package var time: Int64
    package var severity: Severity
    package var body: String
    package var attributes: TelemetryAttributes
    /// The span of the exchange, where it has one.
    package var trace: TraceID?
    package var span: SpanID?

    package init(
        time: Int64,
        severity: Severity,
        body: String,
        attributes: TelemetryAttributes,
        trace: TraceID? = nil,
        span: SpanID? = nil
    ) {
        self.time = time
        self.severity = severity
        self.body = body
        self.attributes = attributes
        self.trace = trace
        self.span = span
    }
}
