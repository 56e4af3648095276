// A test's end of a TCP connection: it blocks, waits half a minute at most, says what it missed.
import Glibc
import LupinCore
package import LupinIO
import Synchronization

/// What a test's socket waited for in vain, as a sentence.
package struct SocketFailure: Error, CustomStringConvertible {
    package let description: String

    package init(_ description: String) { self.description = description }
}

/// A blocking TCP connection with patience.
///
/// One thread may receive while another sends; `close` and `reset` come last.
package final class PlainSocket: Sendable {
    /// How the peer ended the connection.
    package enum End: Sendable { case finished, reset }

    /// How long any single call waits: longer than a busy machine may take for what is right.
    package static let timeout = Duration.seconds(30)

    package let descriptor: Int32
    /// Bytes received behind what was asked for.
    private let unread = Mutex<[UInt8]>([])
    /// Held while the descriptor is closed or shut down: its number may be another's afterwards.
    private let isOpen = Mutex(true)
    private let sentCount = Atomic(0)
    /// Of the TLS that the other end is carried into.
    private let progress = Mutex<ShuttleProgress?>(nil)

    /// Takes ownership of a non-blocking stream socket.
    package init(owning descriptor: consuming Descriptor) {
        self.descriptor = descriptor.release()
    }

    /// Connects; a small `receiveBuffer` (bytes) makes the other side's sends fall short sooner.
    ///
    /// With `sharingPort` somebody may listen at its port as well.
    package static func connect(
        to address: SocketAddress,
        receiveBuffer: Int32? = nil,
        sharingPort: Bool = false
    ) throws -> PlainSocket {
        let descriptor = try RawSocket.make(for: address)
        if sharingPort {
            // In this order: else the kernel could choose a port that another test keeps.
            try RawSocket.bind(descriptor.raw, to: .loopback(port: 0))
            RawSocket.set(SO_REUSEADDR, to: 1, of: descriptor.raw)
        }
        if let receiveBuffer {
            RawSocket.set(SO_RCVBUF, to: receiveBuffer, of: descriptor.raw)
        }
        try RawSocket.connect(descriptor.raw, to: address, by: Countdown())
        return PlainSocket(owning: descriptor)
    }

    /// Connects to a socket with a path.
    package static func connect(toPath path: String) throws -> PlainSocket {
        PlainSocket(owning: try LocalSocket.open(path))
    }

    /// Two connected ends without TCP: a send falls short at the same byte each time.
    package static func localPair(sendBuffer: Int32) throws -> (PlainSocket, PlainSocket) {
        let (first, second) = try RawSocket.makePair()
        RawSocket.set(SO_SNDBUF, to: sendBuffer, of: first.descriptor)
        return (first, second)
    }

    deinit { close() }

    /// Has the kernel keep little on this end, so that a peer's slowness shows soon.
    package func narrow() {
        RawSocket.set(SO_SNDBUF, to: 64 << 10, of: descriptor)
        RawSocket.set(SO_RCVBUF, to: 64 << 10, of: descriptor)
    }

    /// The address of this end.
    package var address: SocketAddress? { SocketAddress.local(of: descriptor) }

    // MARK: Sending

    package func send(_ text: String) throws { try send(Array(text.utf8)) }

    /// Sends everything.
    package func send(_ bytes: [UInt8]) throws {
        let countdown = Countdown()
        var sent = 0
        while sent < bytes.count {
            let result = RawSocket.send(descriptor, bytes[sent...])
            if result > 0 {
                sent += result
            } else if result == -Int(EAGAIN) {
                guard RawSocket.wait(descriptor, for: POLLOUT, by: countdown) else {
                    throw SocketFailure(
                        "the peer took only \(sent) of \(bytes.count) bytes in time"
                    )
                }
            } else {
                let reason = SystemError(code: Int32(-result)).message
                throw SocketFailure("sending failed after \(sent) bytes: \(reason)")
            }
        }
        let total = sentCount.add(sent, ordering: .relaxed).newValue
        progress.withLock { $0 }?.waitUntilCarried(total)
    }

    /// Has whoever sends or ends wait for the thread that makes TLS of it.
    func follow(_ shuttle: ShuttleProgress) { progress.withLock { $0 = shuttle } }

    /// Goes on in the place of `other`, which has given its descriptor away.
    func follow(likewise other: PlainSocket) {
        sentCount.store(other.sentCount.load(ordering: .relaxed), ordering: .relaxed)
        progress.withLock { $0 = other.progress.withLock { $0 } }
    }

    /// Sends zeros until the socket takes no more, `count` at most, and says how many it took.
    package func fill(_ count: Int = .max) -> Int {
        let zeros = [UInt8](repeating: 0, count: min(count, 1 << 20))
        var sent = 0
        while sent < count {
            let result = RawSocket.send(descriptor, zeros.prefix(count - sent))
            if result <= 0 { break }
            sent += result
        }
        sentCount.add(sent, ordering: .relaxed)
        return sent
    }

    /// Whether something can be read now, be it the end.
    package var hasInput: Bool { RawSocket.wait(descriptor, for: POLLIN, by: Countdown(.zero)) }

    /// Sends FIN; receiving goes on.
    package func shutdownWrite() {
        Glibc.shutdown(descriptor, Int32(SHUT_WR))
        progress.withLock { $0 }?.waitUntilFinished()
    }

    // MARK: Receiving

    /// Exactly `count` bytes.
    package func receive(exactly count: Int) throws -> [UInt8] {
        try unread.withLock { unread in
            let countdown = Countdown()
            while unread.count < count {
                try more(&unread, by: countdown, wanting: "\(count) bytes")
            }
            defer { unread.removeFirst(count) }
            return Array(unread.prefix(count))
        }
    }

    /// Text up to and including the first `mark`.
    package func receive(until mark: String) throws -> String {
        try unread.withLock { unread in
            let countdown = Countdown()
            let bytes = Array(mark.utf8)
            var searched = 0
            while true {
                if let end = unread.end(of: bytes, from: searched) {
                    defer { unread.removeFirst(end) }
                    return String(decoding: unread.prefix(end), as: UTF8.self)
                }
                searched = max(0, unread.count - bytes.count + 1)
                try more(&unread, by: countdown, wanting: mark.debugDescription)
            }
        }
    }

    /// What there is, at least one byte.
    package func receiveSome() throws -> [UInt8] {
        try unread.withLock { unread in
            if unread.isEmpty { try more(&unread, by: Countdown(), wanting: "anything") }
            defer { unread = [] }
            return unread
        }
    }

    /// Everything up to the peer's FIN.
    package func receiveUntilEOF() throws -> [UInt8] {
        let (bytes, end) = try receiveUntilEnd()
        guard end == .finished else {
            throw SocketFailure("the peer reset the connection, sent: \(quote(bytes))")
        }
        return bytes
    }

    /// Everything up to the end of the connection, and how it ended.
    package func receiveUntilEnd() throws -> (bytes: [UInt8], end: End) {
        try unread.withLock { unread in
            let countdown = Countdown()
            while true {
                if let end = try fill(&unread, by: countdown, wanting: "the end") {
                    defer { unread = [] }
                    return (unread, end)
                }
            }
        }
    }

    /// Whether the peer's FIN or RST is here now, be there unread bytes before it or not.
    package var isClosedByPeer: Bool {
        RawSocket.wait(descriptor, for: RawSocket.hangUp, by: Countdown(.zero))
    }

    /// Waits for the peer's FIN or RST without reading what comes before it.
    package func waitUntilClosedByPeer() throws {
        guard RawSocket.wait(descriptor, for: RawSocket.hangUp, by: Countdown()) else {
            throw SocketFailure("the peer did not close the connection in time")
        }
    }

    /// Whether bytes that nobody took are here now.
    package var hasUnread: Bool {
        unread.withLock { !$0.isEmpty } || RawSocket.unreadCount(descriptor) > 0
    }

    // MARK: The end

    /// Closes the connection; what the peer has sent and nobody read makes the kernel reset it.
    package func close() { end(alwaysReset: false) }

    /// Closes it with RST.
    package func reset() { end(alwaysReset: true) }

    /// Closes it, with FIN or RST on its way when this returns.
    ///
    /// To close the descriptor is not enough: a child that another test starts has a copy of it
    /// until it runs its program.
    private func end(alwaysReset: Bool) {
        let isFirst = isOpen.withLock { isOpen in
            guard isOpen else { return false }
            isOpen = false
            if alwaysReset || RawSocket.unreadCount(descriptor) > 0 {
                RawSocket.disconnect(descriptor)
            } else {
                Glibc.shutdown(descriptor, Int32(SHUT_RDWR))
            }
            _ = Glibc.close(descriptor)
            return true
        }
        if isFirst { progress.withLock { $0 }?.waitUntilFinished() }
    }

    /// Has a thread that waits for this socket come back.
    func interrupt() {
        isOpen.withLock { isOpen in
            if isOpen { Glibc.shutdown(descriptor, Int32(SHUT_RDWR)) }
        }
    }

    /// Gives the non-blocking descriptor to somebody else, such as a `Channel`.
    package func surrender() -> Descriptor {
        isOpen.withLock { $0 = false }
        return Descriptor(owning: descriptor)
    }

    // MARK: Private

    private func more(_ unread: inout [UInt8], by countdown: Countdown, wanting: String) throws {
        guard let end = try fill(&unread, by: countdown, wanting: wanting) else { return }
        let deed = end == .finished ? "closed" : "reset"
        throw SocketFailure(
            "the peer \(deed) the connection before \(wanting), sent: \(quote(unread))"
        )
    }

    /// Receives once; what the connection ended with if it did.
    private func fill(
        _ unread: inout [UInt8],
        by countdown: Countdown,
        wanting: String
    ) throws -> End? {
        while true {
            let result = RawSocket.receive(descriptor, into: &unread)
            switch result {
            case 1...: return nil
            case 0: return .finished
            case -Int(ECONNRESET): return .reset
            case -Int(EAGAIN):
                guard RawSocket.wait(descriptor, for: POLLIN, by: countdown) else {
                    throw SocketFailure(
                        "\(wanting) did not come in time; received: \(quote(unread))"
                    )
                }
            default:
                let reason = SystemError(code: Int32(-result)).message
                throw SocketFailure("receiving \(wanting) failed: \(reason)")
            }
        }
    }

    private func quote(_ bytes: [UInt8]) -> String {
        let text = String(decoding: bytes.suffix(400), as: UTF8.self).debugDescription
        return bytes.count > 400 ? "… \(text) (\(bytes.count) bytes)" : text
    }
}

