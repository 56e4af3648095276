// Finds a lupin of this user that already runs at an address of the rules file.
import LupinCore
import LupinIO
import LupinPolicy
import LupinProxy

/// Requests lupin's own page from a listener.
enum RunningProxy {
    /// The timeout of a probe; the listener is on this machine.
    private static let timeout = Duration.seconds(2)
    /// lupin's page is shorter; a longer response is another server's.
    private static let bytesMax = 8 << 10
    private static let mark = Array("lupin is a local forward proxy".utf8)

    /// Returns the first of the listeners at which a lupin answers that this user may trust; says
    /// which are another user's.
    static func find(
        among listeners: [ListenerSettings],
        on loop: EventLoop
    ) async -> ListenerSettings? {
        for listener in listeners where listener.port != 0 {
            if await answers(listener, on: loop) { return listener }
        }
        return nil
    }

    private static func answers(_ listener: ListenerSettings, on loop: EventLoop) async -> Bool {
        guard let address = IPAddress(ProxyAddress(listener).host) else { return false }
        let slot = ParkingSlot(on: loop)
        defer { slot.retire() }
        let deadline = loop.deadline(in: timeout)
        var connector = Connector(on: loop, slot: slot)
        guard
            let channel = try? await connector.connect(
                to: [address],
                port: listener.port,
                until: deadline,
                interruptions: .cut
            )
        else { return false }
        defer { channel.close() }
        let endpoint = SocketAddress(address: address, port: listener.port)
        // Before anything is sent.
        guard isTrusted(endpoint, ProcessLookup.userServing(endpoint)) else { return false }
        channel.slot = slot
        channel.readableReason = .upstreamReadable
        channel.closedReason = .upstreamReadable
        // lupin serves its own pages to requests for its own address.
        let request = "GET / HTTP/1.1\r\nHost: \(endpoint)\r\n\(OwnPages.probe): 1\r\n\r\n"
        channel.stage { $0.append(contentsOf: request.utf8) }
        guard (try? channel.flush()) == true else { return false }
        var page: [UInt8] = []
        while page.count < bytesMax, let received = try? channel.receive() {
            switch received {
            case .bytes:
                take(from: channel, to: &page)
                // The process that answers has the connection, which the listening one may have
                // passed on.
                if page.firstRange(of: mark) != nil {
                    return isTrusted(endpoint, channel.ends.flatMap(ProcessLookup.userAccepting))
                }
            case .blocked:
                let woken = await slot.park(for: .upstreamReadable, until: deadline)
                if woken.contains(.timedOut) { return false }
            case .end, .full:
                return false
            }
        }
        return false
    }

    private static func isTrusted(_ endpoint: SocketAddress, _ user: UInt32?) -> Bool {
        guard let refusal = TrustedServer.refusal(of: "\(endpoint)", servedBy: user) else {
            return true
        }
        StandardError.print("lupin: warning: \(refusal)")
        return false
    }

    private static func take(from channel: Channel, to page: inout [UInt8]) {
        let input = channel.input
        let count = input.count
        for index in 0..<count { page.append(input.bytes[index]) }
        input.discard(count)
    }
}
