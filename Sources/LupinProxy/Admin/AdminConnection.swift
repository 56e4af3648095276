// One connection of the admin interface: requests in, responses out, all within time limits.
import LupinCore
import LupinIO
import LupinInspector
import LupinUpstream
import LupinWire

/// Serves the requests of one connection; confined to the control loop.
final class AdminConnection {
    private let channel: Channel
    private let slot: ParkingSlot
    private let http1: DownstreamHTTP1
    private let guarded: AdminGuard
    private let routes: AdminRoutes
    private var isCut = false
    /// Connections are counted apart for each.
    let crowd: Crowd
    /// The clients that compete with each other for connections.
    enum Crowd { case local, remote, metrics }

    /// A request has proved that its client has access.
    private(set) var isProven = false
    private var hadLongBody = false

    /// How long a client may be idle between requests.
    private static let idleTime = Duration.seconds(60)
    /// How long a client without proved access has for its whole first head.
    private static let unprovenTime = Duration.seconds(5)
    /// How long receiving a head or a body, or sending a response, may take.
    private static let timeout = Duration.seconds(10)
    /// A connection that had a longer body gives its memory back to the system.
    private static let longBodyBytes = 1 << 20
    /// The maximum length of a body.
    private static let bodyBytesMax = 16 << 20
    /// The same for a client that has shown no token yet.
    private static let unprovenBodyBytesMax = 4096
    /// How long a refused client has to read the refusal.
    private static let farewell = Duration.seconds(1)

    init(_ channel: Channel, _ guarded: AdminGuard, _ routes: AdminRoutes) {
        self.channel = channel
        self.guarded = guarded
        self.routes = routes
        slot = ParkingSlot(on: channel.loop)
        crowd =
            switch guarded {
            case .local: .local
            case .remote, .inspector: .remote
            case .metrics: .metrics
            }
        var limits = HTTP1Limits()
        limits.requestLineBytes = 8 << 10
        limits.headerBytes = 16 << 10
        limits.headerFields = 100
        http1 = DownstreamHTTP1(channel, slot, limits: limits, listener: nil)
    }

    private var loop: EventLoop { channel.loop }

    /// Ends the connection now.
    func cut() {
        isCut = true
        slot.wake(.cut)
    }

    /// Serves the connection to its end.
    func serve() async {
        var keeps = true
        while keeps, !isCut {
            do throws(LupinError) {
                keeps = try await serveOne()
            } catch {
                if error != .clientGone {
                    var answer = AdminAnswer(error.status, sentence: error.detail)
                    answer.closes = true
                    _ = try? await send(answer)
                    await linger()
                }
                keeps = false
            }
        }
        channel.close()
        slot.retire()
        // The heap keeps what is freed, and few bodies of this interface are long.
        if hadLongBody { SystemCall.trimHeap() }
    }

    /// Serves one request; returns false when no other follows.
    private func serveOne() async throws(LupinError) -> Bool {
        http1.expectRequest()
        guard let request = try await nextRequest() else { return false }
        let head = request.takeHead()
        if let refusal = guarded.refusal(head) {
            try await send(refusal)
            await linger()
            return false
        }
        if !guarded.isOpen(head) { isProven = true }
        if request.expectsContinue { try http1.sendInterim(ResponseHead(status: 100)) }
        let bytesMax = isProven && crowd != .metrics ? Self.bodyBytesMax : Self.unprovenBodyBytesMax
        if let length = request.framing.knownLength, length > UInt64(bytesMax) { throw .longBody }
        let body = try await receiveBody(upTo: bytesMax)
        try await send(await answer(AdminRequest(head, body: body, by: guarded.entry)))
        guard http1.mayPersist else { return false }
        http1.recycle(head.fields)
        return true
    }

    private func nextRequest() async throws(LupinError) -> ParsedRequest? {
        var deadline = loop.deadline(in: isProven ? Self.idleTime : Self.unprovenTime)
        var hasBegun = false
        while !isCut {
            if let request = try http1.nextRequest() { return request }
            if http1.hasEnded { return nil }
            if http1.hasBegun, !hasBegun {
                hasBegun = true
                if isProven { deadline = loop.deadline(in: Self.timeout) }
            }
            _ = await slot.park(for: .downstreamReadable | .cut, until: deadline)
            guard loop.now >= deadline else { continue }
            guard hasBegun else { return nil }
            throw .request(status: 408, detail: "The request's head was not complete in time.")
        }
        return nil
    }

    private func answer(_ request: AdminRequest) async -> AdminAnswer {
        if case .inspector(let sessions, _) = guarded {
            if let answer = sessions.answer(request) { return answer }
            if let file = InspectorPage.file(at: request.path) { return AdminAnswer(page: file) }
        }
        if case .metrics = guarded { return await routes.answerMetrics(request) }
        return await routes.answer(request, on: loop)
    }

    private func receiveBody(upTo bytesMax: Int) async throws(LupinError) -> [UInt8] {
        let body = http1.requestBody
        let sink = CollectedBody(bytesMax: bytesMax + 1)
        let deadline = loop.deadline(in: Self.timeout)
        defer { hadLongBody = hadLongBody || sink.bytes.count > Self.longBodyBytes }
        while true {
            switch try body.pull() {
            case .end: return sink.bytes
            case .payload:
                let offer = try body.offer(to: sink, keeping: nil)
                guard sink.bytes.count <= bytesMax else { throw .longBody }
                if offer.isEnd { return sink.bytes }
            case .blocked:
                let woken = await slot.park(for: .downstreamReadable | .cut, until: deadline)
                if woken.meets(.cut) { throw .clientGone }
                if loop.now >= deadline {
                    throw .request(status: 408, detail: "The request's body did not come in time.")
                }
            }
        }
    }

    private func send(_ answer: AdminAnswer) async throws(LupinError) {
        var head = ResponseHead(status: answer.status)
        head.fields.add(name: "Content-Type", value: answer.contentType)
        head.fields.add(name: "Cache-Control", value: "no-store")
        head.fields.add(name: "X-Content-Type-Options", value: "nosniff")
        for (name, value) in answer.fields + guarded.fields {
            head.fields.add(name: name, value: value)
        }
        var body = ResponseBody(framing: .length(UInt64(answer.body.count)))
        body.contentLength = UInt64(answer.body.count)
        body.date = HTTPDate.text(SystemCall.wallMicroseconds() / 1_000_000)
        body.closes = answer.closes
        let sink = http1.begin(head, body)
        let bytes = http1.sendsBody ? answer.body : []
        var sent = 0
        while true {
            sent += try sink.push(bytes.span.extracting(sent..<bytes.count), isLast: true)
            if sent == bytes.count, try sink.flush() { return }
            let deadline = loop.deadline(in: Self.timeout)
            let woken = await slot.park(
                for: .downstreamWritable | .downstreamClosed | .cut,
                until: deadline
            )
            if woken.meets(.cut) || channel.isBroken || loop.now >= deadline {
                throw .clientGone
            }
        }
    }

    /// Lets a client that still sends read the refusal.
    private func linger() async {
        channel.finishSending()
        let deadline = loop.deadline(in: Self.farewell)
        var taken = 0
        while !isCut, loop.now < deadline, taken <= Self.bodyBytesMax {
            guard let received = try? channel.receive(), received != .end else { return }
            if received == .blocked {
                _ = await slot.park(for: .downstreamReadable | .cut, until: deadline)
            } else {
                let count = channel.input.count
                taken += count
                channel.input.discard(count)
            }
        }
    }
}

extension LupinError {
    fileprivate static var longBody: LupinError {
        .request(status: 413, detail: "No route takes a body of this size.")
    }
}
