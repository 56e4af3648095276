// An HTTP/2 connection on its channel: passes received frames to streams and sends their output.
package import LupinCore
package import LupinIO
package import LupinWire

/// The maker of a link; receives the events that concern no open stream.
package protocol HTTP2LinkOwner: AnyObject {
    /// A client's request has come.
    func linkReceived(_ request: ParsedRequest, on stream: HTTP2Stream, named: String?)
    /// A client's request has come that lupin itself must refuse.
    func linkRefused(_ problem: MessageProblem, to method: Method, on stream: HTTP2Stream)
    /// A client's request broke the protocol: its stream was reset, and no response is sent.
    func linkRejected(_ stream: HTTP2Stream)
    /// A stream of ours ended, or the peer's SETTINGS or GOAWAY changed what is possible.
    func linkChanged()
    /// The connection has ended and is closed.
    func linkEnded()
}

/// One HTTP/2 connection, on either side.
///
/// It has no task of its own: events of the channel drive it. The output of streams is gathered and
/// sent at the end of the turn, in as few system calls as possible.
package final class HTTP2Link: ChannelPump {
    let channel: Channel
    package let connection: HTTP2Connection
    let side: Side
    private var holder: (any HTTP2LinkOwner)?
    /// Set until the connection has ended.
    package var owner: (any HTTP2LinkOwner)? {
        get { holder }
        set { holder = newValue }
    }
    /// The code of the peer's GOAWAY, once one came.
    private(set) var goAway: HTTP2ErrorCode?
    /// When a frame last came, in microseconds of the loop's clock.
    private(set) var lastReceived: UInt64
    let growth: WindowGrowth?
    private(set) var streams = StreamTable<HTTP2Stream>()
    /// How many of them have not received all of the peer's message.
    private var unfinishedCount = 0
    /// The stream of the last event: more events for it usually follow.
    private var latest: HTTP2Stream?
    /// Streams whose payload still lies in the channel's input.
    private let lenders = WorkList<HTTP2Stream>()
    /// Streams with changes to signal to their users.
    private let touched = WorkList<HTTP2Stream>()
    /// Streams that have more to send than the socket took.
    let blocked = WorkList<HTTP2Stream>()
    /// Streams that have more to send than the peer's window takes now.
    let waiting = WorkList<HTTP2Stream>()
    /// Requests that came in this turn; they begin when the whole input has been dispatched.
    private let begun = WorkList<Beginning>()
    /// A request, or the problem with it.
    private struct Beginning {
        let stream: HTTP2Stream
        var request: ParsedRequest?
        var named: String?
        var problem: (MessageProblem, to: Method)?
    }

    private var isFlushDue = false
    private var isInTurn = false
    /// Reading is paused until more was sent; no event will announce the bytes that came meanwhile.
    private var isPaused = false
    private(set) var hasEnded = false
    /// The peer's bytes can't be read any more; the connection ends once what is staged has left.
    private var failure: LupinError?
    /// Some streams discard the rest of a message.
    private var hasPassing = false

    /// Unsent bytes beyond which no stream may add to them.
    static let backlogMax = 64 << 10
    /// Unsent bytes beyond which nothing more is read: the peer does not read its replies.
    ///
    /// More than `backlogMax`, or a peer that reads slowly could not even cancel a stream.
    private static let answersMax = 256 << 10
    /// Bytes read before other connections get their turn.
    private static let turnBytes = 256 << 10

    package init(
        _ channel: Channel,
        _ role: HTTP2Connection.Role,
        _ parameters: HTTP2Parameters,
        growth: WindowGrowth?
    ) {
        self.channel = channel
        self.growth = parameters.limits.window == .auto ? growth : nil
        connection = HTTP2Connection(role, parameters)
        side = role == .server ? .downstream : .upstream
        lastReceived = channel.loop.now
        channel.slot = nil
        channel.pump = self
    }

    var loop: EventLoop { channel.loop }
    package var isOpen: Bool { !hasEnded }
    var hasStreams: Bool { !streams.isEmpty }
    var streamCount: Int { streams.count }
    /// The peer's SETTINGS have come.
    var hasSettings: Bool { connection.hasSettings }
    /// A PING of ours has not been answered yet.
    package var awaitsPong: Bool { connection.pingsUnderWay > 0 }

    /// Starts the connection: sends our SETTINGS, and reads what has come already.
    package func start() { turn() }

    package func channelIsReady(_ channel: Channel) { turn() }

    /// Reads bytes that no event has announced yet.
    package func look() {
        channel.expectBytes()
        turn()
    }

    // MARK: A turn

    private func turn() {
        guard !hasEnded, !isInTurn, failure == nil else { return }
        isInTurn = true
        isPaused = false
        var budget = Self.turnBytes
        while budget > 0 {
            if channel.unsentCount >= Self.answersMax {
                // Replies that the peer does not read must not pile up.
                isPaused = true
                if channel.isBroken || channel.hasHungUp { end(side.closed) }
                break
            }
            guard let count = receive() else { break }
            budget -= count
            guard !hasEnded else { break }
        }
        isInTurn = false
        guard !hasEnded else { return }
        flush()
        // Left to the end of the loop's turn: what is sent until then acknowledges as well.
        if unfinishedCount > 0, channel.isUnacknowledged { wantFlush() }
        if budget <= 0 { loop.later { [self] in turn() } }
    }

    /// Reads once and dispatches all of it; returns nil when there is nothing more.
    private func receive() -> Int? {
        do throws(SystemError) {
            let received = try channel.receive()
            let input = channel.input
            guard !input.isEmpty else {
                if received == .end {
                    stageFrames()
                    end(breach)
                }
                return nil
            }
            lastReceived = loop.now
            let count = input.count
            do throws(HTTP2Failure) {
                try connection.receive(input.bytes, now: loop.now)
            } catch {
                failure = LupinError(.httpProtocolError, detail: "HTTP/2: \(error.text).")
                connection.terminate(.protocolError)
                // What came whole before it counts, and has a record.
                dispatch()
                return nil
            }
            dispatch()
            if !hasEnded { input.discard(count) }
            return count
        } catch {
            end(side.readFailure(error))
            return nil
        }
    }

    /// Dispatches the events of nghttp2.
    private func dispatch() {
        // An event may end the link, and then its bytes are gone.
        while !hasEnded, let event = connection.nextEvent() {
            switch consume event {
            case .request(let id, let request, let facts):
                begun.append(
                    Beginning(
                        stream: open(id, facts),
                        request: request,
                        named: facts.protocolName
                    )
                )
            case .refused(let id, let problem, let method): refuse(id, problem, to: method)
            case .malformed(let id):
                // Not listed: for the link the stream has ended.
                let stream = HTTP2Stream(id, on: self, windowBytes: 0, bytesReceived: 0)
                stream.noteReset(.protocolError)
                owner?.linkRejected(stream)
            case .response(let id, let response, let facts):
                guard let stream = find(id) else { break }
                stream.take(response, facts)
                touch(stream)
            case .data(let id, let range):
                guard let stream = find(id) else {
                    connection.consume(range.count, on: id)
                    break
                }
                stream.lend(range)
                lenders.append(stream)
                touch(stream)
            case .end(let id, let trailers):
                guard let stream = find(id) else { break }
                stream.takeEnd(trailers)
                unfinishedCount -= 1
                touch(stream)
            case .closed(let id, let code, let isByPeer): close(id, code, isByPeer: isByPeer)
            case .window(0): touchWaiting()
            case .window(let id): if let stream = find(id), stream.isBlocked { touch(stream) }
            case .settings:
                touchWaiting()
                owner?.linkChanged()
            case .goAway(let code):
                goAway = code
                owner?.linkChanged()
            case .pong: owner?.linkChanged()
            }
        }
        if !begun.isEmpty { handOutRequests() }
        signal()
        keepLent()
    }

    private func handOutRequests() {
        guard let owner else { return begun.removeAll() }
        // All of them, even if the link ends meanwhile: each request gets a record.
        begun.takeEach { beginning in
            if let request = beginning.request {
                owner.linkReceived(request, on: beginning.stream, named: beginning.named)
            } else if let (problem, method) = beginning.problem {
                owner.linkRefused(problem, to: method, on: beginning.stream)
            }
        }
    }

    /// Makes streams copy payload that was not taken at once, before the input's memory is reused.
    private func keepLent() {
        lenders.takeEach { $0.keepLent() }
    }

    private func find(_ id: Int32) -> HTTP2Stream? {
        if let latest, latest.id == id { return latest }
        latest = streams.find(id)
        return latest
    }

    private func refuse(_ id: Int32, _ problem: MessageProblem, to method: Method) {
        switch side {
        case .downstream:
            if let stream = find(id) {
                stream.fail(side.problem(problem))
                touch(stream)
                return connection.reset(id, .protocolError)
            }
            let stream = open(id, HTTP2Event.MessageFacts())
            begun.append(Beginning(stream: stream, problem: (problem, to: method)))
        case .upstream:
            guard let stream = find(id) else { return }
            stream.fail(side.problem(problem))
            touch(stream)
        }
    }

    private func close(_ id: Int32, _ code: HTTP2ErrorCode, isByPeer: Bool) {
        guard let stream = changeStreams({ $0.remove(id) }) else { return }
        if latest === stream { latest = nil }
        if !stream.hasPeerEnded { unfinishedCount -= 1 }
        if stream.isInBlocked { blocked.removeAll { $0 === stream } }
        if stream.isInWaiting { waiting.removeAll { $0 === stream } }
        stream.close(code, isByPeer: isByPeer, isGoingAway: goAway != nil && !isByPeer)
        if stream.isUsed { touch(stream) }
        if side == .upstream { owner?.linkChanged() }
    }

    func touch(_ stream: HTTP2Stream) {
        guard !stream.isTouched else { return }
        stream.isTouched = true
        touched.append(stream)
    }

    private func touchBlocked() {
        blocked.takeEach { stream in
            stream.isInBlocked = false
            touch(stream)
        }
    }

    private func touchWaiting() {
        waiting.takeEach { stream in
            stream.isInWaiting = false
            if stream.isBlocked { touch(stream) }
        }
    }

    private func signal() {
        // Signalling may touch other streams.
        touched.takeEach { stream in
            stream.isTouched = false
            stream.signal()
        }
    }

    /// Notifies the user of a stream that it has news.
    func call(_ pump: any ChannelPump) { pump.channelIsReady(channel) }

    // MARK: Sending

    /// Schedules a flush at the end of the loop's turn, when all streams have written.
    func wantFlush() {
        guard !isFlushDue, !isInTurn else { return }
        isFlushDue = true
        loop.later { [self] in
            flush()
            // The peer may hold back the rest of a message until then.
            if unfinishedCount > 0, !hasEnded { channel.acknowledge() }
        }
    }

    private func flush() {
        isFlushDue = false
        guard !hasEnded else { return }
        stageFrames()
        do throws(SystemError) {
            _ = try channel.flush()
        } catch {
            return end(behind: error)
        }
        if connection.hasEvents {
            dispatch()
            guard !hasEnded else { return }
        }
        if !blocked.isEmpty, channel.unsentCount < Self.backlogMax {
            touchBlocked()
            signal()
        }
        if isPaused, channel.unsentCount < Self.answersMax {
            isPaused = false
            loop.later { [self] in turn() }
        }
        if connection.isOver || failure != nil, !channel.hasStaged { end(breach) }
    }

    /// The error for streams that are still open after the peer broke the protocol: it has been
    /// told so, and nothing more is read.
    private var breach: LupinError? {
        if let failure { return failure }
        return connection.isOver && !streams.isEmpty ? side.breach : nil
    }

    /// Stages the frames that nghttp2 holds, for the next flush.
    func stageFrames() {
        guard connection.wantsWrite else { return }
        // `stage` moves the output out and back, so that streams may be written to meanwhile.
        channel.stage { connection.drain(into: &$0) }
    }

    /// Reuses the memory of fields that are no longer needed.
    package func recycle(_ fields: consuming FieldSection) { connection.recycle(fields) }

    /// Sends a PING to check whether the peer still answers.
    package func ping() {
        guard !hasEnded else { return }
        connection.ping()
        wantFlush()
    }

    // MARK: Streams

    func open(_ id: Int32, _ facts: HTTP2Event.MessageFacts) -> HTTP2Stream {
        let stream = HTTP2Stream(
            id,
            on: self,
            windowBytes: connection.windowBytes,
            bytesReceived: UInt64(facts.bytes)
        )
        changeStreams { $0.insert(stream, at: id) }
        unfinishedCount += 1
        return stream
    }

    /// Moves the table out and back, which avoids the run-time exclusivity check.
    @inline(__always)
    private func changeStreams<Result>(
        _ change: (inout StreamTable<HTTP2Stream>) -> Result
    ) -> Result {
        var streams = StreamTable<HTTP2Stream>.placeholder
        swap(&streams, &self.streams)
        let result = change(&streams)
        swap(&streams, &self.streams)
        return result
    }

    /// Wakes every task that waits on one of the streams.
    package func wakeStreams(_ reasons: WakeReasons) {
        for stream in streams.all { stream.slot?.wake(reasons) }
    }

    /// Notes that a stream discards the rest of a message, so that `endPassing` checks it.
    func notePassing() { hasPassing = true }

    /// Ends the streams that have discarded a message's rest for too long.
    package func endPassing() {
        guard hasPassing else { return }
        let now = loop.now
        hasPassing = false
        for stream in streams.all where stream.passes(at: now) { hasPassing = true }
        signal()
    }

    // MARK: The end

    /// Sends a GOAWAY that allows no new streams later, and a PING to learn when it has arrived
    /// (RFC 9113 §6.8): requests on their way until then are still served.
    package func announceLeave() {
        guard !hasEnded else { return }
        connection.goAway(isFinal: false)
        ping()
        flush()
    }

    /// Takes no new streams and lets the open ones finish.
    package func leave() {
        guard !hasEnded else { return }
        connection.goAway(isFinal: true)
        flush()
        if !hasEnded, streams.isEmpty, !channel.hasStaged { end(nil) }
    }

    /// Ends everything now because lupin stops.
    package func cut() { end(saying: .noError, .stopping) }

    /// Ends everything now because the peer keeps us waiting or busy.
    package func giveUp(_ code: HTTP2ErrorCode) { end(saying: code, side.closed) }

    private func end(saying code: HTTP2ErrorCode, _ error: LupinError) {
        guard !hasEnded else { return }
        // nghttp2 drops pending resets when the connection ends.
        stageFrames()
        connection.terminate(code)
        stageFrames()
        _ = try? channel.flush()
        end(error)
    }

    /// Ends a connection to which nothing can be written; bytes that the peer sent before it closed
    /// are still read, above all responses.
    private func end(behind failure: SystemError) {
        channel.expectBytes()
        isInTurn = true
        while !hasEnded, receive() != nil {}
        isInTurn = false
        end(side.writeFailure(failure))
    }

    /// Closes the connection; streams that are still open fail.
    private func end(_ error: LupinError?) {
        guard !hasEnded else { return }
        hasEnded = true
        keepLent()
        channel.close()
        latest = nil
        let lost = streams.all
        streams = StreamTable()
        blocked.removeAll()
        waiting.removeAll()
        for stream in lost {
            stream.fail(error ?? side.closed)
            touch(stream)
        }
        signal()
        owner?.linkEnded()
        owner = nil
    }
}
