// The data of a line about one stage of an exchange.

package import LupinCore

/// A line of `log.level: event`, an attempt in text form, or a refresh of a credential.
///
/// Created from the values for monitors, so every text in it is redacted already.
package struct StageRecord: Sendable, Equatable {
    /// The raw value is the record's word.
    package enum Stage: String, Sendable, CaseIterable {
        case accepted, matched, adapted
        case tokenWait = "token_wait"
        case connecting, sent, progress, response, retrying, cached, finished
        /// `"event":"attempt"`; the JSON line has the attempt's own object.
        case attempt
        /// `"event":"token"`; belongs to no single exchange, but to all that use the credential.
        case token
    }

    package var stage: Stage
    package var id = ""
    /// Wall clock, µs since 1970-01-01T00:00:00Z.
    package var microseconds: Int64 = 0
    /// Counted from 1; 0 before the first.
    package var attempt = 0
    package var host = ""
    package var rules: [String] = []

    // Further data of the stage; empty, 0 and nil are omitted.
    package var method = ""
    package var url = ""
    package var client: ClientSummary?
    package var steps: [String] = []
    package var token = ""
    package var version: UInt64?
    package var action = ""
    package var detail = ""
    /// The target of a request or of a connection.
    package var target = ""
    package var peer = ""
    package var httpVersion = ""
    package var isReused = false
    package var sentBytes: UInt64?
    package var receivedBytes: UInt64?
    package var status: UInt16 = 0
    package var cause = ""
    package var decision = ""
    package var reason = ""
    package var delayMicroseconds: Int64?
    package var cache = ""
    package var outcome = ""
    package var totalMicroseconds: Int64?
    package var failure: FailureSummary?

    package init(_ stage: Stage) { self.stage = stage }

    /// Creates a stage of an exchange, with the data that all stages share.
    package init(_ stage: Stage, of exchange: ExchangeMoment) {
        self.stage = stage
        id = exchange.id
        microseconds = exchange.microseconds
        attempt = exchange.attempt
        host = exchange.host
        rules = exchange.rules
    }

    /// Creates the end of an attempt, or the decision for another one.
    package init(_ stage: Stage, _ attempt: AttemptSummary, of exchange: ExchangeMoment) {
        self.init(stage, of: exchange)
        self.attempt = attempt.number
        status = attempt.status
        decision = attempt.decision
        reason = attempt.reason
        if attempt.delay > .zero { delayMicroseconds = attempt.record.delayMicroseconds }
        guard stage == .attempt else { return }
        cause = attempt.cause
        target = attempt.url ?? ""
        peer = attempt.peer
        httpVersion = attempt.record.version?.text ?? ""
        isReused = attempt.isReused
        failure = attempt.failure
    }

    /// The end of an exchange.
    package init(_ summary: ExchangeSummary, of exchange: ExchangeMoment) {
        self.init(.finished, of: exchange)
        status = summary.status
        outcome = summary.outcome
        failure = summary.failure
        sentBytes = summary.requestBodyBytes
        receivedBytes = summary.responseBodyBytes
        let (seconds, attoseconds) = summary.duration.components
        totalMicroseconds = seconds * 1_000_000 + attoseconds / 1_000_000_000_000
    }

    /// A refresh of a credential.
    package init(_ token: TokenSummary) {
        self.init(.token)
        microseconds = token.microseconds
        self.token = token.name
        version = token.version.map { UInt64(max(0, $0)) }
        action = token.version == nil ? "failed" : "refreshed"
        detail = token.detail
    }
}
