// Requests on kept connections from which nothing comes back: they go over another one.
import LupinCore
import LupinPolicy
import LupinUpstream

extension Attempt {
    /// How long nothing of a request may be acknowledged on a kept connection, in microseconds.
    private static let deadLinkTime: UInt64 = 2_000_000

    /// Gives up a kept connection whose link swallows the request, if that can be repeated on
    /// another one; asked once a second.
    ///
    /// TCP itself would go on for minutes.
    func leaveDeadLink() {
        guard let upstream = exchange.upstream, upstream.isReused, !upstream.hasAnswered,
            sentAt > 0, exchange.now &- sentAt >= Self.deadLinkTime, mayGoElsewhere,
            upstream.swallows(for: Self.deadLinkTime)
        else { return }
        upstream.fail(
            LupinError(
                .connectionTerminated,
                host: hop.text,
                detail: "The kept connection seems dead: nothing came back for the request."
            )
        )
    }

    /// Whether the request can be sent again, now that nothing of a response has come.
    private var mayGoElsewhere: Bool {
        guard isReplayable, !exchange.downstream.isCommitted else { return false }
        let policy = exchange.plan?.retry ?? .safe
        return policy.errors.contains(.staleConnection)
            && policy.mayRepeat(exchange.request.method, hasIdempotencyKey: hasIdempotencyKey)
    }
}
