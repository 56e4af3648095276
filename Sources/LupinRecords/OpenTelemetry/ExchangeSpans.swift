// Makes spans and a log record of a finished exchange, by OpenTelemetry's HTTP conventions.

package import LupinCore

/// The telemetry of finished exchanges.
///
/// All texts pass through the redactor, as those of the record do; nothing else of a message is
/// exported: no field but `User-Agent`, and no body.
///
/// The span of an exchange is of kind SERVER: lupin receives a request and its client waits for the
/// response, which is what the specification calls SERVER ("SpanKind"). INTERNAL would be wrong,
/// since the parent is in another process, and backends draw a call between services only from
/// CLIENT to SERVER. Attempts are its children, of kind CLIENT.
package struct ExchangeSpans: Sendable {
    private let redactor: Redactor

    package init(_ redactor: Redactor) { self.redactor = redactor }

    /// A text without secrets.
    func cleaned(_ text: String) -> String { redactor.cleaned(text) }

    // MARK: Spans

    /// The spans of an exchange, its own first; none where it has no place in a trace.
    package func spans(of exchange: TracedExchange) -> [TelemetrySpan] {
        guard let context = exchange.context else { return [] }
        let record = exchange.record
        var spans = [ownSpan(of: record, at: context)]
        for mark in context.marks { spans.append(span(of: mark, record, at: context)) }
        for (i, attempt) in record.attempts.enumerated() {
            if let span = span(of: attempt, number: i, record, at: context) { spans.append(span) }
        }
        return spans
    }

    private func ownSpan(of record: ExchangeRecord, at context: SpanContext) -> TelemetrySpan {
        var span = TelemetrySpan(
            trace: context.trace,
            id: context.span,
            parent: context.parent,
            name: Self.name(of: record),
            kind: .server,
            begun: record.startMicroseconds,
            ended: record.startMicroseconds.addingSaturated(record.timing.total ?? 0)
        )
        span.isParentRemote = context.parent != nil
        span.state = context.state
        var attributes = common(of: record)
        if let request = record.request, let origin = record.origin, request.form != .authority {
            let url = redactor.recordedURL(of: request, at: origin)
            let rest = Self.pathAndQuery(of: url)
            attributes.add(.path, text: String(rest.prefix { $0 != "?" }))
            let query = rest.drop { $0 != "?" }.dropFirst()
            attributes.add(.query, text: String(query))
        }
        if record.client.address != nil { attributes.add(.clientPort, number: record.client.port) }
        if let agent = record.request?.fields.value(of: .userAgent) {
            attributes.add(.userAgent, text: redactor.cleaned(agent))
        }
        span.attributes = attributes
        let failure = Self.failure(record.error, status: record.response?.status, from: 500)
        span.isError = failure != nil || record.outcome == .truncated
        if let error = record.error { span.message = redactor.cleaned(error.detail) }
        return span
    }

    private func span(
        of attempt: AttemptRecord,
        number: Int,
        _ record: ExchangeRecord,
        at context: SpanContext
    ) -> TelemetrySpan? {
        guard let noted = attempt.span else { return nil }
        let receiving = attempt.decision == .deliver ? attempt.timing.receive ?? 0 : 0
        var span = TelemetrySpan(
            trace: context.trace,
            id: noted.id,
            parent: context.span,
            name: Self.name(of: record),
            kind: .client,
            begun: noted.begun,
            ended: noted.ended.addingSaturated(receiving)
        )
        span.state = context.state
        var attributes = TelemetryAttributes()
        addMethod(of: record, to: &attributes)
        addTarget(of: attempt, record, to: &attributes)
        if attempt.status > 0 { attributes.add(.status, number: attempt.status) }
        let failure = Self.failure(attempt.error, status: attempt.status, from: 400)
        attributes.add(.errorType, text: failure)
        if number > 0 { attributes.add(.resendCount, number: number) }
        if let peer = attempt.peer {
            attributes.add(.peerAddress, text: peer.text)
            attributes.add(.peerPort, number: attempt.peerPort)
        }
        if let version = attempt.version {
            attributes.add(.protocolName, text: "http")
            attributes.add(.protocolVersion, text: version.text)
        }
        attributes.add(.tlsVersion, text: attempt.tls.map(Self.text))
        attributes.add(.cause, text: attempt.cause.rawValue)
        attributes.add(.decision, text: attempt.decision.rawValue)
        attributes.add(.reason, text: redactor.cleaned(attempt.reason))
        if attempt.isReused { attributes.add(.isReused, .flag(true)) }
        attributes.add(.blocked, microseconds: attempt.timing.blocked)
        attributes.add(.dns, microseconds: attempt.timing.dns)
        attributes.add(.tcp, microseconds: attempt.timing.tcp)
        attributes.add(.tls, microseconds: attempt.timing.tls)
        attributes.add(.wait, microseconds: attempt.timing.wait)
        span.attributes = attributes
        span.isError = failure != nil
        if let error = attempt.error { span.message = redactor.cleaned(error.detail) }
        return span
    }

    private func span(
        of mark: TraceMark,
        _ record: ExchangeRecord,
        at context: SpanContext
    ) -> TelemetrySpan {
        var attributes = TelemetryAttributes()
        let name: String
        switch mark.kind {
        case .cache(let status):
            name = "cache look-up"
            attributes.add(.cacheStatus, text: status)
        case .token(let token):
            name = "token"
            attributes.add(.token, text: redactor.cleaned(token))
        }
        var span = TelemetrySpan(
            trace: context.trace,
            id: mark.id,
            parent: context.span,
            name: name,
            kind: .internal,
            begun: mark.begun,
            ended: mark.ended
        )
        span.state = context.state
        span.attributes = attributes
        if case .token = mark.kind, record.authentication?.action == .failed { span.isError = true }
        return span
    }

    // MARK: Log records

    /// The log record of an exchange.
    package func log(of exchange: TracedExchange) -> TelemetryLog {
        let record = exchange.record
        var attributes = common(of: record)
        let summary = RecordSummary(record, dropped: 0, redactor: redactor)
        if record.request.map({ $0.form != .authority }) == true {
            attributes.add(.fullURL, text: summary.url)
        }
        let status = summary.status > 0 ? " \(summary.status)" : ""
        let body = "\(summary.method) \(summary.url)\(status) \(record.outcome.rawValue)"
        return TelemetryLog(
            time: record.startMicroseconds.addingSaturated(record.timing.total ?? 0),
            severity: Self.severity(of: record.outcome),
            body: body,
            attributes: attributes,
            trace: exchange.context?.trace,
            span: exchange.context?.span
        )
    }

    private static func severity(of outcome: ExchangeRecord.Outcome) -> TelemetryLog.Severity {
        switch outcome {
        case .ok: .info
        case .aborted, .denied: .warning
        case .error, .truncated: .error
        }
    }

    // MARK: Attributes

    /// What span and log record have in common.
    private func common(of record: ExchangeRecord) -> TelemetryAttributes {
        var attributes = TelemetryAttributes()
        addMethod(of: record, to: &attributes)
        if let origin = record.origin {
            if record.request?.form != .authority {
                attributes.add(.scheme, text: origin.scheme.name)
            }
            attributes.add(.serverAddress, text: redactor.cleaned(origin.host.text))
            attributes.add(.serverPort, number: origin.port)
        }
        attributes.add(.status, number: record.response?.status)
        let failure = Self.failure(record.error, status: record.response?.status, from: 500)
        attributes.add(.errorType, text: failure)
        attributes.add(.clientAddress, text: record.client.address?.text)
        attributes.add(.protocolName, text: "http")
        attributes.add(.protocolVersion, text: record.version.text)
        attributes.add(.requestSize, number: record.requestBodyBytes)
        attributes.add(.responseSize, number: record.responseBodyBytes)
        attributes.add(.exchangeID, text: record.id.text)
        attributes.add(.outcome, text: record.outcome.rawValue)
        attributes.add(.mode, text: record.mode.rawValue)
        if !record.rules.matched.isEmpty {
            attributes.add(.rules, .texts(record.rules.matched.map { redactor.cleaned($0) }))
        }
        attributes.add(.program, text: record.client.program.map { redactor.cleaned($0) })
        attributes.add(.cacheStatus, text: record.cache)
        if let use = record.authentication {
            attributes.add(.token, text: redactor.cleaned(use.token))
            if use.version > 0 { attributes.add(.tokenVersion, number: use.version) }
            attributes.add(.tokenAction, text: use.action.rawValue)
        }
        return attributes
    }

    private func addMethod(of record: ExchangeRecord, to attributes: inout TelemetryAttributes) {
        switch record.request?.method {
        case nil: break
        case .other(let token)?:
            attributes.add(.method, text: "_OTHER")
            attributes.add(.originalMethod, text: redactor.cleaned(token))
        case let method?: attributes.add(.method, text: method.token)
        }
    }

    /// Adds the URL, host and port of an attempt: its own, or the client's.
    private func addTarget(
        of attempt: AttemptRecord,
        _ record: ExchangeRecord,
        to attributes: inout TelemetryAttributes
    ) {
        var origin = record.origin
        if let own = attempt.url {
            if let parsed = HTTPURL(own) {
                origin = parsed.origin
                attributes.add(.fullURL, text: redactor.cleaned(own))
            }
        } else if let request = record.request, request.form != .authority, let origin {
            attributes.add(.fullURL, text: redactor.recordedURL(of: request, at: origin))
        }
        guard let origin else { return }
        attributes.add(.serverAddress, text: redactor.cleaned(origin.host.text))
        attributes.add(.serverPort, number: origin.port)
    }

    /// The name of a span: the method alone, since lupin knows no route of the server's.
    private static func name(of record: ExchangeRecord) -> String {
        switch record.request?.method {
        case nil, .other?: "HTTP"
        case let method?: method.token
        }
    }

    /// The error's type: a token of RFC 9209, or a status from `least` on.
    static func failure(
        _ error: LupinError?,
        status: UInt16?,
        from least: UInt16
    ) -> String? {
        if let error { return error.kind.token }
        guard let status, status >= least else { return nil }
        return "\(status)"
    }

    private static func pathAndQuery(of url: String) -> Substring {
        guard let marker = url.firstRange(of: "://") else { return "" }
        return url[marker.upperBound...].drop { $0 != "/" }
    }

    private static func text(_ version: TLSVersion) -> String {
        switch version {
        case .tls12: "1.2"
        case .tls13: "1.3"
        }
    }
}

extension TelemetryAttributes {
    fileprivate mutating func add(_ name: TelemetryName, number: (some BinaryInteger)?) {
        if let number { add(name, number: UInt64(clamping: number)) }
    }
}
