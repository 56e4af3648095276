// How bytes get from a test's plain socket into TLS and back: one thread and two sockets.
import Glibc
import LupinIO
import LupinTLS
import Synchronization

/// Carries bytes between a plain socket and a TLS connection until both have ended.
final class SecureShuttle: Sendable {
    private struct State {
        var ticket: TLSTicket?
        var failure: TLSFailure?
        var outcome: Result<SecureSocket.Facts, any Error>?
    }

    private let wire: PlainSocket
    private let plain: PlainSocket
    /// Closes at once where the handshake fails.
    private let hangsUp: Bool
    private let state = Mutex(State())
    /// What goes before FIN in the place of close_notify; nil for close_notify.
    let cut = Mutex<[UInt8]?>(nil)
    let progress = ShuttleProgress()

    init(wire: PlainSocket, plain: PlainSocket, hangsUp: Bool) {
        self.hangsUp = hangsUp
        self.wire = wire
        self.plain = plain
        wire.sendsAtOnce()
    }

    var ticket: TLSTicket? { state.withLock { $0.ticket } }
    var failure: TLSFailure? { state.withLock { $0.failure } }

    /// Shakes hands on a thread of its own, which then carries bytes.
    func start(
        _ flight: SecureSocket.Client.Flight,
        _ make: @escaping @Sendable () throws -> TLSSession
    ) throws -> SecureSocket.Facts {
        let thread = try HelperThread(name: "test-tls", capacity: 1)
        let bell = Bell()
        thread.submit { [self] in
            let carrier: Carrier
            do {
                let session = try make()
                carrier = Carrier(session, wire: wire, plain: plain, progress)
                try carrier.shakeHands(flight)
                state.withLock { $0.outcome = .success(SecureSocket.Facts(session)) }
            } catch {
                state.withLock {
                    $0.outcome = .failure(error)
                    $0.failure = error as? TLSFailure
                }
                bell.ring()
                if !hangsUp {
                    // Closing with unread bytes would take the alert back.
                    wire.shutdownWrite()
                    _ = try? wire.receiveUntilEnd()
                }
                wire.close()
                plain.reset()
                return
            }
            bell.ring()
            carry(carrier)
        }
        guard bell.wait(PlainSocket.timeout * 2), let outcome = state.withLock({ $0.outcome })
        else { throw SocketFailure("the TLS handshake was not complete in time") }
        return try outcome.get()
    }

    private func carry(_ carrier: Carrier) {
        do throws(TLSFailure) {
            while try carrier.step(cut.withLock { $0 }) {
                if let ticket = carrier.ticket { state.withLock { $0.ticket = ticket } }
            }
        } catch {
            state.withLock { $0.failure = error }
        }
        carrier.end()
    }
}

/// The thread's own part: the session and what is on its way.
private final class Carrier {
    /// Bytes on their way in one direction, beyond which none are fetched.
    private static let backlogMax = 256 << 10

    private let session: TLSSession
    private let wire: PlainSocket
    private let plain: PlainSocket
    private let progress: ShuttleProgress
    /// Bytes that the test has sent.
    private var takenCount = 0
    private var toWire: [UInt8] = []
    private var toPlain: [UInt8] = []
    private var cipher: [UInt8] = []
    /// The test sent FIN, and the connection got it.
    private var hasPlainEnded = false
    private var isWireFinished = false
    /// The peer sent close_notify, and the test got FIN.
    private var hasPeerEnded = false
    private var isPlainFinished = false
    /// The peer's FIN has come.
    private var hasWireEnded = false
    private var isCut = false

    var ticket: TLSTicket? { session.newTicket }

    init(
        _ session: TLSSession,
        wire: PlainSocket,
        plain: PlainSocket,
        _ progress: ShuttleProgress
    ) {
        self.session = session
        self.wire = wire
        self.plain = plain
        self.progress = progress
    }

    func shakeHands(_ flight: SecureSocket.Client.Flight) throws {
        let countdown = Countdown()
        var isFirst = true
        while true {
            let input = cipher
            var output: [UInt8] = []
            let result = Result { () throws(TLSFailure) in
                try session.handshake(input.span, output: &output)
            }
            toWire = output
            if isFirst, flight != .whole, !toWire.isEmpty {
                let pieces = flight == .bytewise ? toWire.map { [$0] } : records(of: toWire)
                for piece in pieces { try wire.send(piece) }
            } else {
                try wire.send(toWire)
            }
            if !toWire.isEmpty { isFirst = false }
            toWire = []
            let (consumed, state) = try result.get()
            cipher.removeFirst(consumed)
            if state == .complete { return }
            let received = RawSocket.receive(wire.descriptor, into: &cipher)
            switch received {
            case 1...: continue
            case 0: session.inputEnded()
            case -Int(EAGAIN):
                guard RawSocket.wait(wire.descriptor, for: POLLIN, by: countdown) else {
                    throw SocketFailure("the peer fell silent in the TLS handshake")
                }
            default: throw SocketFailure("the peer reset the connection in the TLS handshake")
            }
        }
    }

