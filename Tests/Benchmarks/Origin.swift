// The origin: answers with as many bytes as it is asked for.
import LupinCore
import LupinIO
import LupinTLS

/// An HTTP/1.1 server on a free loopback port, with TLS for clients that start so, and with HTTP/2
/// inside that TLS if it is told to.
///
/// `GET …/bytes/N`, in origin-form or absolute-form, is answered with N bytes. A connection that
/// starts with a zero byte speaks the tunnel's language instead: zero, then eight bytes of a
/// big-endian number, answered with so many bytes and nothing else.
final class Origin {
    private let loop: EventLoop
    private let context: TLSContext
    private let identity: TLSIdentity
    private let protocols: [String]
    private var smallResponses: [Int: [UInt8]] = [:]
    private let pattern = [UInt8](repeating: UInt8(ascii: "x"), count: 256 << 10)

    private static let smallBytesMax = 64 << 10
    private static let tunnelRequestBytes = 9

    /// How ALPN calls HTTP/2 over TLS (RFC 9113 §3.2).
    static let http2 = "h2"

    /// The content type of a record that holds a ClientHello (RFC 8446 §5.1).
    private static let handshakeRecord: UInt8 = 22

    /// Shows `identity` to clients that speak TLS, and agrees with them on one of `protocols`, if
    /// there are any.
    init(
        on loop: EventLoop,
        _ identity: TLSIdentity,
        _ protocols: [String]
    ) throws(TLSFailure) {
        self.loop = loop
        self.identity = identity
        self.protocols = protocols
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
                        let streams = OriginStreams(on: channel, in: slot, pattern: pattern)
                        return try await streams.run()
                    }
                }
                var isOver = false
                while !isOver, let request = takeRequest(from: channel) {
                    switch request {
                    case .bytes(let count):
                        try await send(count, on: channel, slot)
                    case .response(let count, let isLast):
                        try await respond(count, isLast: isLast, on: channel, slot)
                        isOver = isLast
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
        case response(Int, isLast: Bool)
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
        let wanted = wantedBytes(in: bytes.extracting(0..<head.firstLineEnd))
        return (.response(wanted, isLast: head.saysClose), head.count)
    }

    /// The number behind the last slash of the target: `GET http://a:1/bytes/1024 HTTP/1.1`.
    private static func wantedBytes(in line: Span<UInt8>) -> Int {
        let space = UInt8(ascii: " ")
        guard let end = line.indices.last(where: { line[$0] == space }) else { return 0 }
        var start = end
        while start > 0, line[start - 1] != UInt8(ascii: "/") { start -= 1 }
        return HeadScan.number(line.extracting(start..<end)) ?? 0
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
        _ count: Int,
        isLast: Bool,
        on channel: Channel,
        _ slot: ParkingSlot
    ) async throws(SystemError) {
        if isLast || count > Self.smallBytesMax {
            channel.stage { $0.append(contentsOf: Self.head(count, isLast: isLast).utf8) }
            return try await send(count, on: channel, slot)
        }
        let response = smallResponse(count)
        var sent = 0
        while true {
            sent += try channel.send(response.span.extracting(sent..<response.count))
            if sent == response.count, !channel.hasStaged { return }
            _ = await slot.park(for: .downstreamWritable)
        }
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

    /// Head and body in one piece, so that a usual response is one write.
    private func smallResponse(_ count: Int) -> [UInt8] {
        if let made = smallResponses[count] { return made }
        let body = repeatElement(UInt8(ascii: "x"), count: count)
        let response = Array(Self.head(count, isLast: false).utf8) + body
        smallResponses[count] = response
        return response
    }

    private static func head(_ count: Int, isLast: Bool) -> String {
        """
        HTTP/1.1 200 OK\r
        Server: lupin-bench\r
        Date: Sun, 06 Nov 1994 08:49:37 GMT\r
        Content-Type: application/octet-stream\r
        Cache-Control: no-store\r
        \(isLast ? "Connection: close\r\n" : "")Content-Length: \(count)\r
        \r

        """
    }
}