/// A TCP socket that listens on a port of the kernel's choice.
package final class PlainListener: Sendable {
    package let address: SocketAddress
    private let descriptor: Int32
    /// Bound to the same port, never listening.
    private let keeper: Int32
    private let isOpen = Atomic(true)

    /// Listens at `host`, where port 0 lets the kernel choose one.
    ///
    /// - Parameters:
    ///   - host: The address and port.
    ///   - backlog: Connections that may wait: 0 holds one and leaves later ones unanswered.
    /// - Throws: When the address is taken.
    package init(
        at host: SocketAddress = .loopback(port: 0),
        backlog: Int32 = 128
    ) throws {
        let owned = try RawSocket.make(for: host)
        RawSocket.set(SO_REUSEADDR, to: 1, of: owned.raw)
        try RawSocket.bind(owned.raw, to: host)
        guard let address = SocketAddress.local(of: owned.raw) else {
            throw SocketFailure("\(host) could not be listened at")
        }
        // Two sockets may share a port while neither listens.
        let second = try RawSocket.make(for: address)
        RawSocket.set(SO_REUSEADDR, to: 1, of: second.raw)
        try RawSocket.bind(second.raw, to: address)
        guard Glibc.listen(owned.raw, backlog) == 0 else {
            throw SocketFailure("\(address) could not be listened at")
        }
        self.address = address
        keeper = second.release()
        descriptor = owned.release()
    }

    deinit {
        // Nobody has its address any more.
        guard isOpen.load(ordering: .relaxed) else { return }
        _ = Glibc.close(descriptor)
        _ = Glibc.close(keeper)
    }

    /// The next connection.
    package func accept() throws -> PlainSocket {
        let countdown = Countdown()
        while true {
            if let accepted = RawSocket.accept(descriptor) {
                return PlainSocket(owning: accepted)
            }
            guard RawSocket.wait(descriptor, for: POLLIN, by: countdown) else {
                throw SocketFailure("nobody connected to \(address) in time")
            }
        }
    }

    /// Whether a connection waits to be accepted now.
    package var hasWaiting: Bool { RawSocket.wait(descriptor, for: POLLIN, by: Countdown(.zero)) }

    /// Later connections are refused; those that wait are reset.
    ///
    /// The port stays this listener's: otherwise the kernel might give it to another test, which
    /// would meet whoever is to be refused.
    package func close() {
        guard isOpen.exchange(false, ordering: .relaxed) else { return }
        // This refuses connections even while a child of another test has a copy.
        Glibc.shutdown(descriptor, Int32(SHUT_RDWR))
        _ = Glibc.close(descriptor)
        Self.keepers.withLock { keepers in
            keepers.append(keeper)
            if keepers.count > Self.keepersMax { _ = Glibc.close(keepers.removeFirst()) }
        }
    }

    /// Sockets that are bound and don't listen, the latest last.
    private static let keepers = Mutex<[Int32]>([])
    /// More than all tests that run at once close, as far as this process may have descriptors: on
    /// a busy machine a test may come to its closed port only after hundreds of others.
    private static let keepersMax = max(256, min(4096, sysconf(Int32(_SC_OPEN_MAX)) / 8))
}

extension SocketAddress {
    /// 127.0.0.1, or another of the addresses 127.0.0.0/24.
    package static func loopback(port: UInt16, host: UInt8 = 1) -> SocketAddress {
        SocketAddress(address: .v4(0x7F00_0000 | UInt32(host)), port: port)
    }

    /// ::1.
    package static func loopback6(port: UInt16) -> SocketAddress {
        SocketAddress(address: .v6(high: 0, low: 1), port: port)
    }
}

extension [UInt8] {
    /// Where the first occurrence of `mark` that begins at or behind `start` ends.
    fileprivate func end(of mark: [UInt8], from start: Int) -> Int? {
        guard count >= mark.count, start <= count - mark.count else { return nil }
        for i in start...(count - mark.count) where self[i..<i + mark.count].elementsEqual(mark) {
            return i + mark.count
        }
        return nil
    }
}
