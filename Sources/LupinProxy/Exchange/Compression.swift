// Compresses request bodies, and handles a server's refusal of that.
import LupinCore
import LupinIO
import LupinPolicy
import LupinWire
import Synchronization

/// Origins that refused compressed bodies lately, for all workers.
final class CompressionRefusals: Sendable {
    /// Beyond this many all are dropped.
    private static let countMax = 1024
    /// How long a refusal counts, in microseconds of the loops' clock.
    private static let lifetime: UInt64 = 3600 * 1_000_000

    private let until = Mutex<[Origin: UInt64]>([:])

    func note(_ origin: Origin, now: UInt64) {
        until.withLock { until in
            if until.count >= Self.countMax { until = [:] }
            until[origin] = now &+ Self.lifetime
        }
    }

    func holds(_ origin: Origin, now: UInt64) -> Bool {
        until.withLock { $0[origin].map { $0 > now } ?? false }
    }

    /// The origins whose refusal counts, and for how many microseconds it still does.
    func all(now: UInt64) -> [(origin: Origin, rest: UInt64)] {
        let known = until.withLock { $0.filter { $0.value > now } }
        return known.map { (origin: $0.key, rest: $0.value - now) }
            .sorted { ($0.origin.hostAndPort, $0.rest) < ($1.origin.hostAndPort, $1.rest) }
    }
}

extension Exchange {
    /// Sets the coding of the body in the head, if the plan demands it and it is possible.
    /// - Throws: When the body is encoded already, and the step treats that as an error.
    func compress(_ request: inout UpstreamRequest) throws(LupinError) {
        guard let step = plan?.compress else { return }
        let decision = step.decide(
            head: request.head,
            contentLength: framing.knownLength,
            hasBody: !framing.isEmpty,
            refusesCompression: retry.goesPlain
                || resources.shared.compressionRefusals.holds(request.origin, now: slot.loop.now)
        )
        let summary = RequestStep.compress(step).summary
        switch decision {
        case .compress:
            step.apply(to: &request.head.fields)
            request.coding = step.coding
            request.steps.note(applied: summary)
        case .leave(let reason):
            request.steps.note(dropped: summary, because: reason.rawValue)
        case .fail(let sentence):
            throw LupinError(
                .proxyInternalError,
                host: request.origin.host.text,
                detail: sentence,
                side: .config,
                status: 502
            )
        }
    }

    func noteCompressionRefusal(by origin: Origin) {
        resources.shared.compressionRefusals.note(origin, now: slot.loop.now)
    }
}