    /// A handshake record cut into records of one byte (RFC 8446 §5.1 allows it).
    private func records(of record: [UInt8]) -> [[UInt8]] {
        record.dropFirst(5).map { Array(record[..<3]) + [0, 1, $0] }
    }

    /// Waits for something and does it; false when there is nothing more to do.
    ///
    /// `cut` goes to the wire in the place of close_notify.
    func step(_ cut: [UInt8]?) throws(TLSFailure) -> Bool {
        try open()
        flush()
        progress.note(takenCount, isBlocked: !toWire.isEmpty)
        finish(cut)
        if isCut || (isWireFinished && isPlainFinished && hasWireEnded) { return false }
        let wantsWire = hasWireEnded || toPlain.count >= Self.backlogMax ? 0 : POLLIN
        let wantsPlain = hasPlainEnded || toWire.count >= Self.backlogMax ? 0 : POLLIN
        var entries = [
            pollfd(
                fd: hasWireEnded && isWireFinished ? -1 : wire.descriptor,
                events: Int16(wantsWire | (toWire.isEmpty ? 0 : POLLOUT)),
                revents: 0
            ),
            pollfd(
                fd: hasPlainEnded && isPlainFinished ? -1 : plain.descriptor,
                events: Int16(wantsPlain | (toPlain.isEmpty ? 0 : POLLOUT)),
                revents: 0
            ),
        ]
        // Safety: poll reads and writes the two entries it is given.
        let count = unsafe poll(&entries, 2, 60_000)
        // A test takes no minute: whoever waited has given up.
        if count == 0 { return false }
        if entries[0].revents != 0, wantsWire != 0 { receive() }
        if entries[1].revents != 0, wantsPlain != 0 { take() }
        // Receiving tells of an RST; who doesn't receive is told here.
        for entry in entries where entry.revents & Int16(POLLERR) != 0 { isCut = true }
        return true
    }

    /// Closes both sockets, as gently as everything went so far.
    func end() {
        _ = try? wire.send(toWire)
        let isClean = isWireFinished && isPlainFinished && hasWireEnded && !isCut
        if isCut { wire.reset() } else { wire.close() }
        progress.finish()
        if isClean { return plain.close() }
        // RST would overtake what is still on its way.
        _ = try? plain.send(toPlain)
        plain.waitUntilTaken()
        plain.reset()
    }

    private func receive() {
        switch RawSocket.receive(wire.descriptor, into: &cipher) {
        case 1..., -Int(EAGAIN): break
        case 0:
            hasWireEnded = true
            session.inputEnded()
        default: isCut = true
        }
    }

    /// Takes what the test sends.
    private func take() {
        var bytes: [UInt8] = []
        switch RawSocket.receive(plain.descriptor, into: &bytes) {
        case 1...:
            takenCount += bytes.count
            if (try? session.encrypt(bytes.span, output: &toWire)) == nil { isCut = true }
        case 0: hasPlainEnded = true
        case -Int(EAGAIN): break
        default: isCut = true
        }
    }

    private func open() throws(TLSFailure) {
        var room = [UInt8](repeating: 0, count: 64 << 10)
        while !hasPeerEnded, toPlain.count < Self.backlogMax {
            let input = cipher
            var span = room.mutableSpan
            let result = try session.decrypt(input.span, into: &span, output: &toWire)
            cipher.removeFirst(result.consumed)
            toPlain += room[..<result.produced]
            hasPeerEnded = result.ended
            if result.produced == 0, result.consumed == 0 { return }
        }
    }

    private func flush() {
        if !send(&toWire, to: wire) { isCut = true }
        if !send(&toPlain, to: plain) { isCut = true }
    }

    private func send(_ bytes: inout [UInt8], to socket: PlainSocket) -> Bool {
        var sent = 0
        while sent < bytes.count {
            let result = RawSocket.send(socket.descriptor, bytes[sent...])
            if result == -Int(EAGAIN) { break }
            if result <= 0 { return false }
            sent += result
        }
        bytes.removeFirst(sent)
        return true
    }

    /// Passes ends on, behind everything that came before them.
    private func finish(_ cut: [UInt8]?) {
        if hasPlainEnded, !isWireFinished, toWire.isEmpty {
            if let cut { toWire = cut } else { session.close(output: &toWire) }
            _ = try? wire.send(toWire)
            toWire = []
            wire.shutdownWrite()
            isWireFinished = true
            progress.finish()
        }
        if hasPeerEnded, !isPlainFinished, toPlain.isEmpty {
            plain.shutdownWrite()
            isPlainFinished = true
        }
    }
}

extension PlainSocket {
    /// Waits until the peer's kernel has everything that was sent.
    fileprivate func waitUntilTaken() {
        let countdown = Countdown()
        var unsent: Int32 = 0
        while countdown.milliseconds > 0 {
            // Safety: ioctl fills the integer it is given.
            let result = unsafe ioctl(descriptor, UInt(TIOCOUTQ), &unsent)
            if result != 0 || unsent == 0 { return }
            usleep(500)
        }
    }
}
