// The sockets of lupin in a confined command's network: made there, and handed out.
import CLinux
import Glibc
import LupinCore
package import LupinIO

/// What lupin serves a confined command with.
package struct ConfinedSockets {
    /// For requests to a proxy.
    private let proxy: ListeningSocket
    /// For connections that know of no proxy, and questions for names, by IPv4 and by IPv6.
    private var redirected: [ListeningSocket] = []
    private var names: [DatagramSocket] = []

    /// Opens them in this process's network, which must be new.
    init(inNewNetwork: Void, isRedirecting: Bool) throws(SystemError) {
        proxy = try ListeningSocket(
            SocketAddress(address: Self.loopback, port: Confinement.proxyPort)
        )
        // Opened before anything is led there. A machine without IPv6 has no such address.
        try openForAll(at: Self.loopback)
        if (try? openForAll(at: .v6(high: 0, low: 1))) == nil {
            redirected = Array(redirected.prefix(1))
        }
        if !isRedirecting || (try? Redirection.begin()) == nil { try openForNames() }
    }

    private static let loopback = IPAddress.v4(0x7F00_0001)

    private mutating func openForAll(at address: IPAddress) throws(SystemError) {
        let streams = SocketAddress(address: address, port: Confinement.redirectedPort)
        redirected.append(try ListeningSocket(streams))
        let names = SocketAddress(address: address, port: Redirection.namePort)
        self.names.append(try DatagramSocket(names))
    }

    /// Has names asked at their usual port, where nothing is led to lupin.
    ///
    /// So a program connects to an address that tells the name, though it does so in vain.
    private mutating func openForNames() throws(SystemError) {
        redirected = []
        try? Redirection.addOwnAddress()
        names = [try DatagramSocket(SocketAddress(address: Self.loopback, port: 53))]
    }

    /// Whether every connection of the command leads to lupin.
    package var isRedirecting: Bool { !redirected.isEmpty }

    /// Hands all to lupin and waits until it serves there.
    ///
    /// The socket to lupin stays open, for the watch on connections.
    /// - Returns: Whether it serves; false if it has ended.
    package func handOver() -> Bool {
        let socket = Confinement.socket
        var passed = [proxy.raw] + redirected.map(\.raw) + names.map(\.raw)
        // Safety: the list outlives the call, which reads its elements.
        let sent = SystemCall.value { unsafe Int(confine_send(socket, &passed, passed.count)) }
        guard sent == 1 else { return false }
        var answer: UInt8 = 0
        // Safety: read fills the one byte it is given.
        let count = SystemCall.value { unsafe Int(read(socket, &answer, 1)) }
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

    /// Whether every connection of the command leads to lupin; else they fail.
    package var isRedirecting: Bool { listeners.count > 1 }

    /// The addresses at which redirected connections arrive.
    package var redirected: [SocketAddress] {
        listeners.dropFirst().compactMap { socket in
            if case .address(let address) = socket.endpoint { address } else { nil }
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
    /// Call it and `watch` in a task of the slot's loop, with the same slot.
    /// - Returns: nil if the process ended before, having said why.
    package func sockets(
        slot: ParkingSlot
    ) async throws(PassedSocketProblem) -> ReleasedSockets? {
        do throws(SystemError) {
            _ = try slot.loop.register(watcher: slot, reading: own.raw)
        } catch {
            throw PassedSocketProblem(message: "no socket came: \(error.message)")
        }
        guard let passed = await receive(slot) else { return nil }
        return try ReleasedSockets(passed[...])
    }

    /// The watch on the command's connections, which begins with the command.
    ///
    /// - Parameters:
    ///   - slot: That of `sockets`.
    ///   - given: Unix sockets outside that the command reaches.
    ///   - note: Told of connections, from any thread.
    /// - Returns: nil where the kernel has none, or if the process ended before.
    package func watch(
        slot: ParkingSlot,
        given: Set<ConnectWatch.FileIdentity>,
        _ note: @escaping ConnectWatch.Note
    ) async -> ConnectWatch? {
        await receive(slot).flatMap { ConnectWatch($0, given: given, note) }
    }

    /// The descriptors that the process passes next; nil at its end.
    private func receive(_ slot: ParkingSlot) async -> [Int32]? {
        while true {
            var (passed, count) = ([Int32](repeating: -1, count: 8), 0)
            // Safety: the list has room for the eight descriptors that the call writes at most.
            let result = SystemCall.value { unsafe confine_receive(own.raw, &passed, &count) }
            if result == -Int(EAGAIN) {
                _ = await slot.park(for: .ready)
                continue
            }
            return result == 1 && count > 0 ? Array(passed.prefix(count)) : nil
        }
    }

    /// Has the process go on.
    package func answer() {
        var byte: UInt8 = 1
        // Safety: the byte outlives the call.
        _ = SystemCall.value { unsafe send(own.raw, &byte, 1, Int32(MSG_NOSIGNAL)) }
    }
}
