// The origin: answers with as many bytes as it is asked for.
import LupinCore
import LupinIO
import LupinTLS

/// An HTTP/1.1 server on a free loopback port, with TLS for clients that start so, and with HTTP/2
/// inside that TLS if it is told to.
///
/// A `Demand` is answered with as many bytes as it says, and with 400 if it has a body that doesn't
/// name its ID. A connection that starts with a zero byte speaks the tunnel's language instead:
/// zero, then eight bytes of a big-endian number, answered with so many bytes and nothing else.
final class Origin {
    private let loop: EventLoop
    private let context: TLSContext
    private let identity: TLSIdentity
    private let protocols: [String]
    private var answers = OriginAnswers()
    private let pattern = [UInt8](repeating: UInt8(ascii: "x"), count: 256 << 10)
    private let storm: StormOrigin
    private var script: StormScript

    private static let tunnelRequestBytes = 9

    /// How ALPN calls HTTP/2 over TLS (RFC 9113 §3.2).
    static let http2 = "h2"

    /// The content type of a record that holds a ClientHello (RFC 8446 §5.1).
    private static let handshakeRecord: UInt8 = 22

    /// Shows `identity` to clients that speak TLS, and agrees with them on one of `protocols`, if
    /// there are any; `storm` decides what goes wrong in a storm.
    init(
        on loop: EventLoop,
        _ identity: TLSIdentity,
        _ protocols: [String],
        _ storm: StormOrigin
    ) throws(TLSFailure) {
        self.loop = loop
        self.identity = identity
        self.protocols = protocols
        self.storm = storm
        script = StormScript(storm)
        // No benchmark is as long as a key lives: their age may stand still.
        context = try TLSContext.server(ServerTLSConfiguration(ticketKeys: TicketKeys { .zero }))
    }

    /// Prints the port and serves for ever.
    func run() async throws(SystemError) {
        let socket = try ListeningSocket(SocketAddress(address: .v4(0x7F00_0001), port: 0))
        let slot = ParkingSlot(on: loop)
        let listener = try Listener(socket, on: loop, slot: slot, isShared: false)
        StandardOutput.print("\(socket.address.port)")
        while true {
            switch try listener.accept() {
            case .connection(let channel): start(channel)
            case .blocked: _ = await slot.park(for: .ready)
            case .exhausted: _ = await slot.park(for: [], until: loop.deadline(in: .seconds(1)))
            }
        }
    }

    private func start(_ channel: Channel) {
        let visit = LoopLocal((self, channel), of: loop.executor)
        Task.immediate(executorPreference: loop.executor) {
            let (origin, channel) = visit.value
            await origin.serve(channel)
        }
    }

    private func serve(_ channel: Channel) async {
        let slot = ParkingSlot(on: loop)
        channel.slot = slot
        channel.readableReason = .downstreamReadable
        channel.writableReason = .downstreamWritable
        defer { channel.close() }
        do throws(SystemError) {
            while try await receive(on: channel, slot) {
                if !channel.isFiltered, Self.beginsTLS(channel) {
                    guard let layer = await shakeHands(on: channel, slot) else { return }
                    if layer.chosenProtocol == Self.http2 {
                        let streams = OriginStreams(on: channel, in: slot, storm, pattern)
                        return try await streams.run()
                    }
                }
                var isOver = false
                while !isOver, let request = takeRequest(from: channel) {
                    switch request {
                    case .bytes(let count):
                        try await send(count, on: channel, slot)
                    case .response(let demand, let isLast):
                        try await respond(to: demand, isLast: isLast, on: channel, slot)
                        isOver = isLast
                    case .storm(let visit):
                        isOver = try await play(visit, on: channel, slot)
                    case .wrong:
                        channel.stage { $0.append(contentsOf: OriginAnswers.refusal) }
                        try await send(0, on: channel, slot)
                        isOver = true
                    }
                }
                if isOver { return }
            }
        } catch {
            // The peer is gone; whoever counts errors sits at the other end.
        }
    }

    private static func beginsTLS(_ channel: Channel) -> Bool {
        let input = channel.input
        return input.bytes.first == handshakeRecord
    }

