// The origin's HTTP/2: every stream is answered with what it asks for.
import LupinCore
import LupinIO
import LupinWire

/// One connection of a client that has agreed on `h2`.
final class OriginStreams {
    private let channel: Channel
    private let slot: ParkingSlot
    private let connection: HTTP2Connection
    private let pattern: [UInt8]
    private let equalHead: ResponseHead
    /// Filled in anew for every answer that names an ID.
    private var namedHead: ResponseHead
    private let blanks: VariedText
    private var bodies = NamedBodies()
    /// A body with its ID, for the stream whose turn it is.
    private var filledBody: [UInt8] = []
    private let storm: StormOrigin
    /// Requests of a storm whose body has not come yet, and how much of it has.
    private var unread: [Int32: (demand: Demand, visit: StormVisit, count: Int)] = [:]
    /// Streams whose answer begins after a pause.
    private var delayed: Set<Int32> = []
    /// This end takes no more streams.
    private var isLeaving = false
    /// Streams with payload that was not sent yet; they take turns.
    private var unsent: [Answer] = []

    private struct Answer {
        let stream: Int32
        let demand: Demand
        var left: Int
        var isOver = false
        /// Bytes of the body that are held back until a pause is over.
        var held = 0
        /// The stream is reset where its body is held back.
        var isCut = false
    }

    /// What one stream sends before the next one's turn.
    private static let pieceBytes = 64 << 10
    /// Unsent bytes beyond which no stream adds to them.
    private static let backlogMax = 256 << 10

    /// Answers with bytes of `pattern`.
    init(
        on channel: Channel,
        in slot: ParkingSlot,
        _ storm: StormOrigin,
        _ pattern: [UInt8]
    ) {
        self.channel = channel
        self.slot = slot
        self.storm = storm
        self.pattern = pattern
        connection = HTTP2Connection(
            .server,
            HTTP2Parameters(limits: HTTP2Limits(), heads: HTTP1Limits())
        )
        equalHead = Self.head(isNamed: false)
        namedHead = Self.head(isNamed: true)
        blanks = VariedText(namedHead.fields.storage)
    }

    /// Serves until the peer is gone.
    func run() async throws(SystemError) {
        while try turn() {
            _ = await slot.park(for: .downstreamReadable | .downstreamWritable)
        }
        if isLeaving, !storm.isAbrupt { try await linger() }
    }

    /// Waits until the peer has read everything, and has closed: what it sends meanwhile would
    /// otherwise be answered by RST, which can cost it the last answers (RFC 9112 §9.6).
    private func linger() async throws(SystemError) {
        channel.finishSending()
        let end = channel.loop.deadline(in: Self.lingering)
        while true {
            let received = try channel.receive()
            if received == .end { return }
            channel.input.discard(channel.input.count)
            guard received == .blocked else { continue }
            let woken = await slot.park(for: .downstreamReadable, until: end)
            if woken.contains(.timedOut) { return }
        }
    }

    private static let lingering = Duration.seconds(5)

    // MARK: Private

    /// Jobs with a cache ask by HTTP/1.1.
    private static func head(isNamed: Bool) -> ResponseHead {
        var head = ResponseHead(status: 200)
        for field in OriginAnswers.fields(isNamed: isNamed, isStorable: false) {
            head.fields.add(name: field.name, value: field.value)
        }
        return head
    }

    /// Reads once, answers once round; false when the connection is over.
    private func turn() throws(SystemError) -> Bool {
        let received = try channel.receive()
        let input = channel.input
        if input.isEmpty {
            if received == .end { return false }
        } else {
            do throws(HTTP2Failure) {
                try connection.receive(input.bytes, now: channel.loop.now)
            } catch {
                return false
            }
            takeEvents()
            // Not before: payload is read where it came.
            input.discard(input.count)
        }
        let hasPushed = push()
        if connection.wantsWrite { channel.stage { connection.drain(into: &$0) } }
        let hasLeft = try channel.flush()
        if isLeaving, hasLeft, unsent.isEmpty, connection.openStreams == 0 { return false }
        if received == .bytes || (hasPushed && hasLeft && !unsent.isEmpty) {
            channel.loop.later { [slot] in slot.wake(.downstreamReadable) }
        }
        return true
    }

    private func takeEvents() {
        while let event = connection.nextEvent() {
            switch event {
            case .request(let stream, let request, _):
                let head = request.takeHead()
                let target = head.fields.storage.span.extracting(head.pathAndQuery.range)
                let demand = Demand(target: target)
                guard let visit = StormVisit(demand, { head.fields.value(of: $0) }) else {
                    answer(demand, on: stream)
                    continue
                }
                unread[stream] = (demand, visit, 0)
            case .refused(let stream, _, _): connection.reset(stream, .protocolError)
            case .data(let stream, let range):
                connection.consume(range.count, on: stream)
                let input = channel.input
                read(input.bytes.extracting(range), on: stream)
            case .end(let stream, _):
                guard let (demand, visit, _) = unread.removeValue(forKey: stream) else { continue }
                play(storm.act(on: visit, now: channel.loop.now), demand, visit, on: stream)
            case .closed(let stream, _, _):
                if !unsent.isEmpty { unsent.removeAll { $0.stream == stream } }
                unread[stream] = nil
                delayed.remove(stream)
            case .malformed, .response, .window, .settings, .goAway, .pong: break
            }
        }
    }

