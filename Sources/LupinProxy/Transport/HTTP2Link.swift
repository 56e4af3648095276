// An HTTP/2 connection on its channel: what comes goes to the streams, what they say goes out.
import LupinCore
import LupinIO
import LupinWire

/// Who made a link, and hears of what concerns no stream that is there already.
protocol HTTP2LinkOwner: AnyObject {
    /// A client's request came.
    func linkReceived(_ request: ParsedRequest, on stream: HTTP2Stream, named: String?)
    /// A client's request came that wants an answer of ours.
    func linkRefused(_ problem: MessageProblem, on stream: HTTP2Stream)
    /// A client's request broke the rules: its stream has been reset, and nobody is to answer.
    func linkRejected(_ stream: HTTP2Stream)
    /// A stream of ours ended, or the peer's settings or its GOAWAY changed what can be done.
    func linkChanged()
    /// The connection is over, and closed.
    func linkEnded()
}

/// One HTTP/2 connection, on either side.
///
/// It has no task of its own: events of the channel drive it. What streams say is gathered and
/// leaves at the end of the turn, in as few calls to the kernel as can be.
final class HTTP2Link: ChannelPump {
    let channel: Channel
    let connection: HTTP2Connection
    let side: Side
    /// Until the connection is over.
    var owner: (any HTTP2LinkOwner)?
    /// What the peer's GOAWAY said, once one came.
    private(set) var goAway: HTTP2ErrorCode?
    /// When a frame last came, in microseconds of the loop's clock.
    private(set) var lastReceived: UInt64
    let growth: WindowGrowth?
    private(set) var streams = StreamTable<HTTP2Stream>()
    /// The one of which something came last: more of it comes next, as a rule.
    private var latest: HTTP2Stream?
    /// Streams whose payload still lies in the channel's input.
    private let lenders = Roll<HTTP2Stream>()
    /// Streams with news for whoever uses them.
    private let touched = Roll<HTTP2Stream>()
    /// Streams that have more to say than the socket took.
    let blocked = Roll<HTTP2Stream>()
    /// Streams that have more to say than the peer takes for now.
    let waiting = Roll<HTTP2Stream>()
    /// Requests that came in this turn: they begin when all that came with them is there.
    private let begun = Roll<Beginning>()
    /// A request, or what is wrong with it.
    private struct Beginning {
        let stream: HTTP2Stream
        var request: ParsedRequest?
        var named: String?
        var problem: MessageProblem?
    }

    private var isFlushDue = false
    private var isInTurn = false
    /// Nothing is read until more was sent; no event will tell of what came meanwhile.
    private var isPaused = false
    private(set) var hasEnded = false
    /// Some streams let the rest of a message pass by.
    private var hasPassing = false

    /// Unsent bytes beyond which no stream may add to them.
    static let backlogMax = 64 << 10
    /// Unsent bytes beyond which nothing more is read: they are answers that nobody fetches.
    ///
    /// More than streams may have, or a peer that reads slowly could not even cancel one.
    private static let answersMax = 256 << 10
    /// Bytes read before other connections get their turn.
    private static let turnBytes = 256 << 10

