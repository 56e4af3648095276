// A TLS connection as a channel's filter.
package import LupinIO
package import LupinTLS

/// Puts a TLS session between a channel's socket and its users.
///
/// The handshake proceeds as bytes come; `isEstablished` and `wantsVerdict` report its state.
package final class TLSFilter: ChannelFilter {
    package let session: TLSSession
    private(set) var isEstablished = false
    /// The handshake is suspended until the peer's certificates have been judged.
    private(set) var wantsVerdict = false
    /// The error that ended the session.
    package private(set) var failure: TLSFailure?
    private var ended = false
    package var hasEnded: Bool { ended }
    /// The session can proceed without ciphertext: a client begins the handshake.
    private var isDue: Bool
    /// The peer may close without close_notify.
    package let mayEndUnannounced: Bool

    package init(_ session: TLSSession, isClient: Bool, mayEndUnannounced: Bool = false) {
        self.session = session
        self.mayEndUnannounced = mayEndUnannounced
        isDue = isClient
    }

    /// Resumes a handshake that waited for a verdict.
    func resume() {
        wantsVerdict = false
        isDue = true
    }

    /// OpenSSL has consumed part of a record.
    package var isWithinRecord: Bool { !session.isBetweenRecords }

    package var holdsPlain: Bool { isDue || (isEstablished && session.holdsPlaintext) }

    package func open(
        _ cipher: InputBuffer,
        into plain: InputBuffer,
        answer: inout [UInt8]
    ) throws(FilterFailure) {
        guard !wantsVerdict else { return }
        isDue = false
        do throws(TLSFailure) {
            if !isEstablished { try shakeHands(cipher, answer: &answer) }
            if isEstablished, !hasEnded { try decrypt(cipher, into: plain, answer: &answer) }
        } catch {
            failure = error
            throw FilterFailure()
        }
    }

    package func seal(_ plain: Span<UInt8>, into cipher: inout [UInt8]) throws(FilterFailure) {
        do throws(TLSFailure) {
            try session.encrypt(plain, output: &cipher)
        } catch {
            failure = error
            throw FilterFailure()
        }
    }

    package func sealEnd(into cipher: inout [UInt8]) { session.close(output: &cipher) }

    private func shakeHands(_ cipher: InputBuffer, answer: inout [UInt8]) throws(TLSFailure) {
        let (consumed, state) = try session.handshake(cipher.bytes, output: &answer)
        cipher.discard(consumed)
        switch state {
        case .wantsInput: break
        case .wantsVerdict: wantsVerdict = true
        case .complete: isEstablished = true
        }
    }

    private func decrypt(
        _ cipher: InputBuffer,
        into plain: InputBuffer,
        answer: inout [UInt8]
    ) throws(TLSFailure) {
        var consumed = 0
        try plain.append { room throws(TLSFailure) in
            let result = try session.decrypt(cipher.bytes, into: &room, output: &answer)
            consumed = result.consumed
            ended = result.ended
            return result.produced
        }
        cipher.discard(consumed)
    }
}
