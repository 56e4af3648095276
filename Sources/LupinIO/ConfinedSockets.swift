// The sockets of lupin in a confined command's network: made there, and handed out.
import CLinux
import Glibc
import LupinCore

/// What lupin serves a confined command with.
package struct ConfinedSockets {
    /// For requests to a proxy.
    private let proxy: ListeningSocket
    /// For connections that know of no proxy, and questions for names, by IPv4 and by IPv6.
    private var redirected: [ListeningSocket] = []
    private var names: [DatagramSocket] = []

    /// Opens them in this process's network, which must be new.
    init(inNewNetwork: Void) throws(SystemError) {
        let loopback = IPAddress.v4(0x7F00_0001)
        proxy = try ListeningSocket(
            SocketAddress(address: loopback, port: Confinement.proxyPort)
        )
        // Opened before anything is led there. A machine without IPv6 has no such address.
        try open(at: loopback)
        if (try? open(at: .v6(high: 0, low: 1))) == nil { redirected = Array(redirected.prefix(1)) }
        if (try? Redirection.begin()) == nil {
            redirected = []
            names = []
        }
    }

    private mutating func open(at address: IPAddress) throws(SystemError) {
        let streams = SocketAddress(address: address, port: Redirection.streamPort)
        redirected.append(try ListeningSocket(streams))
        let names = SocketAddress(address: address, port: Redirection.namePort)
        self.names.append(try DatagramSocket(names))
    }

    /// Whether every connection of the command leads to lupin.
    package var isRedirecting: Bool { !redirected.isEmpty }

    /// Hands all to lupin and waits until it serves there.
    /// - Returns: Whether it does; false if it has ended.
    package func handOver() -> Bool {
        let socket = Confinement.socket
        var passed = [proxy.raw] + redirected.map(\.raw) + names.map(\.raw)
        // Safety: the list outlives the call, which reads its elements.
        let sent = SystemCall.value { unsafe Int(confine_send(socket, &passed, passed.count)) }
        guard sent == 1 else { return false }
        var answer: UInt8 = 0
        // Safety: read fills the one byte it is given.
        let count = SystemCall.value { unsafe Int(read(socket, &answer, 1)) }
        close(socket)
        proxy.close()
        for listener in redirected { listener.close() }
        return count == 1
    }
}

/// The sockets that came out of a confined command's network.
package struct ReleasedSockets: Sendable {
    /// The first is that of the proxy.
    package private(set) var listeners: [PassedSocket] = []
    package private(set) var names: [DatagramSocket] = []

    /// Whether every connection of the command leads to lupin.
    package var isRedirecting: Bool { listeners.count > 1 }

    /// The addresses at which redirected connections arrive.
    package var redirected: [SocketAddress] {
        listeners.dropFirst().compactMap { socket in
            if case .address(let address) = socket.place { address } else { nil }
        }
    }

    /// Takes over what was passed.
    fileprivate init(_ passed: ArraySlice<Int32>) throws(PassedSocketProblem) {
        var rest = passed
        while let raw = rest.popFirst() {
            do throws(PassedSocketProblem) {
                if linux_is_listening(raw) == 0, !listeners.isEmpty {
                    names.append(DatagramSocket(owning: Descriptor(owning: raw)))
                } else {
                    listeners.append(try PassedSocket(owning: raw, name: "confined"))
                }
            } catch {
                for raw in rest { _ = Descriptor(owning: raw) }
                throw error
            }
        }
    }
}

/// lupin's end of the socket to a process that is being confined.
package final class ConfinementSocket {
    private let own: Descriptor
    private var other: Descriptor?

    package init() throws(SystemError) {
        var ends: [Int32] = [-1, -1]
        // Safety: the list has room for the two descriptors.
        try SystemCall.check { unsafe linux_socket_pair(&ends) }
        own = Descriptor(owning: ends[0])
        other = Descriptor(owning: ends[1])
        // The process waits for an answer.
        let flags = fcntl(ends[1], F_GETFL)
        try SystemCall.check { fcntl(ends[1], F_SETFL, flags & ~O_NONBLOCK) }
    }

    /// The end for the process; -1 once it was closed here.
    package var otherEnd: Int32 { other?.raw ?? -1 }

    /// Closes the process's end here, so that its death is seen.
    package func closeOtherEnd() { other = nil }

    /// The sockets that the process opened.
    ///
    /// nil if the process ended before, having said why.
    package func sockets(on loop: EventLoop) async throws(PassedSocketProblem) -> ReleasedSockets? {
        let slot = ParkingSlot(on: loop)
        defer { slot.retire() }
        do throws(SystemError) {
            _ = try loop.register(watcher: slot, reading: own.raw)
        } catch {
            throw PassedSocketProblem(message: "no socket came: \(error.message)")
        }
        while true {
            var (passed, count) = ([Int32](repeating: -1, count: 8), 0)
            // Safety: the list has room for the eight descriptors that the call writes at most.
            let result = SystemCall.value { unsafe confine_receive(own.raw, &passed, &count) }
            if result == -Int(EAGAIN) {
                _ = await slot.park(for: .ready)
                continue
            }
            guard result == 1, count > 0 else { return nil }
            return try ReleasedSockets(passed.prefix(count))
        }
    }

    /// Has the process go on.
    package func answer() {
        var byte: UInt8 = 1
        // Safety: the byte outlives the call.
        _ = SystemCall.value { unsafe send(own.raw, &byte, 1, Int32(MSG_NOSIGNAL)) }
    }
}
