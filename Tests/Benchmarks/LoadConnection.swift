// What one simulated client does: connect, ask, check the answer, ask again.
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
        case .timedOut: "no answer for \(LoadLink.timeout)"
        }
    }
}

/// One connection at a time to the proxy, and one request at a time on it, or many by HTTP/2.
final class LoadConnection {
    private unowned let generator: LoadGenerator
    private let loop: EventLoop
    private let plan: LoadPlan
    private let link: LoadLink
    private let request: VariedText
    private var held: Channel?

    init(of generator: LoadGenerator) {
        self.generator = generator
        loop = generator.loop
        plan = generator.plan
        link = LoadLink(on: loop)
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
                _ = await link.slot.park(for: [], until: loop.deadline(in: .milliseconds(20)))
            }
        }
    }

    /// One exchange, after which the connection stays.
    func runOnceAndHold() async {
        do throws(LoadError) {
            let channel = try await link.connect(to: plan.proxyPort)
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
        let channel = try await link.connect(to: plan.proxyPort)
        defer { channel.close() }
        try await prepare(channel)
        if plan.isTunnel { return try await useTunnel(channel) }
        if plan.streams > 0 {
            return try await LoadStreams(of: generator, on: channel, in: link.slot).run()
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

    /// One request and its response; true when another one may follow.
    private func exchange(
        on channel: Channel,
        startedAt start: UInt64
    ) async throws(LoadError) -> Bool {
        let ids = try await ask(on: channel)
        let (status, head) = try await link.receiveHead(on: channel)
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
        if plan.isTunnel || plan.isIntercepted {
            try await link.openTunnel(to: plan.authority, on: channel)
        }
        guard let tls = generator.tls else { return }
        try await link.shakeHands(tls, on: channel, demandsHTTP2: plan.streams > 0)
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
            let woken = await link.slot.park(for: .upstreamReadable, until: end)
            if woken.contains(.timedOut) { return }
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
            try await link.receive(on: channel)
        }
    }

    /// Sends the next request, and says what its answer must name.
    private func ask(on channel: Channel) async throws(LoadError) -> ExchangeIDs {
        let ids = generator.nextIDs()
        channel.stage { request.append(to: &$0, for: ids) }
        try await link.send([], on: channel)
        return ids
    }
}
