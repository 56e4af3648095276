// The trace of one exchange: where it stands, what goes upstream, and what happened when.
import LupinCore
import LupinIO
import LupinPolicy
import LupinRecords

/// What a snapshot exports; nil in the snapshot where telemetry is off.
///
/// A class, so that an exchange pays one look at a reference where it is off.
final class TelemetryPlan: Sendable {
    let export: ExportSettings
    let inherited: TraceContext?

    init(_ export: ExportSettings, inherited: TraceContext?) {
        self.export = export
        self.inherited = inherited
    }

    /// The trace that an exchange joins or begins; nil where it is not traced.
    ///
    /// A request with a trace that is not recorded passes untouched.
    func context(
        of exchange: ExchangeID,
        joining own: TraceContext?,
        rule: Bool?
    ) -> (trace: TraceID, parent: TraceContext?, isSampled: Bool)? {
        guard rule != false, let sampling = export.traces else { return nil }
        let parent = own ?? inherited
        guard let trace = parent?.trace ?? TraceID(exchange) else { return nil }
        let isSampled = sampling.keeps(trace, joining: parent)
        guard isSampled || (rule == true && own == nil) else { return nil }
        return (trace, parent, isSampled)
    }
}

/// The trace of an exchange under way; confined to its worker.
final class ExchangeTrace {
    let trace: TraceID
    /// The span of the exchange.
    let span: SpanID
    let parent: TraceContext?
    let isSampled: Bool
    /// The origin sees the trace: the request brought it along, or a rule says so.
    let isSentOn: Bool
    /// The marks so far.
    private(set) var marks: [TraceMark] = []
    /// The exchange's beginning: by the loop's clock, and in microseconds since 1970.
    private let begun: (loop: UInt64, wall: Int64)
    private let random: () -> UInt64
    /// When the look-up under way began.
    private var lookBegan: UInt64?

    /// Further marks are left out: an exchange may wait for many tokens.
    private static let marksMax = 32

    init(
        _ trace: TraceID,
        joining parent: TraceContext?,
        isSampled: Bool,
        isSentOn: Bool,
        begun: (loop: UInt64, wall: Int64),
        random: @escaping () -> UInt64
    ) {
        self.trace = trace
        self.parent = parent
        self.isSampled = isSampled
        self.isSentOn = isSentOn
        self.begun = begun
        self.random = random
        span = SpanID(random: random())
    }

    func nextSpan() -> SpanID { SpanID(random: random()) }

    /// A time of the loop's clock in microseconds since 1970.
    func wall(_ time: UInt64) -> Int64 {
        begun.wall.addingSaturated(Int64(clamping: time)).subtractingSaturated(
            Int64(clamping: begun.loop)
        )
    }

    func mark(_ kind: TraceMark.Kind, since began: UInt64, until end: UInt64) {
        guard isSampled, marks.count < Self.marksMax else { return }
        marks.append(TraceMark(kind, nextSpan(), begun: wall(began), ended: wall(end)))
    }

    /// The cache is asked from now on.
    func beginLook(at now: UInt64) { lookBegan = now }

    /// The cache has said what it has; later calls do nothing.
    func endLook(_ status: @autoclosure () -> String, at now: UInt64) {
        guard let began = lookBegan.take() else { return }
        mark(.cache(status: status()), since: began, until: now)
    }

    /// Where the finished exchange stands; nil where its trace is not recorded.
    var spanContext: SpanContext? {
        guard isSampled else { return nil }
        return SpanContext(
            trace: trace,
            span: span,
            parent: parent?.span,
            state: parent?.state ?? TraceState(),
            marks: marks
        )
    }

    /// The request of an attempt: with the attempt's span, where the origin sees the trace.
    func carried(_ adapted: AdaptedRequest, by span: SpanID) -> AdaptedRequest {
        guard isSentOn, adapted.head.method != .connect else { return adapted }
        let state = parent?.state ?? TraceState()
        let context = TraceContext(trace: trace, span: span, isSampled: isSampled, state: state)
        return adapted.with(context)
    }
}

extension AdaptedRequest {
    /// A copy that continues a trace.
    fileprivate func with(_ context: TraceContext) -> AdaptedRequest {
        var traced = request
        traced.head.fields.set(name: TraceContext.parentField, value: context.parentText)
        if context.state.members.isEmpty {
            traced.head.fields.remove(name: TraceContext.stateField)
        } else {
            traced.head.fields.set(name: TraceContext.stateField, value: context.state.text)
        }
        return AdaptedRequest(traced, hop: hop, known: known)
    }
}

extension Exchange {
    /// Begins the trace, now that the rules are known; costs one look where telemetry is off.
    @inline(__always)
    func beginTrace() {
        if let telemetry = snapshot.telemetry, trace == nil { beginTrace(by: telemetry) }
    }

    private func beginTrace(by telemetry: TelemetryPlan) {
        let rule = plan?.trace
        let own = TraceContext(
            parents: request.fields.values(of: TraceContext.parentField),
            states: request.fields.values(of: TraceContext.stateField)
        )
        guard let begun = telemetry.context(of: record.id, joining: own, rule: rule) else { return }
        trace = ExchangeTrace(
            begun.trace,
            joining: begun.parent,
            isSampled: begun.isSampled,
            isSentOn: begun.parent != nil || rule == true,
            begun: (self.begun, record.startMicroseconds),
            random: { [resources] in resources.chance() }
        )
    }

    /// Where a request stands that this exchange has lupin make: in the trace of the exchange, or
    /// in one of its own where the exchange has none; nil where that is not recorded.
    var contextOfOwnRequest: OwnRequestContext? {
        if let trace {
            guard trace.isSampled else { return nil }
            let state = trace.parent?.state ?? TraceState()
            return OwnRequestContext(trace: trace.trace, parent: trace.span, state: state)
        }
        let own = snapshot.telemetry?.context(of: resources.nextID(), joining: nil, rule: nil)
        guard let own, own.isSampled else { return nil }
        let state = own.parent?.state ?? TraceState()
        return OwnRequestContext(trace: own.trace, parent: own.parent?.span, state: state)
    }

    /// Notes what an attempt without an object of its own, that of a tunnel, was.
    func traced(_ facts: AttemptRecord, since began: UInt64) -> AttemptRecord {
        guard let trace, trace.isSampled else { return facts }
        var facts = facts
        facts.span = AttemptSpan(
            trace.nextSpan(),
            begun: trace.wall(began),
            ended: trace.wall(slot.loop.now)
        )
        return facts
    }

    /// When the client got the first byte of its response, in microseconds after the request's;
    /// nil where there was no response.
    var firstByte: Int64? {
        deliveryBegun > 0 ? Int64(clamping: deliveryBegun &- begun) : nil
    }
}