    init(
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
    var isOpen: Bool { !hasEnded }
    var hasStreams: Bool { !streams.isEmpty }
    var streamCount: Int { streams.count }
    /// The peer has said how it wants to be spoken to.
    var hasSettings: Bool { connection.hasSettings }
    /// A PING of ours was not answered yet.
    var awaitsPong: Bool { connection.pingsUnderWay > 0 }

    /// Begins: says our settings, and reads what is there already.
    func start() { turn() }

    func channelIsReady(_ channel: Channel) { turn() }

    /// Reads what has come that no event has told of yet.
    func look() {
        channel.expectBytes()
        turn()
    }

    // MARK: A turn

    private func turn() {
        guard !hasEnded, !isInTurn else { return }
        isInTurn = true
        isPaused = false
        var budget = Self.turnBytes
        while budget > 0 {
            if channel.unsentCount >= Self.answersMax {
                // Answers that nobody reads must not pile up.
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
        if budget <= 0 { loop.later { [self] in turn() } }
    }

    /// Reads once and deals with all of it; nil when there is nothing more.
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
                end(LupinError(.httpProtocolError, detail: "HTTP/2: \(error.text)."))
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

    /// Hands out what came.
    private func dispatch() {
        // What an event leads to may end the link, and then its bytes are gone.
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
            case .refused(let id, let problem): refuse(id, problem)
            case .malformed(let id):
                // Never listed: for the link the stream is over.
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
        // All of them, even if the link ends meanwhile: each came and has a record.
        begun.takeEach { beginning in
            if let request = beginning.request {
                owner.linkReceived(request, on: beginning.stream, named: beginning.named)
            } else if let problem = beginning.problem {
                owner.linkRefused(problem, on: beginning.stream)
            }
        }
    }

    /// Has streams copy what nobody took at once: the input's memory is used again.
    private func keepLent() {
        lenders.takeEach { $0.keepLent() }
    }

    private func find(_ id: Int32) -> HTTP2Stream? {
        if let latest, latest.id == id { return latest }
        latest = streams.find(id)
        return latest
    }

    private func refuse(_ id: Int32, _ problem: MessageProblem) {
        switch side {
        case .downstream:
            if let stream = find(id) {
                stream.fail(side.problem(problem))
                touch(stream)
                return connection.reset(id, .protocolError)
            }
            let stream = open(id, HTTP2Event.MessageFacts())
            begun.append(Beginning(stream: stream, problem: problem))
        case .upstream:
            connection.reset(id, .protocolError)
            guard let stream = find(id) else { return }
            stream.fail(side.problem(problem))
            touch(stream)
        }
    }

    private func close(_ id: Int32, _ code: HTTP2ErrorCode, isByPeer: Bool) {
        guard let stream = changeStreams({ $0.remove(id) }) else { return }
        if latest === stream { latest = nil }
        if stream.isInBlocked { blocked.removeAll { $0 === stream } }
        if stream.isInWaiting { waiting.removeAll { $0 === stream } }
        stream.close(code, isByPeer: isByPeer, isGoingAway: goAway != nil && !isByPeer)
        if stream.isUsed { touch(stream) }
        if side == .upstream { owner?.linkChanged() }
    }

    private func touch(_ stream: HTTP2Stream) {
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
        // What is signalled may touch others.
        touched.takeEach { stream in
            stream.isTouched = false
            stream.signal()
        }
    }

    /// Tells who uses a stream of it that there are news.
    func call(_ pump: any ChannelPump) { pump.channelIsReady(channel) }

    // MARK: Sending

    /// What waits leaves when everybody has had a word.
    func wantFlush() {
        guard !isFlushDue, !isInTurn else { return }
        isFlushDue = true
        loop.later { [self] in flush() }
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
        if connection.isOver, !channel.hasStaged { end(breach) }
    }

    /// What ended the connection with streams still on it, where the peer broke the rules: it has
    /// been told, and nothing more is read.
    private var breach: LupinError? {
        connection.isOver && !streams.isEmpty ? side.breach : nil
    }

    /// Has what nghttp2 keeps leave with the next flush.
    func stageFrames() {
        guard connection.wantsWrite else { return }
        // Moved out and back by `stage`, so that streams may be written to meanwhile.
        channel.stage { connection.drain(into: &$0) }
    }

    /// Takes over the memory of fields that nobody needs any longer.
    func recycle(_ fields: consuming FieldSection) { connection.recycle(fields) }

    /// Asks whether the peer is still there.
    func ping() {
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
        return stream
    }

    /// Moves the streams out and back, which spares run-time checks of exclusivity.
    @inline(__always)
    private func changeStreams<Result>(
        _ change: (inout StreamTable<HTTP2Stream>) -> Result
    ) -> Result {
        var streams = StreamTable<HTTP2Stream>.standIn
        swap(&streams, &self.streams)
        let result = change(&streams)
        swap(&streams, &self.streams)
        return result
    }

    /// Wakes whoever waits on any of the streams.
    func wakeStreams(_ reasons: WakeReasons) {
        for stream in streams.all { stream.slot?.wake(reasons) }
    }

    /// A stream lets the rest of a message pass by: `endPassing` looks after it.
    func notePassing() { hasPassing = true }

    /// Ends the streams whose peers have sent for too long what nobody wants.
    func endPassing() {
        guard hasPassing else { return }
        let now = loop.now
        hasPassing = false
        for stream in streams.all where stream.passes(at: now) { hasPassing = true }
    }

    // MARK: The end

    /// Says that no new streams should come, and asks when the peer has heard it (RFC 9113 §6.8):
    /// what is on its way by then is still served.
    func announceLeave() {
        guard !hasEnded else { return }
        connection.goAway(isFinal: false)
        ping()
        flush()
    }

    /// Lets what runs finish and takes nothing new.
    func leave() {
        guard !hasEnded else { return }
        connection.goAway(isFinal: true)
        flush()
        if !hasEnded, streams.isEmpty, !channel.hasStaged { end(nil) }
    }

    /// Ends everything now, since lupin stops.
    func cut() { end(saying: .noError, .stopping) }

    /// Ends everything now, since the peer keeps us waiting or busy.
    func giveUp(_ code: HTTP2ErrorCode) { end(saying: code, side.closed) }

    private func end(saying code: HTTP2ErrorCode, _ error: LupinError) {
        guard !hasEnded else { return }
        // It forgets resets that wait when the connection ends.
        stageFrames()
        connection.terminate(code)
        stageFrames()
        _ = try? channel.flush()
        end(error)
    }

    /// Ends a connection that takes nothing more: what the peer said before it went still counts,
    /// answers to requests above all.
    private func end(behind failure: SystemError) {
        channel.expectBytes()
        isInTurn = true
        while !hasEnded, receive() != nil {}
        isInTurn = false
        end(side.writeFailure(failure))
    }

    /// Closes the connection; streams that are still under way are lost.
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
