// How TLS lies on a socket of the origin or of the load: a session as its channel's filter.
import LupinIO
import LupinTLS

/// Why a peer and we have no TLS connection, in words.
struct HandshakeError: Error {
    let reason: String
}

/// One side of one TLS connection.
///
/// The proxy has a layer of its own: what measures must not change with what is measured.
final class TLSLayer: ChannelFilter {
    private let session: TLSSession
    private var isEstablished = false
    private var failure: TLSFailure?
    private(set) var hasEnded = false
    /// A client begins: it has something to do before anything comes.
    private var mustBegin: Bool

    init(_ session: TLSSession, isClient: Bool) {
        self.session = session
        mustBegin = isClient
    }

    /// Lies down on the channel and comes back when the handshake is over.
    func shakeHands(
        on channel: Channel,
        wakingFor readiness: WakeReasons,
        in slot: ParkingSlot,
        until deadline: UInt64
    ) async throws(HandshakeError) {
        channel.insert(self)
        while true {
            var hasLeft = false
            var received = Channel.Received.blocked
            do throws(SystemError) {
                received = try channel.receive()
                hasLeft = try channel.flush()
            } catch {
                throw HandshakeError(reason: failure.map { "\($0)" } ?? error.message)
            }
            if isEstablished, hasLeft { return }
            if received == .end { throw HandshakeError(reason: "closed in the handshake") }
            let woken = await slot.park(for: readiness, until: deadline)
            if woken.contains(.timedOut) { throw HandshakeError(reason: "no handshake in time") }
        }
    }

    /// What ALPN chose; nil for nothing.
    var chosenProtocol: String? { session.chosenProtocol }

    // MARK: ChannelFilter

    var holdsPlain: Bool { mustBegin || (isEstablished && session.holdsPlaintext) }

    func open(
        _ cipher: InputBuffer,
        into plain: InputBuffer,
        answer: inout [UInt8]
    ) throws(FilterFailure) {
        mustBegin = false
        do throws(TLSFailure) {
            if !isEstablished {
                let (consumed, state) = try session.handshake(cipher.bytes, output: &answer)
                cipher.discard(consumed)
                isEstablished = state == .complete
            }
            if isEstablished, !hasEnded { try decrypt(cipher, into: plain, answer: &answer) }
        } catch {
            failure = error
            throw FilterFailure()
        }
    }

    func seal(_ plain: Span<UInt8>, into cipher: inout [UInt8]) throws(FilterFailure) {
        do throws(TLSFailure) {
            try session.encrypt(plain, output: &cipher)
        } catch {
            failure = error
            throw FilterFailure()
        }
    }

    func sealEnd(into cipher: inout [UInt8]) { session.close(output: &cipher) }

    private func decrypt(
        _ cipher: InputBuffer,
        into plain: InputBuffer,
        answer: inout [UInt8]
    ) throws(TLSFailure) {
        var consumed = 0
        try plain.append { room throws(TLSFailure) in
            let result = try session.decrypt(cipher.bytes, into: &room, output: &answer)
            consumed = result.consumed
            hasEnded = result.ended
            return result.produced
        }
        cipher.discard(consumed)
    }
}
