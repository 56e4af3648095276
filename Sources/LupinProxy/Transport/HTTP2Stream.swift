// One HTTP/2 stream: the body that comes on it as a source, the one that goes out as a sink.
import LupinCore
import LupinIO
import LupinWire

/// A stream of a link, until both sides have ended it.
///
/// What came and nobody took yet waits here: no more than the stream's window, since the peer may
/// send more only as bytes are taken. While the link tells of what came it still lies where it was
/// received, and who takes it at once takes it from there.
final class HTTP2Stream {
    let id: Int32
    let link: HTTP2Link
    /// Whom to wake when something changed.
    var slot: ParkingSlot?
    /// Whom to call before.
    var pump: (any ChannelPump)?
    var bytesReceived: UInt64
    var bytesSent: UInt64 = 0
    /// The link's notes: news that were not told yet; more to send than could be.
    var isTouched = false
    var isBlocked = false
    var isInBlocked = false
    var isInWaiting = false

    /// Where payload lies in the link's input that was not copied yet; then nothing is queued.
    private var lent: Range<Int>?
    /// Made for the first bytes that have to wait: most requests have none.
    private var queue: ByteQueue?
    private var framing = BodyFraming.chunked
    private var response: ParsedResponse?
    /// Those behind it, since interim ones came before.
    private var others: [ParsedResponse] = []
    private var received = FieldSection()
    private var hasReceivedAll = false
    /// The peer, or the connection, ended the stream before its time.
    private(set) var isGone = false
    /// Why.
    private var failure: LupinError?
    /// Trailers and end that could not be sent yet.
    private var pendingEnd: FieldSection?
    /// Whether the peer wants trailers behind our body.
    var sendsTrailers = true
    private(set) var hasSentAll = false
    /// Why the peer ended the stream before its time.
    private(set) var peerReset: HTTP2ErrorCode?
    /// Why we did.
    private(set) var ownReset: HTTP2ErrorCode?
    private(set) var isClosed = false
    // The window: how far the peer may be ahead, and how fast it is taken.
    private var windowBytes: Int
    private var grown = 0
    private var growth: WindowGrowth?
    private var takenSinceGrowth = 0
    /// What still comes passes by unread: how much of it may, and until when.
    private var passing: (bytesLeft: Int, deadline: UInt64)?

    init(_ id: Int32, on link: HTTP2Link, windowBytes: Int, bytesReceived: UInt64) {
        self.id = id
        self.link = link
        self.windowBytes = windowBytes
        self.bytesReceived = bytesReceived
    }

    deinit {
        growth?.release(grown)
        queue?.removeAll()
    }

    // MARK: What the link brings

    func take(_ response: ParsedResponse, _ facts: HTTP2Event.MessageFacts) {
        bytesReceived &+= UInt64(facts.bytes)
        if self.response == nil { self.response = response } else { others.append(response) }
    }

    /// Takes note of payload in the link's input, until `keepLent`.
    func lend(_ payload: Range<Int>) {
        bytesReceived &+= UInt64(payload.count + 9)
        let isFirst = !hasBytes
        if !isFirst { keepLent() }
        lent = payload
        if !isFirst { keepLent() }
        if passing != nil { passBy() }
    }

    /// Copies what still lies in the link's input: there will be other bytes.
    func keepLent() {
        guard let payload = lent.take() else { return }
        let queue = self.queue ?? ByteQueue(on: link.loop)
        self.queue = queue
        let input = link.channel.input
        queue.append(input.bytes.extracting(payload))
    }

    // MARK: What nobody wants

    /// How much of a message passes by that nobody wants, and for how long.
    private static let passingBytesMax = 1 << 20
    private static let passingTime = Duration.seconds(2)

    /// Lets the rest of the peer's message pass by for a bound, and ends the stream behind that.
    ///
    /// RFC 9113 §8.1 allows a reset with NO_ERROR at once, behind a whole response; but clients
    /// that are still sending then take the response for broken.
    func letRestPass() {
        guard !isClosed, ownReset == nil else { return }
        passing = (Self.passingBytesMax, link.loop.deadline(in: Self.passingTime))
        link.notePassing()
        passBy()
    }

    private func passBy() {
        guard var passing else { return }
        while hasBytes, let (_, place) = held {
            passing.bytesLeft -= place.count
            discardHeld(place.count)
        }
        self.passing = passing
        if passing.bytesLeft < 0 { abort(.noError) }
    }

    /// Whether the rest of the peer's message passes by; ends the stream if that takes too long.
    func passes(at now: UInt64) -> Bool {
        guard let passing, !isClosed, ownReset == nil else { return false }
        if now >= passing.deadline { abort(.noError) }
        return now < passing.deadline
    }

    func takeEnd(_ trailers: FieldSection) {
        hasReceivedAll = true
        received = trailers
    }

    func fail(_ error: LupinError) {
        isClosed = true
        if !isGone { failure = error }
        isGone = true
    }