    /// Sends the head, and puts the body behind those that wait.
    private func answer(_ demand: Demand, on stream: Int32) {
        if demand.id != nil { blanks.fill(&namedHead.fields.storage, for: demand.ids) }
        connection.submit(
            demand.id == nil ? equalHead : namedHead,
            ResponseOptions(framing: .length(UInt64(demand.bytes))),
            hasBody: demand.bytes > 0,
            on: stream
        )
        guard demand.bytes > 0 else { return }
        unsent.append(Answer(stream: stream, demand: demand, left: demand.bytes))
    }

    /// What an answer sends next lies in this at the given place.
    private func payload(of answer: Answer) -> (bytes: [UInt8], place: Range<Int>) {
        let count = min(answer.left - answer.held, Self.pieceBytes)
        guard answer.demand.id != nil else { return (pattern, 0..<count) }
        filledBody.removeAll(keepingCapacity: true)
        bodies.template(of: answer.demand.bytes)?.append(to: &filledBody, for: answer.demand.ids)
        let start = answer.demand.bytes - answer.left
        return (filledBody, start..<start + count)
    }

    /// Lets every stream send a piece; whether any of them could.
    private func push() -> Bool {
        var hasPushed = false
        for i in unsent.indices where channel.unsentCount < Self.backlogMax {
            let answer = unsent[i]
            guard answer.left > answer.held else {
                if answer.isCut { connection.reset(answer.stream, .internalError) }
                unsent[i].isOver = answer.isCut
                continue
            }
            let (bytes, place) = payload(of: answer)
            channel.stage { output in
                let result = connection.push(
                    bytes.span.extracting(place),
                    isLast: place.count == answer.left,
                    on: answer.stream,
                    into: &output
                )
                unsent[i].left -= result.taken
                unsent[i].isOver = result.isOver
                if result.taken > 0 { hasPushed = true }
            }
        }
        unsent.removeAll { $0.isOver }
        return hasPushed
    }

    // MARK: Storms

    /// A body that names another request ends its stream.
    private func read(_ payload: Span<UInt8>, on stream: Int32) {
        guard let (_, visit, count) = unread[stream] else { return }
        unread[stream]?.count += payload.count
        if NamedBody.isRight(payload, from: count, for: visit.id) { return }
        unread[stream] = nil
        answer(400, on: stream)
    }

    /// The end of a connection is that of a stream here, or GOAWAY.
    private func play(
        _ act: StormAct,
        _ demand: Demand,
        _ visit: StormVisit,
        on stream: Int32
    ) {
        switch act {
        case .answer: answer(demand, visit, on: stream)
        case .chunk: answer(demand, visit, on: stream, framing: .chunked)
        case .refuse: answer(401, on: stream)
        case .fail: answer(503, on: stream)
        case .vanish(let isReset):
            connection.reset(stream, isReset ? .internalError : .refusedStream)
        case .cutHead: connection.reset(stream, .cancel)
        case .cutBody(let place):
            answer(demand, visit, on: stream, sending: place)
            unsent[unsent.count - 1].isCut = true
        case .delay(let time):
            delayed.insert(stream)
            after(time) { this in
                guard this.delayed.remove(stream) != nil else { return }
                this.answer(demand, visit, on: stream)
            }
        case .pause(let place, let time):
            answer(demand, visit, on: stream, sending: place)
            after(time) { this in
                let i = this.unsent.firstIndex { $0.stream == stream }
                if let i { this.unsent[i].held = 0 }
            }
        case .hint:
            var hint = ResponseHead(status: 103)
            hint.fields.add(name: StormField.requestID, value: "\(visit.id)")
            connection.submitInterim(hint, on: stream)
            answer(demand, visit, on: stream)
        case .leave(let isSaid):
            answer(demand, visit, on: stream)
            guard isSaid else { return leave() }
            connection.goAway(isFinal: false)
            after(Self.noticeMilliseconds) { $0.leave() }
        }
    }

    /// Between the two steps of an end that is announced.
    private static let noticeMilliseconds = 100

    private func leave() {
        isLeaving = true
        connection.goAway(isFinal: true)
    }

    /// An answer without a body.
    private func answer(_ status: UInt16, on stream: Int32) {
        var head = ResponseHead(status: status)
        if status == 401 {
            head.fields.add(name: "WWW-Authenticate", value: "Bearer realm=\"storm\"")
        }
        let options = ResponseOptions(framing: .length(0))
        connection.submit(head, options, hasBody: false, on: stream)
    }

    /// A good answer, of which so many bytes are sent at once; nil for all.
    private func answer(
        _ demand: Demand,
        _ visit: StormVisit,
        on stream: Int32,
        framing: BodyFraming? = nil,
        sending count: Int? = nil
    ) {
        blanks.fill(&namedHead.fields.storage, for: demand.ids)
        var head = namedHead
        for field in visit.echo { head.fields.add(name: field.name, value: field.value) }
        let options = ResponseOptions(framing: framing ?? .length(UInt64(demand.bytes)))
        connection.submit(head, options, hasBody: true, on: stream)
        var answer = Answer(stream: stream, demand: demand, left: demand.bytes)
        answer.held = count.map { demand.bytes - $0 } ?? 0
        unsent.append(answer)
    }

    /// Does something later, unless the connection is over by then.
    private func after(_ milliseconds: Int, _ act: @escaping (OriginStreams) -> Void) {
        let loop = channel.loop
        let local = LoopLocal((self, ParkingSlot(on: loop), act), of: loop.executor)
        Task.immediate(executorPreference: loop.executor) {
            let (this, pause, act) = local.value
            let end = this.channel.loop.deadline(in: .milliseconds(milliseconds))
            _ = await pause.park(for: [], until: end)
            guard this.channel.isOpen else { return }
            act(this)
            this.slot.wake(.downstreamReadable)
        }
    }
}