    /// Nil when there is no TLS, which the other end tells of.
    private func shakeHands(on channel: Channel, _ slot: ParkingSlot) async -> TLSLayer? {
        guard
            let session = try? TLSSession.server(
                context,
                identity: identity,
                scope: Array("lupin-bench".utf8),
                protocols: protocols,
                refusesOtherProtocols: !protocols.isEmpty
            )
        else { return nil }
        let layer = TLSLayer(session, isClient: false)
        do throws(HandshakeError) {
            try await layer.shakeHands(
                on: channel,
                wakingFor: .downstreamReadable | .downstreamWritable,
                in: slot,
                until: loop.deadline(in: .seconds(15))
            )
            return layer
        } catch {
            return nil
        }
    }

    private enum Request {
        case bytes(Int)
        case response(Demand, isLast: Bool)
        case storm(StormVisit)
        /// Its body is that of another request.
        case wrong
    }

    private func takeRequest(from channel: Channel) -> Request? {
        let input = channel.input
        guard let (request, count) = Self.request(in: input.bytes) else { return nil }
        input.discard(count)
        return request
    }

    /// The first request, and of how many bytes it is; nil while it isn't complete.
    private static func request(in bytes: Span<UInt8>) -> (Request, count: Int)? {
        guard let first = bytes.first else { return nil }
        if first == 0 {
            guard bytes.count >= tunnelRequestBytes else { return nil }
            var wanted: UInt64 = 0
            for i in 1..<tunnelRequestBytes { wanted = wanted << 8 | UInt64(bytes[i]) }
            return (.bytes(Int(clamping: wanted)), tunnelRequestBytes)
        }
        guard let head = HeadScan(bytes) else { return nil }
        let line = bytes.extracting(0..<head.firstLineEnd)
        let demand = Demand(target: line.extracting(target(in: line)))
        let fields = bytes.extracting(0..<head.count)
        let visit = StormVisit(demand) { HeadScan.value(of: $0, in: fields) }
        let response =
            visit.map(Request.storm) ?? Request.response(demand, isLast: head.saysClose)
        guard let length = head.contentLength else { return (response, head.count) }
        let count = head.count + length
        guard bytes.count >= count else { return nil }
        let body = bytes.extracting(head.count..<count)
        let isRight = demand.id.map { NamedBody.isRight(body, from: 0, for: $0) } ?? true
        return (isRight ? response : .wrong, count)
    }

    /// The second word of `GET http://a:1/bytes/1024 HTTP/1.1`.
    private static func target(in line: Span<UInt8>) -> Range<Int> {
        let space = UInt8(ascii: " ")
        let first = line.indices.first { line[$0] == space }
        let last = line.indices.last { line[$0] == space }
        guard let first, let last, first < last else { return 0..<0 }
        return first + 1..<last
    }

    /// False when the peer has sent its last byte, or more than any request here needs.
    private func receive(
        on channel: Channel,
        _ slot: ParkingSlot
    ) async throws(SystemError) -> Bool {
        while true {
            switch try channel.receive() {
            case .bytes: return true
            case .end, .full: return false
            case .blocked: _ = await slot.park(for: .downstreamReadable)
            }
        }
    }

    private func respond(
        to demand: Demand,
        isLast: Bool,
        on channel: Channel,
        _ slot: ParkingSlot
    ) async throws(SystemError) {
        let text = answers.text(for: demand, isLast: isLast)
        channel.stage { text.append(to: &$0, for: demand.ids) }
        let isWhole = demand.bytes <= OriginAnswers.wholeBytesMax
        try await send(isWhole ? 0 : demand.bytes, on: channel, slot)
    }

    /// True when nothing follows on the connection.
    private func play(
        _ visit: StormVisit,
        on channel: Channel,
        _ slot: ParkingSlot
    ) async throws(SystemError) -> Bool {
        for step in script.steps(for: visit, now: loop.clock.now()) {
            switch step {
            case .send(let bytes):
                channel.stage { $0.append(contentsOf: bytes) }
                try await send(0, on: channel, slot)
            case .pause(let milliseconds):
                let end = loop.deadline(in: .milliseconds(milliseconds))
                _ = await slot.park(for: [], until: end)
            case .close: return true
            case .reset:
                channel.close(reset: true)
                return true
            }
        }
        return false
    }

    private func send(
        _ count: Int,
        on channel: Channel,
        _ slot: ParkingSlot
    ) async throws(SystemError) {
        let pattern = pattern
        var left = count
        while left > 0 || channel.hasStaged {
            let piece = min(left, pattern.count)
            let sent = try channel.send(pattern.span.extracting(0..<piece))
            left -= sent
            if sent < piece || channel.hasStaged { _ = await slot.park(for: .downstreamWritable) }
        }
    }
}
