// One HTTP/2 stream: the source of the body that it receives, the sink of the body that it sends.
package import LupinCore
package import LupinIO
package import LupinWire

/// A stream of a link, until both sides have ended it.
///
/// Received bytes that were not taken yet wait here: no more than the stream's window, since the
/// peer may send more only as bytes are taken. While the link dispatches an event its bytes still
/// lie in the input buffer, and a reader that takes them at once takes them from there. Other
/// modules see computed properties in place of the stored ones, as with a `Channel`.
package final class HTTP2Stream {
    package let id: Int32
    package let link: HTTP2Link
    private var waiter: ParkingSlot?
    private var observer: (any ChannelPump)?
    private var receivedCount: UInt64
    private var sentCount: UInt64 = 0
    /// Flags of the link: the stream has news to signal; it has more to send than was taken.
    var isTouched = false
    var isBlocked = false
    var isInBlocked = false
    var isInWaiting = false

    /// Payload in the link's input that was not copied yet; then nothing is queued.
    private var lent: Range<Int>?
    /// Created for the first bytes that have to wait: most requests have none.
    private var queue: ByteQueue?
    private var framing = BodyFraming.chunked
    private var response: ParsedResponse?
    /// Responses behind the first, since interim ones came before.
    private var others: [ParsedResponse] = []
    private var received = FieldSection()
    private var hasReceivedAll = false
    private var gone = false
    /// The error for it.
    private var failure: LupinError?
    /// Trailers, and the end of the stream, that could not be sent yet.
    private var pendingEnd: FieldSection?
    private var sentAll = false
    private var resetByPeer: HTTP2ErrorCode?
    private var resetByUs: HTTP2ErrorCode?
    private(set) var isClosed = false
    // The window: how far the peer may be ahead, and how fast its bytes are taken.
    private var windowBytes: Int
    private var grown = 0
    private var growth: WindowGrowth?
    private var takenSinceGrowth = 0
    /// The rest of the message is awaited, until it is quiet for too long: how many bytes at most,
    /// and until when.
    private var passing: (bytesLeft: Int, quiet: UInt64, deadline: UInt64)?
    /// It is discarded: nothing else reads it.
    private var discardsRest = false
    /// Too much of it came, or it took too long.
    private var hasPassedEnough = false

    package init(_ id: Int32, on link: HTTP2Link, windowBytes: Int, bytesReceived: UInt64) {
        self.id = id
        self.link = link
        self.windowBytes = windowBytes
        receivedCount = bytesReceived
    }

    deinit {
        growth?.release(grown)
        queue?.removeAll()
    }

    // MARK: State

    /// The slot to wake after a change.
    package var slot: ParkingSlot? {
        get { waiter }
        set { waiter = newValue }
    }
    /// The pump to call before that.
    package var pump: (any ChannelPump)? {
        get { observer }
        set { observer = newValue }
    }
    package var bytesReceived: UInt64 {
        get { receivedCount }
        set { receivedCount = newValue }
    }
    package var bytesSent: UInt64 {
        get { sentCount }
        set { sentCount = newValue }
    }
    /// The peer or the connection ended the stream early.
    package var isGone: Bool { gone }
    package var hasSentAll: Bool { sentAll }
    /// The code with which the peer reset the stream.
    package var peerReset: HTTP2ErrorCode? { resetByPeer }
    /// The code with which we reset the stream.
    package var ownReset: HTTP2ErrorCode? { resetByUs }

    // MARK: Events from the link

    func take(_ response: ParsedResponse, _ facts: HTTP2Event.MessageFacts) {
        bytesReceived &+= UInt64(facts.bytes)
        if self.response == nil { self.response = response } else { others.append(response) }
    }

    /// Notes payload in the link's input, which is valid until `keepLent`.
    func lend(_ payload: Range<Int>) {
        bytesReceived &+= UInt64(payload.count + 9)
        let isFirst = !hasBytes
        if !isFirst { keepLent() }
        lent = payload
        if !isFirst { keepLent() }
        if passing != nil { passBy() }
    }

    /// Copies payload that still lies in the link's input, before that is overwritten.
    func keepLent() {
        guard let payload = lent.take() else { return }
        let queue = self.queue ?? ByteQueue(on: link.loop)
        self.queue = queue
        let input = link.channel.input
        queue.append(input.bytes.extracting(payload))
    }

    // MARK: Discarding the rest

    /// How much of a message is discarded, for how long, and for how long without a byte.
    package static let passingBytesMax = 32 << 20
    private static let passingTime = Duration.seconds(30)
    private static let quietTime = Duration.seconds(2)

    /// Discards the rest of the peer's message, within a limit, and then ends the stream.
    ///
    /// RFC 9113 §8.1 allows a reset with NO_ERROR at once, behind a whole response; but clients
    /// that are still sending then treat the response as broken, or wait for a window for ever.
    package func letRestPass() {
        guard !isClosed, ownReset == nil else { return }
        if hasPassedEnough { return endPassing() }
        if !discardsRest {
            discardsRest = true
            expectRest(Self.passingBytesMax, until: link.loop.deadline(in: Self.passingTime))
        }
        passBy()
    }

    /// Waits for the rest of the peer's message, which a reader takes, as long as more of it comes.
    package func awaitRest() { expectRest(.max, until: .max) }

    private func expectRest(_ bytesMax: Int, until deadline: UInt64) {
        passing = (bytesMax, link.loop.deadline(in: Self.quietTime), deadline)
        link.notePassing()
    }

    private func passBy() {
        guard var passing, hasBytes else { return }
        while discardsRest, hasBytes, let (_, range) = held {
            passing.bytesLeft -= range.count
            discardHeld(range.count)
        }
        passing.quiet = min(link.loop.deadline(in: Self.quietTime), passing.deadline)
        self.passing = passing
        if passing.bytesLeft < 0 { endPassing() }
    }

    /// Ends the stream, or lets its response end, which waited for the rest of the request.
    private func endPassing() {
        hasPassedEnough = true
        guard !hasSentAll else { return abort(.noError) }
        link.touch(self)
    }

    /// Whether the rest of the message is still awaited; ends that after the time limit.
    func passes(at now: UInt64) -> Bool {
        guard let passing, !isClosed, awaitsRest else { return false }
        if now >= passing.quiet { endPassing() }
        return now < passing.quiet
    }

    /// Whether more of the peer's message is to come, and is worth to be waited for.
    package var awaitsRest: Bool {
        !(hasReceivedAll || isGone || hasPassedEnough || ownReset != nil)
    }

    func takeEnd(_ trailers: FieldSection) {
        hasReceivedAll = true
        received = trailers
    }

    func fail(_ error: LupinError) {
        isClosed = true
        if !isGone { failure = error }
        gone = true
    }

    /// Ends the stream; with a code other than NO_ERROR it ended early.
    func close(_ code: HTTP2ErrorCode, isByPeer: Bool, isGoingAway: Bool) {
        isClosed = true
        guard !(hasReceivedAll && hasSentAll) else { return }
        if isByPeer || isGoingAway { resetByPeer = code } else { resetByUs = ownReset ?? code }
        guard !isGone else { return }
        switch link.side {
        case .downstream: fail(.clientGone)
        case .upstream:
            // When nghttp2 itself ends a stream, the origin caused it too.
            let error: LupinError =
                isByPeer || code == .refusedStream
                ? .reset(code, isGoingAway: isGoingAway)
                : LupinError(
                    .httpProtocolError,
                    detail: "The origin's response breaks HTTP/2: \(code.name)."
                )
            fail(error)
        }
    }

    /// Notifies the user of the stream of a change.
    func signal() {
        isBlocked = false
        if let pump { link.call(pump) }
        guard let slot else { return }
        switch link.side {
        case .downstream:
            slot.wake(isGone ? .downstreamReadable | .downstreamClosed : .downstreamReadable)
        case .upstream: slot.wake(.upstreamReadable)
        }
    }

    // MARK: State

    /// Whether a pump or a slot is to be notified of changes.
    var isUsed: Bool { pump != nil || slot != nil }
    var error: LupinError? { failure }
    package var hasBytes: Bool { heldBytes > 0 }
    /// Whether all of the peer's message has been taken.
    package var isReceived: Bool { hasReceivedAll && !hasBytes }
    /// Whether the peer has sent all that it will.
    package var hasPeerEnded: Bool { hasReceivedAll }

    /// Prepares for the body that follows.
    package func begin(receiving framing: BodyFraming) { self.framing = framing }

    /// The number of payload bytes that were received and not taken.
    var heldBytes: Int { lent?.count ?? queue?.count ?? 0 }
    /// The first contiguous part of them.
    private var held: (buffer: InputBuffer, range: Range<Int>)? {
        if let lent { return (link.channel.input, lent) }
        guard let queue else { return nil }
        let block = queue.block
        return (block, 0..<block.count)
    }

    /// Consumes `count` of the held bytes, and lets the peer send as many more.
    func discardHeld(_ count: Int) {
        guard count > 0 else { return }
        if let lent {
            self.lent = count < lent.count ? (lent.lowerBound + count)..<lent.upperBound : nil
        } else {
            queue?.discard(count)
        }
        if !isClosed { link.consume(count, of: self) }
    }

    /// The next response head, nil when none has come.
    func nextResponse() -> ParsedResponse? {
        let first = response.take()
        if !others.isEmpty { response = others.removeFirst() }
        return first
    }

    /// Notes that our message ended with its head.
    package func noteSentAll() { sentAll = true }

    /// The next window size after the reader has kept up with a whole window (`window: auto`).
    func widen(by growth: WindowGrowth, after count: Int) -> Int? {
        takenSinceGrowth += count
        guard takenSinceGrowth >= windowBytes, heldBytes < windowBytes / 2,
            !hasReceivedAll,
            windowBytes < HTTP2Window.autoBytesMax, growth.reserve(windowBytes)
        else { return nil }
        self.growth = growth
        takenSinceGrowth = 0
        grown += windowBytes
        windowBytes *= 2
        return windowBytes
    }

    /// Notes that the stream has been reset already.
    func noteReset(_ code: HTTP2ErrorCode) { resetByUs = code }

    /// Ends the stream early.
    package func abort(_ code: HTTP2ErrorCode) {
        // One reset is enough, even before the link has processed it.
        guard !isClosed, ownReset == nil else { return }
        resetByUs = code
        link.reset(self, code)
    }
}

