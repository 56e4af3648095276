// A request that lupin makes for itself and that stands in a trace: one for a token.

package import LupinCore

/// Where a request of lupin's own stands in a trace that is recorded.
package struct OwnRequestContext: Sendable {
    package let trace: TraceID
    /// The span of the exchange that needed it, or of that one's caller; nil where its trace begins
    /// with it.
    package let parent: SpanID?
    package let state: TraceState

    package init(trace: TraceID, parent: SpanID?, state: TraceState = TraceState()) {
        self.trace = trace
        self.parent = parent
        self.state = state
    }
}

/// A finished request for a token, for export.
///
/// It has neither the path nor a field nor the body: they may hold secrets.
package struct OwnRequest: Sendable {
    package let context: OwnRequestContext
    package let span: SpanID
    package let method: Method
    package let origin: Origin
    /// The token's name.
    package let token: String
    /// Microseconds since 1970.
    package let begun: Int64
    package var ended: Int64
    /// nil where no response came.
    package var status: UInt16?
    package var error: LupinError?

    package init(
        _ span: SpanID,
        at context: OwnRequestContext,
        _ method: Method,
        to origin: Origin,
        token: String,
        begun: Int64
    ) {
        self.span = span
        self.context = context
        self.method = method
        self.origin = origin
        self.token = token
        self.begun = begun
        ended = begun
    }
}

extension ExchangeSpans {
    /// The span of a request of lupin's own.
    package func span(of request: OwnRequest) -> TelemetrySpan {
        var span = TelemetrySpan(
            trace: request.context.trace,
            id: request.span,
            parent: request.context.parent,
            name: request.method.token,
            kind: .client,
            begun: request.begun,
            ended: request.ended
        )
        span.state = request.context.state
        var attributes = TelemetryAttributes()
        attributes.add(.method, text: request.method.token)
        attributes.add(.serverAddress, text: cleaned(request.origin.host.text))
        attributes.add(.serverPort, number: UInt64(request.origin.port))
        if let status = request.status { attributes.add(.status, number: UInt64(status)) }
        let failure = Self.failure(request.error, status: request.status, from: 400)
        attributes.add(.errorType, text: failure)
        attributes.add(.token, text: cleaned(request.token))
        span.attributes = attributes
        span.isError = failure != nil
        if let error = request.error { span.message = cleaned(error.detail) }
        return span
    }
}
