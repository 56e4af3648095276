// How the load reaches the proxy, and how it sends and receives on a connection.
import LupinCore
import LupinIO
import LupinTLS

/// Attempts on channels that wait, each with the same patience; for one connection at a time.
struct LoadLink {
    let loop: EventLoop
    let slot: ParkingSlot

    static let timeout = Duration.seconds(15)

    init(on loop: EventLoop) {
        self.loop = loop
        slot = ParkingSlot(on: loop)
    }

    /// A connection to the proxy that listens on a port of this machine.
    func connect(to port: UInt16) async throws(LoadError) -> Channel {
        slot.forget([.upstreamReadable, .upstreamWritable])
        var connector = Connector(on: loop, slot: slot)
        do throws(ConnectFailure) {
            let channel = try await connector.connect(
                to: [.v4(0x7F00_0001)],
                port: port,
                until: loop.clock.now() + Self.timeout.microseconds,
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

    /// Has the proxy open a tunnel.
    func openTunnel(to authority: String, on channel: Channel) async throws(LoadError) {
        let head = "CONNECT \(authority) HTTP/1.1\r\nHost: \(authority)\r\n\r\n"
        try await send(Array(head.utf8), on: channel)
        let (status, _) = try await receiveHead(on: channel)
        guard status == 200 else { throw .tunnelRefused(status) }
    }

    /// Speaks TLS from now on, and HTTP/2 in it if that is demanded.
    func shakeHands(
        _ tls: ClientTLS,
        on channel: Channel,
        demandsHTTP2: Bool
    ) async throws(LoadError) {
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
                until: loop.deadline(in: Self.timeout)
            )
        } catch {
            throw .tls(error.reason)
        }
        if demandsHTTP2, layer.chosenProtocol != Origin.http2 { throw .tls("no h2") }
    }

    /// Waits for a head, and takes it.
    func receiveHead(
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

    /// Waits until there are more bytes than before.
    func receive(on channel: Channel) async throws(LoadError) {
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

    /// Sends what is staged, and bytes behind it.
    func send(_ bytes: [UInt8], on channel: Channel) async throws(LoadError) {
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

    /// Waits, but not for ever.
    func wait(for reason: WakeReasons) async throws(LoadError) {
        let woken = await slot.park(for: reason, until: loop.deadline(in: Self.timeout))
        if woken.contains(.timedOut) { throw .timedOut }
    }
}
