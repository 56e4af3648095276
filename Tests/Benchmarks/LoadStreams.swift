// What one simulated client does with HTTP/2: so many requests at a time on one connection.
import LupinCore
import LupinIO
import LupinWire

/// The streams of one connection: where one ends, the next begins.
final class LoadStreams {
    private unowned let generator: LoadGenerator
    private let channel: Channel
    private let slot: ParkingSlot
    private let loop: EventLoop
    private let plan: LoadPlan
    private let connection: HTTP2Connection
    private var head: RequestHead
    private let blanks: VariedText
    private let options: RequestOptions
    private var underWay: [Int32: Answer] = [:]
    /// The proxy takes no more streams on this connection.
    private var isLeaving = false

    private struct Answer {
        let startedAt: UInt64
        /// What it must name; nil where all answers are equal.
        let id: RequestID?
        /// Bytes of the body that are still to come; nil before the head.
        var left: Int?
    }

    /// A client that reads at once lets this much come unasked, on every stream.
    private static let windowBytes = 1 << 20
    /// Bytes read before other connections get their turn.
    private static let turnBytes = 256 << 10

    init(of generator: LoadGenerator, on channel: Channel, in slot: ParkingSlot) {
        self.generator = generator
        self.channel = channel
        self.slot = slot
        loop = generator.loop
        plan = generator.plan
        var limits = HTTP2Limits()
        limits.window = .fixed(bytes: Self.windowBytes)
        connection = HTTP2Connection(
            .client,
            HTTP2Parameters(limits: limits, heads: HTTP1Limits())
        )
        let head = plan.requestHead
        self.head = head
        blanks = VariedText(head.fields.storage)
        options = plan.requestOptions
    }

    /// Exchanges until the run is over, or the proxy wants no more of them here.
    func run() async throws(LoadError) {
        while !generator.isOver {
            guard try turn() else { return generator.noteReconnect() }
            let woken = await slot.park(
                for: .upstreamReadable | .upstreamWritable,
                until: loop.deadline(in: LoadLink.timeout)
            )
            if woken.contains(.timedOut) { throw .timedOut }
        }
    }

    // MARK: Private

    /// Asks and reads for as long as there is something to do; false when the connection is over.
    private func turn() throws(LoadError) -> Bool {
        var budget = Self.turnBytes
        while !generator.isOver {
            ask()
            if isLeaving, underWay.isEmpty { return false }
            let received = try move()
            let count = channel.input.count
            guard count > 0 else {
                guard received == .end else { return true }
                guard underWay.isEmpty else { throw .closedEarly }
                return false
            }
            try take()
            budget -= count
            if budget <= 0 {
                loop.later { [slot] in slot.wake(.upstreamReadable) }
                return true
            }
        }
        return true
    }

    /// Sends what waits, then reads once.
    private func move() throws(LoadError) -> Channel.Received {
        do throws(SystemError) {
            _ = try channel.flush()
            return try channel.receive()
        } catch {
            throw .socket(error.message)
        }
    }

    /// Opens as many streams as there should be, and says what else waits.
    private func ask() {
        let missing = isLeaving ? 0 : plan.streams - underWay.count
        if missing > 0 {
            let now = loop.clock.now()
            for _ in 0..<missing {
                let ids = generator.nextIDs()
                blanks.fill(&head.fields.storage, for: ids)
                guard let stream = connection.submit(head, options) else { break }
                underWay[stream] = Answer(startedAt: now, id: plan.isVaried ? ids.url : nil)
            }
        }
        if connection.wantsWrite { channel.stage { connection.drain(into: &$0) } }
    }

    /// Reads what came.
    private func take() throws(LoadError) {
        let input = channel.input
        do throws(HTTP2Failure) {
            try connection.receive(input.bytes, now: loop.now)
        } catch {
            throw .http2(error.text)
        }
        while let event = connection.nextEvent() {
            switch event {
            case .response(let stream, let response, _): try begin(stream, response)
            case .data(let stream, let range):
                connection.consume(range.count, on: stream)
                try take(input.bytes.extracting(range), on: stream)
            case .end(let stream, _): try end(stream)
            case .refused(_, let problem, _): throw .http2("\(problem)")
            case .closed(let stream, let code, _):
                if underWay[stream] != nil { throw .http2("a stream ended with \(code)") }
            case .goAway: isLeaving = true
            case .request, .malformed, .window, .settings, .pong: break
            }
        }
        // Not before: payload is read where it came.
        input.discard(input.count)
    }

    private func begin(_ stream: Int32, _ response: ParsedResponse) throws(LoadError) {
        guard response.status == 200 else { throw .status(Int(response.status)) }
        guard response.contentLength == UInt64(plan.bodyBytes) else {
            let length = response.contentLength.map(String.init) ?? "missing"
            throw .length("Content-Length is \(length), not \(plan.bodyBytes)")
        }
        let fields = response.takeHead().fields
        if let id = underWay[stream]?.id {
            guard let line = fields.first(.etag),
                HeadScan.identifier(fields.storage.span.extracting(line.value.range)) == id
            else { throw .foreignAnswer }
        }
        underWay[stream]?.left = plan.bodyBytes
        connection.recycle(fields)
    }

    /// Counts payload, and compares it where it names an ID.
    private func take(_ payload: Span<UInt8>, on stream: Int32) throws(LoadError) {
        guard let answer = underWay[stream], let left = answer.left, left >= payload.count else {
            throw .length("bytes behind the response")
        }
        if let id = answer.id {
            let offset = plan.bodyBytes - left
            guard NamedBody.isRight(payload, from: offset, for: id) else { throw .foreignAnswer }
        }
        underWay[stream]?.left = left - payload.count
        generator.noteBytes(payload.count)
    }

    private func end(_ stream: Int32) throws(LoadError) {
        guard let answer = underWay.removeValue(forKey: stream), answer.left == 0 else {
            throw .closedEarly
        }
        generator.noteResponse(after: loop.clock.now() - answer.startedAt)
    }
}
