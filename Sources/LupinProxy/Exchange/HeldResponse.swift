// How a response is kept back while it is decided what becomes of it.
import LupinCore
import LupinIO
import LupinWire

extension Exchange {
    /// A response that is held back is kept in memory up to here.
    static let heldBytesMax = 64 << 10
    /// How long the body of such a response may take; what came by then is what is kept.
    static let heldTimeMax = Duration.seconds(2)
    /// What nobody will see is waited for no longer, so that its connection may be used again.
    private static let discardTimeMax = Duration.milliseconds(100)

    /// Takes the body of a response into memory, as far as it fits and comes soon.
    ///
    /// Without `time` it may take as long as the whole exchange.
    /// With all of it here the connection goes back to the pool: whatever is decided meanwhile
    /// holds no connection.
    /// - Returns: The response with its body from memory, and that body if it is whole.
    ///
    /// - Throws: What broke the body, among others; then the attempt has failed.
    func hold(
        _ obtained: ObtainedResponse,
        bytesMax: Int = Exchange.heldBytesMax,
        within time: Duration? = Exchange.heldTimeMax
    ) async throws(LupinError) -> (ObtainedResponse, whole: [UInt8]?) {
        guard upstream != nil else {
            // Held back before, for another reason.
            return (obtained, (obtained.body as? BytesBody)?.unread)
        }
        let source = obtained.body
        let collected = CollectedBody(bytesMax: bytesMax)
        let deadline = time.map { min(slot.loop.deadline(in: $0), totalDeadline) } ?? totalDeadline
        var isWhole = false
        reading: while true {
            switch try source.pull() {
            case .end:
                isWhole = true
                break reading
            case .payload:
                let offer = try source.offer(to: collected, keeping: nil)
                isWhole = offer.isEnd
                if offer.isEnd || !offer.isAllTaken { break reading }
            case .blocked:
                try await park(for: .upstreamReadable, until: deadline)
                if slot.loop.now >= deadline { break reading }
            }
        }
        let bytes = collected.bytes
        guard isWhole else {
            let body = PrefixedBody(bytes, then: source)
            return (ObtainedResponse(response: obtained.response, body: body), nil)
        }
        let body = BytesBody(bytes, trailers: source.trailers)
        passUpstreamOn(isResponseComplete: true)
        return (ObtainedResponse(response: obtained.response, body: body), bytes)
    }

    /// Holds back what `retry.hold` asks for, so that a body that breaks early is no loss.
    func holdBack(
        _ obtained: inout ObtainedResponse,
        _ attempt: Attempt
    ) async throws(LupinError) {
        guard let policy = plan?.retry, policy.holdBytes > 0, retry.retries < policy.limit,
            attempt.isReplayable,
            policy.mayRepeat(request.method, hasIdempotencyKey: attempt.hasIdempotencyKey)
        else { return }
        obtained = try await hold(obtained, bytesMax: policy.holdBytes).0
    }

    /// Lets go of the connection of a response that the client will not see.
    ///
    /// It serves others if the rest of the body is short and comes at once.
    func letGo(of obtained: ObtainedResponse) async throws(LupinError) {
        defer { upload = nil }
        guard upstream != nil else { return }
        let isShort = obtained.response.framing.knownLength ?? 0 <= UInt64(Self.heldBytesMax)
        // While the request is still on its way there is nothing to be had for waiting, and more of
        // its body would pass by than is kept.
        if isShort, isUploadDone {
            do throws(LupinError) {
                _ = try await hold(obtained, within: Self.discardTimeMax)
            } catch {
                // That nobody gets to see it does not matter; that the client left does.
                if error == .clientGone || error == .stopping { throw error }
            }
        }
        dropUpstream()
    }
}
