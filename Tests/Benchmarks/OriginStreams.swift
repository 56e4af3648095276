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
    private var namedBody = VariedText([])
    private var namedBodyBytes = 0
    /// A copy of `namedBody`, for the stream whose turn it is.
    private var filledBody: [UInt8] = []
    /// Streams with payload that was not sent yet; they take turns.
    private var unsent: [Answer] = []

    private struct Answer {
        let stream: Int32
        let demand: Demand
        var left: Int
        var isOver = false
    }

    /// What one stream sends before the next one's turn.
    private static let pieceBytes = 64 << 10
    /// Unsent bytes beyond which no stream adds to them.
    private static let backlogMax = 256 << 10

    /// Answers with bytes of `pattern`.
    init(on channel: Channel, in slot: ParkingSlot, pattern: [UInt8]) {
        self.channel = channel
        self.slot = slot
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
    }

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
            input.discard(input.count)
            takeEvents()
        }
        let hasPushed = push()
        if connection.wantsWrite { channel.stage { connection.drain(into: &$0) } }
        let hasLeft = try channel.flush()
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
                answer(Demand(target: target), on: stream)
            case .refused(let stream, _): connection.reset(stream, .protocolError)
            case .data(let stream, let range): connection.consume(range.count, on: stream)
            case .closed(let stream, _, _):
                if !unsent.isEmpty { unsent.removeAll { $0.stream == stream } }
            case .malformed, .response, .end, .window, .settings, .goAway, .pong: break
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
        let count = min(answer.left, Self.pieceBytes)
        guard answer.demand.id != nil else { return (pattern, 0..<count) }
        if namedBodyBytes != answer.demand.bytes {
            namedBodyBytes = answer.demand.bytes
            namedBody = VariedText(
                NamedBody.template(namedBodyBytes, naming: VariedText.urlID)
            )
        }
        filledBody.removeAll(keepingCapacity: true)
        namedBody.append(to: &filledBody, for: answer.demand.ids)
        let start = answer.demand.bytes - answer.left
        return (filledBody, start..<start + count)
    }

    /// Lets every stream send a piece; whether any of them could.
    private func push() -> Bool {
        var hasPushed = false
        for i in unsent.indices where channel.unsentCount < Self.backlogMax {
            let answer = unsent[i]
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
}
