// What one simulated client does: connect, ask, check the answer, ask again.
import LupinCore
import LupinIO
import LupinTLS

/// Why an exchange didn't count.
enum LoadError: Error, CustomStringConvertible {
    case connect(String)
    case status(Int)
    case tunnelRefused(Int)
    case tls(String)
    case length(String)
    case foreignAnswer
    case http2(String)
    case socket(String)
    case closedEarly
    case timedOut

    var description: String {
        switch self {
        case .connect(let why): "connect: \(why)"
        case .status(let status): "status \(status)"
        case .tunnelRefused(let status): "CONNECT answered with \(status)"
        case .tls(let why): "TLS: \(why)"
        case .length(let what): what
        case .foreignAnswer: "an answer to another request"
        case .http2(let why): "HTTP/2: \(why)"
        case .socket(let why): why
        case .closedEarly: "closed before the end of a response"
        case .timedOut: "no answer for \(LoadConnection.patience)"
        }
    }
}

/// One connection at a time to the proxy, and one request at a time on it, or many by HTTP/2.
final class LoadConnection {
    static let patience = Duration.seconds(15)

    private unowned let generator: LoadGenerator
    private let loop: EventLoop
    private let plan: LoadPlan
    private let slot: ParkingSlot
    private let request: VariedText
    private var held: Channel?

    init(of generator: LoadGenerator) {
        self.generator = generator
        loop = generator.loop
        plan = generator.plan
        slot = ParkingSlot(on: loop)
        request = generator.request
    }

    /// Whether a connection that was held is still as quiet as it must be.
    var isHeld: Bool { held?.isQuiet(asksKernel: true) ?? false }

    /// Exchanges until the run is over.
    func run() async {
        while !generator.isOver {
            do throws(LoadError) {
                try await visit()
            } catch {
                generator.note(error)
                _ = await slot.park(for: [], until: loop.deadline(in: .milliseconds(20)))
            }
        }
    }

    /// One exchange, after which the connection stays.
    func runOnceAndHold() async {
        do throws(LoadError) {
            let channel = try await connect()
            held = channel
            try await prepare(channel)
            _ = try await exchange(on: channel, startedAt: loop.clock.now())
        } catch {
            generator.note(error)
            held?.close()
            held = nil
        }
    }

    // MARK: Private

    /// A connection from its start to its end.
    private func visit() async throws(LoadError) {
        let start = loop.clock.now()
        let channel = try await connect()
        defer { channel.close() }
        try await prepare(channel)
        if plan.isTunnel { return try await useTunnel(channel) }
        if plan.streams > 0 {
            return try await LoadStreams(of: generator, on: channel, in: slot).run()
        }
        if plan.isNewConnectionPerRequest {
            _ = try await exchange(on: channel, startedAt: start)
            return await awaitEnd(of: channel)
        }
        var served = 0
        while !generator.isOver {
            // A connection closed between two requests is no error, only a worse proxy.
            guard served == 0 || !channel.hasHungUp else { return generator.noteReconnect() }
            let staysOpen: Bool
            do throws(LoadError) {
                staysOpen = try await exchange(on: channel, startedAt: loop.clock.now())
            } catch {
                guard served > 0, case .closedEarly = error, channel.input.isEmpty else {
                    throw error
                }
                return generator.noteReconnect()
            }
            guard staysOpen else { return generator.noteReconnect() }
            served += 1
        }
    }

    private func connect() async throws(LoadError) -> Channel {
        slot.forget([.upstreamReadable, .upstreamWritable])
        var connector = Connector(on: loop, slot: slot)
        do throws(ConnectFailure) {
            let channel = try await connector.connect(
                to: [.v4(0x7F00_0001)],
                port: plan.proxyPort,
                until: loop.clock.now() + Self.patience.microseconds,
                interruptions: []
            )
            channel.slot = slot
            channel.readableReason = .upstreamReadable
            channel.writableReason = .upstreamWritable
            return channel
        } catch {
            throw .connect(error.errors.first?.message ?? "timed out")
        }
    }

    /// One request and its response; true when another one may follow.
    private func exchange(
        on channel: Channel,
        startedAt start: UInt64
    ) async throws(LoadError) -> Bool {
        let ids = try await ask(on: channel)
        let (status, head) = try await receiveHead(on: channel)
        guard status == 200 else { throw .status(status) }
        guard head.contentLength == plan.bodyBytes else {
            let length = head.contentLength.map(String.init) ?? "missing"
            throw .length("Content-Length is \(length), not \(plan.bodyBytes)")
        }
        let id = plan.isVaried ? ids.url : nil
        if let id, head.entityTag != id { throw .foreignAnswer }
        try await receiveBytes(plan.bodyBytes, naming: id, on: channel)
        guard channel.input.isEmpty else { throw .length("bytes behind the response") }
        generator.noteResponse(after: loop.clock.now() - start)
        return !head.saysClose
    }

