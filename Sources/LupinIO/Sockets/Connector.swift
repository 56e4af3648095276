// Connects to one of several addresses with Happy Eyeballs (RFC 8305).
import CLinux
import Glibc
package import LupinCore

/// Why no address could be connected to.
package struct ConnectFailure: Error {
    /// The error of each tried address, in the order tried; empty when time ran out before any.
    package var errors: [SystemError]
    package var isTimeout: Bool
    /// The reasons that interrupted the wait, such as the client's disconnect.
    package var interruption: WakeReasons

    /// Whether every address refused, so that an immediate retry is pointless.
    package var isEveryAddressRefused: Bool {
        !isTimeout && interruption.isEmpty && errors.allSatisfy { $0.code == ECONNREFUSED }
    }

    /// Whether the kernel had no route to any of the addresses.
    package var isUnroutable: Bool {
        !errors.isEmpty
            && errors.allSatisfy { $0.code == ENETUNREACH || $0.code == EHOSTUNREACH }
    }

    /// Whether this process has no descriptor left to connect with.
    package var isOutOfDescriptors: Bool {
        errors.contains { SystemError.descriptorsExhausted.contains($0.code) }
    }

    /// Whether this process has no descriptor or port left to connect with.
    package var isExhausted: Bool {
        isOutOfDescriptors || errors.contains { $0.code == EADDRNOTAVAIL }
    }
}

/// Connects to the first of several addresses that answers.
package struct Connector {
    /// RFC 8305 §8: how long an attempt runs alone before the next one starts beside it.
    package static let attemptDelay = Duration.milliseconds(250)

    private let loop: EventLoop
    private let slot: ParkingSlot
    private var attempts: [Channel] = []
    private var errors: [SystemError] = []

    package init(on loop: EventLoop, slot: ParkingSlot) {
        self.loop = loop
        self.slot = slot
    }

    /// Connects to `port` at one of `addresses`.
    ///
    /// The addresses come in the resolver's order (RFC 6724); this method interleaves the families.
    /// `deadline` is in microseconds of the loop's clock; `interruptions` are reasons that end the
    /// attempt besides time.
    package mutating func connect(
        to addresses: [IPAddress],
        port: UInt16,
        until deadline: UInt64,
        interruptions: WakeReasons
    ) async throws(ConnectFailure) -> Channel {
        var waiting = Connector.interleave(addresses)[...]
        defer { abandonAttempts() }
        while true {
            var nextStart = UInt64.max
            if let address = waiting.popFirst() {
                if let channel = start(SocketAddress(address: address, port: port)) {
                    return channel
                }
                if attempts.isEmpty, !waiting.isEmpty { continue }
                if !waiting.isEmpty { nextStart = loop.deadline(in: Connector.attemptDelay) }
            }
            guard !attempts.isEmpty else { throw failure() }
            let woken = await slot.park(
                for: interruptions | .upstreamWritable,
                until: min(nextStart, deadline)
            )
            let stops = woken.intersection(interruptions)
            if let channel = takeConnected() {
                // `park` has cleared these reasons; the caller must still see them.
                slot.wake(stops)
                return channel
            }
            guard stops.isEmpty else { throw failure(interruption: stops) }
            if loop.now >= deadline { throw failure(isTimeout: true) }
            guard !attempts.isEmpty || !waiting.isEmpty else { throw failure() }
        }
    }

    /// RFC 8305 §4: alternate between the families, the preferred one first.
    package static func interleave(_ addresses: [IPAddress]) -> [IPAddress] {
        guard let first = addresses.first, addresses.count > 1 else { return addresses }
        let preferred = addresses.filter { $0.isIPv6 == first.isIPv6 }
        let other = addresses.filter { $0.isIPv6 != first.isIPv6 }
        var result: [IPAddress] = []
        for i in 0..<max(preferred.count, other.count) {
            if i < preferred.count { result.append(preferred[i]) }
            if i < other.count { result.append(other[i]) }
        }
        return result
    }

    /// Starts one attempt; on loopback it connects at once.
    private mutating func start(_ address: SocketAddress) -> Channel? {
        do throws(SystemError) {
            let owned = Descriptor(owning: try SystemCall.check { linux_socket(address.family) })
            let raw = owned.raw
            try SystemCall.check { linux_set_option(raw, Int32(IPPROTO_TCP), TCP_NODELAY, 1) }
            address.sendUnpaced(by: raw)
            let result = Connector.connect(raw, to: address)
            // On loopback the handshake is complete by now. A second call would tell, too, and
            // discard what came before a reset.
            var isConnected = result == 0
            if !isConnected, address.address.isLoopback {
                isConnected = try Connector.isConnected(raw)
            }
            guard isConnected || result == -Int(EINPROGRESS) || result == -Int(EALREADY) else {
                throw SystemError(code: Int32(-result))
            }
            let channel = try Channel(
                owning: owned,
                on: loop,
                peer: address,
                isConnected: isConnected,
                isOutgoing: true
            )
            channel.waitForNews()
            if isConnected { return channel }
            channel.slot = slot
            channel.writableReason = .upstreamWritable
            attempts.append(channel)
        } catch {
            errors.append(error)
        }
        return nil
    }

    /// Whether the connection is made; one that is broken already counts where it left something
    /// to read, such as the 413 of a server that answers at once and resets.
    ///
    /// - Throws: Why it can't be made, or what broke it.
    package static func isConnected(_ descriptor: Int32) throws(SystemError) -> Bool {
        var entry = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        // Safety: poll fills the entry it is given.
        let count = SystemCall.value { unsafe Int(poll(&entry, 1, 0)) }
        guard count == 1, entry.revents & Int16(POLLOUT) != 0 else { return false }
        if entry.revents == Int16(POLLOUT) { return true }
        var byte: UInt8 = 0
        // Safety: recv fills one byte at most.
        let unread: Int = SystemCall.value {
            unsafe recv(descriptor, &byte, 1, Int32(MSG_PEEK))
        }
        if unread < 0 { throw SystemError(code: Int32(truncatingIfNeeded: -unread)) }
        return true
    }

    private static func connect(_ descriptor: Int32, to address: SocketAddress) -> Int {
        // Safety: the kernel's form of the address outlives the call, which only reads it.
        SystemCall.value {
            Int(unsafe address.withKernelForm { unsafe linux_connect(descriptor, $0, $1) })
        }
    }

    /// Removes and returns the first attempt that has succeeded; closes failed ones.
    private mutating func takeConnected() -> Channel? {
        var i = 0
        while i < attempts.count {
            switch attempts[i].connectResult() {
            case nil:
                i += 1
            case .success:
                let channel = attempts.remove(at: i)
                channel.slot = nil
                channel.writableReason = []
                return channel
            case .failure(let error):
                errors.append(error)
                attempts.remove(at: i).close()
            }
        }
        return nil
    }

    private mutating func abandonAttempts() {
        for channel in attempts { channel.close() }
        attempts = []
    }

    private func failure(
        isTimeout: Bool = false,
        interruption: WakeReasons = []
    ) -> ConnectFailure {
        ConnectFailure(errors: errors, isTimeout: isTimeout, interruption: interruption)
    }
}

extension IPAddress {
    var isIPv6: Bool {
        switch self {
        case .v4: false
        case .v6: true
        }
    }
}