extension HTTP2Stream: BodySource {
    package func pull() throws(LupinError) -> BodyProgress {
        if hasBytes { return .payload }
        if hasReceivedAll { return .end }
        if isGone, let failure { throw failure }
        return .blocked
    }

    package func pull(beyond count: Int) throws(LupinError) -> BodyProgress {
        if heldBytes > count { return .payload }
        if hasReceivedAll { return .end }
        if isGone, let failure { throw failure }
        return .blocked
    }

    package var hasNews: Bool { hasBytes || hasReceivedAll || isGone }

    package func offer(to sink: any BodySink, keeping replay: BodyReplay?) throws(LupinError)
        -> Offer
    {
        guard let (buffer, range) = held else {
            return Offer(taken: 0, isAllTaken: true, isEnd: false)
        }
        let bytes = buffer.bytes
        let payload = bytes.extracting(range)
        let count = payload.count
        let isLast = hasReceivedAll && count == heldBytes && received.isEmpty
        let taken = try sink.push(payload, isLast: isLast)
        if let replay { replay.append(payload.extracting(0..<taken)) }
        discardHeld(taken)
        let isAllTaken = taken == count
        return Offer(taken: taken, isAllTaken: isAllTaken, isEnd: isAllTaken && isLast)
    }

    package var trailers: FieldSection { received }
    package var knownLength: UInt64? { framing.knownLength }
}