    /// What comes before the first request: a tunnel, and TLS in it.
    private func prepare(_ channel: Channel) async throws(LoadError) {
        if plan.isTunnel || plan.isIntercepted { try await openTunnel(channel) }
        guard let tls = generator.tls else { return }
        let layer: TLSLayer
        do throws(TLSFailure) {
            layer = try tls.layer()
        } catch {
            throw .tls("\(error)")
        }
        do throws(HandshakeError) {
            try await layer.shakeHands(
                on: channel,
                wakingFor: .upstreamReadable | .upstreamWritable,
                in: slot,
                until: loop.deadline(in: Self.patience)
            )
        } catch {
            throw .tls(error.reason)
        }
        if plan.streams > 0, layer.chosenProtocol != Origin.http2 { throw .tls("no h2") }
    }

    private func openTunnel(_ channel: Channel) async throws(LoadError) {
        let head = "CONNECT \(plan.authority) HTTP/1.1\r\nHost: \(plan.authority)\r\n\r\n"
        try await send(Array(head.utf8), on: channel)
        let (status, _) = try await receiveHead(on: channel)
        guard status == 200 else { throw .tunnelRefused(status) }
    }

    /// One piece after the other through a tunnel.
    private func useTunnel(_ channel: Channel) async throws(LoadError) {
        while !generator.isOver {
            let start = loop.clock.now()
            _ = try await ask(on: channel)
            try await receiveBytes(plan.bodyBytes, naming: nil, on: channel)
            generator.noteResponse(after: loop.clock.now() - start)
        }
    }

    /// Lets the proxy close first, as it said it would: the side that does keeps a TIME_WAIT.
    private func awaitEnd(of channel: Channel) async {
        let end = loop.deadline(in: .milliseconds(50))
        while !channel.hasHungUp {
            let woken = await slot.park(for: .upstreamReadable, until: end)
            if woken.contains(.timedOut) { return }
        }
    }

    private func receiveHead(
        on channel: Channel
    ) async throws(LoadError) -> (status: Int, head: HeadScan) {
        while true {
            try await receive(on: channel)
            let input = channel.input
            if let head = HeadScan(input.bytes) {
                let status = HeadScan.status(of: input.bytes)
                input.discard(head.count)
                return (status, head)
            }
        }
    }

    /// Reads a body; one that names an ID is compared.
    private func receiveBytes(
        _ count: Int,
        naming id: RequestID?,
        on channel: Channel
    ) async throws(LoadError) {
        let input = channel.input
        var left = count
        while true {
            let piece = min(left, input.count)
            if let id {
                let bytes = input.bytes.extracting(0..<piece)
                guard NamedBody.isRight(bytes, from: count - left, for: id) else {
                    throw .foreignAnswer
                }
            }
            input.discard(piece)
            generator.noteBytes(piece)
            left -= piece
            if left == 0 { return }
            try await receive(on: channel)
        }
    }

    /// Sends the next request, and says what its answer must name.
    private func ask(on channel: Channel) async throws(LoadError) -> ExchangeIDs {
        let ids = generator.nextIDs()
        channel.stage { request.append(to: &$0, for: ids) }
        try await send([], on: channel)
        return ids
    }

    /// Waits until there are more bytes than before.
    private func receive(on channel: Channel) async throws(LoadError) {
        while true {
            let received: Channel.Received
            do throws(SystemError) {
                received = try channel.receive()
            } catch {
                throw .socket(error.message)
            }
            switch received {
            case .bytes: return
            case .end: throw .closedEarly
            case .full: throw .length("a head that doesn't end")
            case .blocked: try await wait(for: .upstreamReadable)
            }
        }
    }

    private func send(_ bytes: [UInt8], on channel: Channel) async throws(LoadError) {
        var sent = 0
        while true {
            do throws(SystemError) {
                sent += try channel.send(bytes.span.extracting(sent..<bytes.count))
            } catch {
                throw .socket(error.message)
            }
            // What TLS has sealed and not sent yet would have nobody else to send it.
            if sent == bytes.count, !channel.hasStaged { return }
            try await wait(for: .upstreamWritable)
        }
    }

    private func wait(for reason: WakeReasons) async throws(LoadError) {
        let woken = await slot.park(for: reason, until: loop.deadline(in: Self.patience))
        if woken.contains(.timedOut) { throw .timedOut }
    }
}