    /// The stream is over; with a code other than NO_ERROR before its time.
    func close(_ code: HTTP2ErrorCode, isByPeer: Bool, isGoingAway: Bool) {
        isClosed = true
        guard !(hasReceivedAll && hasSentAll) else { return }
        if isByPeer || isGoingAway { peerReset = code } else { ownReset = ownReset ?? code }
        guard !isGone else { return }
        switch link.side {
        case .downstream: fail(.clientGone)
        case .upstream:
            // What nghttp2 itself ends a stream for is the origin's doing too.
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

    /// Tells whoever uses the stream that something changed.
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

    /// Whether somebody is to be told of what changes.
    var isUsed: Bool { pump != nil || slot != nil }
    var error: LupinError? { failure }
    var hasBytes: Bool { heldBytes > 0 }
    /// Whether all of the peer's message has been taken.
    var isReceived: Bool { hasReceivedAll && !hasBytes }
    /// Whether the peer has sent all that it will.
    var hasPeerEnded: Bool { hasReceivedAll }

    /// Gets ready for the body that comes.
    func begin(receiving framing: BodyFraming) { self.framing = framing }

    /// Payload that came and nobody took.
    var heldBytes: Int { lent?.count ?? queue?.count ?? 0 }
    /// Where it begins, as far as it lies together.
    private var held: (buffer: InputBuffer, place: Range<Int>)? {
        if let lent { return (link.channel.input, lent) }
        guard let queue else { return nil }
        let block = queue.block
        return (block, 0..<block.count)
    }

    /// Takes `count` bytes of what is held, and has the peer send as much more.
    func discardHeld(_ count: Int) {
        guard count > 0 else { return }
        if let lent {
            self.lent = count < lent.count ? (lent.lowerBound + count)..<lent.upperBound : nil
        } else {
            queue?.discard(count)
        }
        if !isClosed { link.consume(count, of: self) }
    }

    /// The next response head that came.
    func nextResponse() -> ParsedResponse? {
        let first = response.take()
        if !others.isEmpty { response = others.removeFirst() }
        return first
    }

    /// Our message has ended with its head.
    func noteSentAll() { hasSentAll = true }

    /// The window's next size, when its reader has kept up with a whole one (`window: auto`).
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

    /// The stream has been ended before its time already.
    func noteReset(_ code: HTTP2ErrorCode) { ownReset = code }

    /// Ends the stream before its time.
    func abort(_ code: HTTP2ErrorCode) {
        // Once is enough, also before the link has taken note.
        guard !isClosed, ownReset == nil else { return }
        ownReset = code
        link.reset(self, code)
    }
}

extension HTTP2Stream: BodySource {
    func pull() throws(LupinError) -> BodyProgress {
        if hasBytes { return .payload }
        if hasReceivedAll { return .end }
        if isGone, let failure { throw failure }
        return .blocked
    }

    var hasNews: Bool { hasBytes || hasReceivedAll || isGone }

    func offer(to sink: any BodySink, keeping replay: BodyReplay?) throws(LupinError) -> Offer {
        guard let (buffer, place) = held else {
            return Offer(taken: 0, isAllTaken: true, isEnd: false)
        }
        let bytes = buffer.bytes
        let payload = bytes.extracting(place)
        let count = payload.count
        let isLast = hasReceivedAll && count == heldBytes && received.isEmpty
        let taken = try sink.push(payload, isLast: isLast)
        if let replay { replay.append(payload.extracting(0..<taken)) }
        discardHeld(taken)
        let isAllTaken = taken == count
        return Offer(taken: taken, isAllTaken: isAllTaken, isEnd: isAllTaken && isLast)
    }

    var trailers: FieldSection { received }
    var knownLength: UInt64? { framing.knownLength }
}

extension HTTP2Stream: BodySink {
    func push(_ payload: Span<UInt8>, isLast: Bool) throws(LupinError) -> Int {
        if isGone, let failure { throw failure }
        guard !(payload.isEmpty && !isLast) else { return 0 }
        let result = link.push(payload, isLast: isLast, trailers: nil, on: self)
        if isLast { note(result, of: payload.count) }
        return result.taken
    }

    /// Notes how far the last of a body of `count` bytes came.
    private func note(_ result: (taken: Int, isOver: Bool), of count: Int) {
        if result.isOver { hasSentAll = true }
        if result.taken == count, !result.isOver { pendingEnd = FieldSection() }
    }

    func finish(trailers: FieldSection) throws(LupinError) -> Bool {
        if hasSentAll { return true }
        pendingEnd = sendsTrailers ? trailers : FieldSection()
        return try flush()
    }

    func flush() throws(LupinError) -> Bool {
        if let pendingEnd, !hasSentAll {
            if isGone, let failure { throw failure }
            let result = link.push(Span(), isLast: true, trailers: pendingEnd, on: self)
            hasSentAll = result.isOver
        } else {
            link.wantFlush()
        }
        if hasSentAll { pendingEnd = nil }
        return pendingEnd == nil
    }
}

extension LupinError {
    /// An origin ended a stream before its time.
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