extension HTTP2Stream: BodySink {
    package func push(_ payload: Span<UInt8>, isLast: Bool) throws(LupinError) -> Int {
        if isGone, let failure { throw failure }
        guard !(payload.isEmpty && !isLast) else { return 0 }
        let result = link.push(payload, isLast: isLast, trailers: nil, on: self)
        if isLast { note(result, of: payload.count) }
        return result.taken
    }

    /// Notes how much of the last part of a body, `count` bytes long, was taken.
    private func note(_ result: (taken: Int, isOver: Bool), of count: Int) {
        if result.isOver { sentAll = true }
        if result.taken == count, !result.isOver { pendingEnd = FieldSection() }
    }

    package func finish(trailers: FieldSection) throws(LupinError) -> Bool {
        if hasSentAll { return true }
        pendingEnd = trailers
        return try flush()
    }

    package func flush() throws(LupinError) -> Bool {
        if let pendingEnd, !hasSentAll {
            if isGone, let failure { throw failure }
            let result = link.push(Span(), isLast: true, trailers: pendingEnd, on: self)
            sentAll = result.isOver
        } else {
            link.wantFlush()
        }
        if hasSentAll { pendingEnd = nil }
        return pendingEnd == nil
    }
}

extension LupinError {
    /// An origin reset a stream.
    fileprivate static func reset(_ code: HTTP2ErrorCode, isGoingAway: Bool) -> LupinError {
        if code == .refusedStream {
            return LupinError(
                .connectionTerminated,
                detail: isGoingAway
                    ? "The origin is going away and took no more requests on the connection."
                    : "The origin refused the stream.",
                retry: isGoingAway ? .goaway : .refusedStream
            )
        }
        if code == .http11Required {
            return LupinError(
                .httpProtocolError,
                detail: "The origin wants HTTP/1.1 for this.",
                retry: .refusedStream
            )
        }
        return LupinError(
            .connectionTerminated,
            detail: "The origin reset the stream: \(code.name)."
        )
    }
}
