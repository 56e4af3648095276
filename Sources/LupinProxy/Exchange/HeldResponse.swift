// Holds back a response while the decision about it is made.
import LupinCore
import LupinIO
import LupinPolicy
import LupinUpstream
import LupinWire

/// How much of a response is held back, and for how long.
enum HeldResponse {
    /// How many bytes are kept in memory.
    static let bytesMax = 64 << 10
    /// How long reading a held body may take; what has come by then is kept.
    static let timeMax = Duration.seconds(2)
    /// How long a discarded body is read, so that its connection can be reused.
    static let discardTimeMax = Duration.milliseconds(100)
}

extension Exchange {
    /// Reads the body of a response into memory, as far as it fits and comes in time.
    ///
    /// Without `time` it may take as long as the whole exchange. When all of it has come the
    /// connection returns to the pool: a long decision holds no connection.
    /// - Returns: The response with its body from memory, and that body if it is complete.
    ///
    /// - Throws: Among others the error that broke off the body; then the attempt has failed.
    func hold(
        _ obtained: ObtainedResponse,
        bytesMax: Int,
        within time: Duration?
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
            switch try pull(source) {
            case .end:
                isWhole = true
                break reading
            case .payload:
                let offer = try source.offer(to: collected, keeping: nil)
                isWhole = offer.isEnd
                if offer.isEnd || !offer.isAllTaken { break reading }
            case .blocked:
                let wake = min(deadline, throttleDeadline)
                try await park(.responseBody, for: .upstreamReadable, until: wake)
                // The origin may want the rest of a throttled request first.
                pumpThrottled()
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

    /// Releases the connection of a response that the client does not get.
    ///
    /// It is reused if the rest of the body is short and comes at once.
    func letGo(of obtained: ObtainedResponse) async throws(LupinError) {
        defer { upload = nil }
        guard upstream != nil else { return }
        let isShort = obtained.response.framing.knownLength ?? 0 <= UInt64(HeldResponse.bytesMax)
        // While the request is still being sent a wait is useless, and more of its body would be
        // consumed than is kept.
        if isShort, isUploadDone {
            do throws(LupinError) {
                _ = try await hold(
                    obtained,
                    bytesMax: HeldResponse.bytesMax,
                    within: HeldResponse.discardTimeMax
                )
            } catch {
                // A broken discarded body does not matter; the client's leaving does.
                if error == .clientGone || error == .stopping { throw error }
            }
        }
        dropUpstream()
    }
}
