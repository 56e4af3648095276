// One side of one TLS connection: translates between ciphertext and plaintext; no sockets.
import COpenSSL
package import LupinCore

/// One side of one TLS connection, confined to its loop.
///
/// The caller owns all buffers and lends them for one call. First comes the handshake, until it
/// returns `complete`; then `decrypt` and `encrypt` in any order, until `decrypt` reports the
/// peer's end and `close` has been called. A failure is final: `output` then usually contains an
/// alert, which should still be sent, and every later call fails the same way.
@safe
package final class TLSSession {
    package enum HandshakeState: Sendable, Hashable {
        /// The handshake needs more ciphertext.
        case wantsInput
        /// The check answered `undecided`: call again, with or without input, when the check can
        /// decide.
        case wantsVerdict
        /// Application data may be sent and received. Remaining input belongs to `decrypt`.
        case complete
    }

    /// RFC 8446 §5.5 allows 2^24.5 records per key; then the key must be replaced.
    private static let recordsPerKeyMax: UInt64 = 1 << 24
    private static let recordCapacity = 16 << 10
    /// An upper bound on a record's header, nonce or content type, and tag.
    private static let recordOverhead = 64

    let context: TLSContext
    // Safety: made in init and freed in deinit; used by this object and, during its calls, by its
    // callbacks.
    let ssl: OpaquePointer
    private let bio = MemoryBIO()
    private var protocols: [String] = []
    private(set) var refusesOtherProtocols = false
    private var check: CertificateCheck?
    private var awaitsStaple = false
    /// The server wanted to negotiate anew, and has sent no data since.
    var hasRefusedRenegotiation = false
    /// The server has asked this client for a certificate, which it need not have got.
    var wasAskedForCertificate = false
    private var refusal: CertificateRefusal?
    private var failure: TLSFailure?
    private var isComplete = false
    private var hasSeenInput = false
    private var looksLikeTLS = true
    private var hasClosed = false
    private var records: UInt64 = 0

    /// How many records a key seals before `encrypt` replaces it.
    package var recordsPerKeyMax = TLSSession.recordsPerKeyMax

    /// The latest ticket from the server; in TLS 1.3 tickets come with `decrypt`.
    ///
    /// A resumed TLS 1.2 connection brings none: the old one stays valid.
    package internal(set) var newTicket: TLSTicket?

    private init(_ context: TLSContext) throws(TLSFailure) {
        ErrorQueue.clear()
        // Safety: this object owns the SSL from here on; the SSL refers back without a reference.
        guard let ssl = unsafe SSL_new(context.pointer) else {
            throw ErrorQueue.failure(.internal)
        }
        unsafe self.ssl = ssl
        self.context = context
        let isAttached = unsafe bio.attach(to: ssl)
        let me = unsafe Unmanaged.passUnretained(self).toOpaque()
        guard isAttached, unsafe SSL_set_ex_data(ssl, 0, me) == 1 else {
            throw ErrorQueue.failure(.internal)
        }
    }

    deinit {
        // Safety: no other object has the SSL. Without close_notify OpenSSL would invalidate the
        // ticket, which TLS 1.1 and later don't require; after a fatal alert it has already done
        // so.
        unsafe SSL_set_shutdown(ssl, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN)
        unsafe SSL_free(ssl)
    }

    /// Makes the client's side.
    ///
    /// - Parameters:
    ///   - context: A client context.
    ///   - serverName: Sent as SNI unless it is an address (RFC 6066 §3); nil sends none.
    ///   - protocols: The ALPN offer; nil for the context's.
    ///   - ticket: The ticket of an earlier connection to the same server. On resumption the check
    ///     is not called.
    ///   - check: Checks the server's certificates.
    /// - Returns: The connection, which has nothing to send before `handshake` is called.
    /// - Throws: `badSetting` or `internal`.
    package static func client(
        _ context: TLSContext,
        serverName: Host?,
        protocols: [String]? = nil,
        resuming ticket: TLSTicket? = nil,
        check: @escaping CertificateCheck
    ) throws(TLSFailure) -> TLSSession {
        precondition(context.isClient, "a client's connection needs a client's context")
        let connection = try TLSSession(context)
        let ssl = unsafe connection.ssl
        // Safety: OpenSSL copies names and lists during the calls.
        unsafe SSL_set_connect_state(ssl)
        unsafe SSL_set_verify(ssl, SSL_VERIFY_PEER, nil)
        unsafe openssl_ask_status(ssl)
        if let serverName, serverName.address == nil {
            guard unsafe openssl_set_server_name(ssl, serverName.text) == 1 else {
                throw ErrorQueue.failure(.badSetting)
            }
        }
        if let protocols {
            let list = try ProtocolList.wire(protocols)
            guard unsafe SSL_set_alpn_protos(ssl, list, UInt32(clamping: list.count)) == 0 else {
                throw ErrorQueue.failure(.badSetting)
            }
        }
        unsafe ticket?.use(onConnection: ssl)
        connection.check = check
        return connection
    }

    /// Makes the server's side.
    ///
    /// - Parameters:
    ///   - context: A server context.
    ///   - identity: The identity presented to the client.
    ///   - scope: At most 32 bytes; a ticket from another scope is not resumed.
    ///   - protocols: The protocols that ALPN may choose, in order of preference.
    ///   - refusesOtherProtocols: How to treat a client that offers none of them:
    ///     `no_application_protocol` if true, else a connection without ALPN.
    ///   - check: Requests a certificate from the client and checks it; nil requests none. A client
    ///     may have none, and then the check isn't called.
    /// - Returns: The connection, which waits for the client's first bytes in `handshake`.
    /// - Throws: `badIdentity`, `badSetting` or `internal`.
    package static func server(
        _ context: TLSContext,
        identity: TLSIdentity,
        scope: [UInt8],
        protocols: [String] = [],
        refusesOtherProtocols: Bool = false,
        check: CertificateCheck? = nil
    ) throws(TLSFailure) -> TLSSession {
        precondition(!context.isClient, "a server's connection needs a server's context")
        let connection = try TLSSession(context)
        let ssl = unsafe connection.ssl
        // Safety: OpenSSL copies the scope during the call.
        unsafe SSL_set_accept_state(ssl)
        try unsafe identity.use(onConnection: ssl)
        let count = UInt32(clamping: scope.count)
        guard unsafe SSL_set_session_id_context(ssl, scope, count) == 1 else {
            throw ErrorQueue.failure(.badSetting)
        }
        if let check {
            unsafe SSL_set_verify(ssl, SSL_VERIFY_PEER, nil)
            connection.check = check
        }
        connection.protocols = protocols
        connection.refusesOtherProtocols = refusesOtherProtocols
        return connection
    }

    // MARK: Bytes

    /// Reports the end of the peer's byte stream: no more input follows what has arrived.
    package func inputEnded() { bio.hasEnded = true }

    /// Continues the handshake as far as the ciphertext allows.
    ///
    /// - Parameters:
    ///   - cipher: Unconsumed bytes from the peer.
    ///   - output: Receives the bytes to send, on success and on failure.
    /// - Returns: The bytes consumed from `cipher`, and what the handshake waits for.
    /// - Throws: Any failure except those of settings and identities.
    package func handshake(
        _ cipher: Span<UInt8>,
        output: inout [UInt8]
    ) throws(TLSFailure) -> (consumed: Int, state: HandshakeState) {
        if let failure { throw failure }
        if isComplete { return (0, .complete) }
        if !hasSeenInput, !cipher.isEmpty {
            hasSeenInput = true
            // Content types of TLS records are 20 to 23 (RFC 8446 §5.1).
            looksLikeTLS = (20...23).contains(cipher[0])
        }
        ErrorQueue.clear()
        // Safety: the SSL is ours; buffers are lent for the call only.
        let (error, consumed) = bio.lend(cipher, &output) {
            let result = unsafe SSL_do_handshake(ssl)
            return result == 1 ? SSL_ERROR_NONE : unsafe SSL_get_error(ssl, result)
        }
        switch error {
        case SSL_ERROR_NONE where awaitsStaple: throw fail()
        case SSL_ERROR_NONE where lacksServer:
            let failure = TLSFailure(.protocolError, reason: "the server showed no certificate")
            self.failure = failure
            throw failure
        case SSL_ERROR_NONE:
            isComplete = true
            // Neither is called again: TLS 1.3 has no renegotiation, and TLS 1.2's is disabled.
            check = nil
            protocols = []
            if context.isClient { unsafe TLSCallbacks.install(behindHandshakeOf: ssl, version) }
            releaseBuffers()
            return (consumed, .complete)
        case SSL_ERROR_WANT_READ: return (consumed, .wantsInput)
        case SSL_ERROR_WANT_RETRY_VERIFY: return (consumed, .wantsVerdict)
        default: throw fail()
        }
    }

    /// Decrypts as many records as are complete and fit.
    ///
    /// A failure after valid records is deferred until they are delivered: the next call throws it.
    ///
    /// - Parameters:
    ///   - cipher: Unconsumed bytes from the peer.
    ///   - plain: Receives the plaintext from its beginning on.
    ///   - output: Receives TLS's own answers, such as key updates and alerts.
    /// - Returns: The bytes consumed from `cipher`, the bytes put into `plain`, and whether the
    ///   peer has ended with close_notify, after all plaintext.
    /// - Throws: Any failure except those of settings, identities and versions.
    @_lifetime(plain: copy plain)
    package func decrypt(
        _ cipher: Span<UInt8>,
        into plain: inout MutableSpan<UInt8>,
        output: inout [UInt8]
    ) throws(TLSFailure) -> (consumed: Int, produced: Int, ended: Bool) {
        precondition(isComplete, "decrypting belongs behind the handshake")
        if let failure { throw failure }
        var produced = 0
        let ticketBefore = newTicket
        ErrorQueue.clear()
        // Safety: SSL_read_ex writes at most the given room, and returns how much it wrote.
        let (error, consumed) = unsafe plain.withUnsafeMutableBufferPointer { room in
            bio.lend(cipher, &output) {
                guard let base = room.baseAddress else { return SSL_ERROR_NONE }
                while produced < room.count {
                    var count = 0
                    let result = unsafe SSL_read_ex(
                        ssl,
                        base + produced,
                        room.count - produced,
                        &count
                    )
                    guard result == 1 else { return unsafe SSL_get_error(ssl, result) }
                    produced &+= count
                    // Saves the call that would only report that, unless the end must be detected.
                    if bio.isDrained, !bio.hasEnded, unsafe SSL_pending(ssl) == 0 { break }
                }
                return SSL_ERROR_NONE
            }
        }
        if produced > 0 { hasRefusedRenegotiation = false }
        switch error {
        case SSL_ERROR_NONE, SSL_ERROR_WANT_READ, SSL_ERROR_WANT_WRITE:
            if newTicket !== ticketBefore { releaseBuffers() }
            return (consumed, produced, false)
        case SSL_ERROR_ZERO_RETURN where hasRefusedRenegotiation: throw fail()
        case SSL_ERROR_ZERO_RETURN: return (consumed, produced, true)
        default:
            let failure = fail()
            if produced == 0 { throw failure }
            return (consumed, produced, false)
        }
    }

    /// Whether `decrypt` can return something without new ciphertext: the rest of a record that did
    /// not fit, or a failure.
    package var holdsPlaintext: Bool {
        // Safety: the SSL is ours.
        if failure != nil { return true }
        return unsafe SSL_pending(ssl) > 0
    }

    /// Appends `plain` to `output` as records; takes all of it.
    ///
    /// - Throws: `internal` before the handshake is complete and after `close`, without ending the
    ///   session; or an earlier failure.
    package func encrypt(_ plain: Span<UInt8>, output: inout [UInt8]) throws(TLSFailure) {
        if let failure { throw failure }
        // No preconditions: depending on what a peer sends or leaves unread, a caller may write too
        // early, or to a closed connection.
        if !isComplete { throw TLSFailure(.internal, reason: "data before the handshake") }
        if hasClosed { throw TLSFailure(.internal, reason: "data after close_notify") }
        guard !plain.isEmpty else { return }
        let added = (plain.count &+ Self.recordCapacity &- 1) / Self.recordCapacity
        countRecords(added)
        let needed = output.count &+ plain.count &+ added &* Self.recordOverhead
        if needed > output.capacity { output.reserveCapacity(max(needed, 2 * output.capacity)) }
        ErrorQueue.clear()
        // Safety: SSL_write_ex reads at most the given bytes, and returns how many.
        let isWritten = unsafe plain.withUnsafeBufferPointer { bytes in
            bio.lend(Span(), &output) {
                guard let base = bytes.baseAddress else { return false }
                var taken = 0
                while taken < bytes.count {
                    var count = 0
                    let left = bytes.count - taken
                    guard unsafe SSL_write_ex(ssl, base + taken, left, &count) == 1 else {
                        return false
                    }
                    taken &+= count
                }
                return true
            }.result
        }
        if !isWritten { throw fail() }
    }

    /// Appends close_notify, once; nothing can be encrypted after it.
    package func close(output: inout [UInt8]) {
        guard isComplete, failure == nil, !hasClosed else { return }
        hasClosed = true
        // Safety: the SSL is ours. The result only reports whether the peer has closed, too.
        _ = bio.lend(Span(), &output) { unsafe SSL_shutdown(ssl) }
        ErrorQueue.clear()
    }

    /// Makes the next `encrypt` change the keys first; does nothing in TLS 1.2.
    ///
    /// - Parameter asksPeer: Whether the peer must change its keys too.
    package func updateKeys(asksPeer: Bool) {
        guard isComplete, failure == nil, !hasClosed, version == .tls13 else { return }
        // Safety: the SSL is ours.
        let type = asksPeer ? SSL_KEY_UPDATE_REQUESTED : SSL_KEY_UPDATE_NOT_REQUESTED
        if unsafe SSL_key_update(ssl, type) != 1 { ErrorQueue.clear() }
        records = 0
    }

    /// The negotiated version, once the handshake is complete.
    package var version: TLSVersion {
        // Safety: the SSL is ours.
        unsafe SSL_version(ssl) >= TLS1_3_VERSION ? .tls13 : .tls12
    }

    /// Whether only whole records have arrived.
    package var isBetweenRecords: Bool { bio.isBetweenRecords }

    /// Frees the record buffers that a handshake message leaves allocated: 32 KiB.
    ///
    /// After application data OpenSSL frees them itself. The call is safe only between records:
    /// before 3.0.14 it frees a buffer that contains half a record (CVE-2024-4741).
    private func releaseBuffers() {
        // Safety: the SSL is ours, and no record is under way in either direction.
        guard isBetweenRecords, unsafe SSL_pending(ssl) == 0 else { return }
        unsafe SSL_free_buffers(ssl)
    }

    private func countRecords(_ count: Int) {
        if records &+ UInt64(count) > recordsPerKeyMax { updateKeys(asksPeer: false) }
        records &+= UInt64(count)
    }

    /// Whether a server has shown no certificate: then nothing was checked.
    private var lacksServer: Bool {
        // Safety: the SSL is ours; its certificate is only compared with none.
        unsafe context.isClient && !isResumed && SSL_get0_peer_certificate(ssl) == nil
    }

    private func fail() -> TLSFailure {
        var failure = ErrorQueue.connectionFailure(
            hasEnded: bio.hasEnded,
            looksLikeTLS: looksLikeTLS
        )
        if let refusal {
            failure = TLSFailure(.certificateRefused(refusal), reason: failure.reason)
        } else if hasRefusedRenegotiation {
            failure = TLSFailure(.renegotiation, reason: failure.reason)
        } else if context.isClient, !wasAskedForCertificate,
            case .peerRejectedOurCertificate(let alert) = failure.kind
        {
            // It saw none: some servers refuse names and clients with such alerts.
            failure = TLSFailure(.alertReceived(alert), reason: failure.reason)
        }
        self.failure = failure
        return failure
    }
}

// MARK: Answers to OpenSSL

extension TLSSession {
    /// The verdict on the chain; `accepted` here also stands for "to be asked again later".
    func judge(_ chain: OpaquePointer?) -> CertificateVerdict {
        // Safety: OpenSSL lends the chain for the call; what is kept of it is referenced.
        let mayBeStapledLater = context.isClient && version == .tls12
        guard let check,
            let certificates = unsafe PeerCertificates(
                sharing: nil,
                chain: chain,
                version: version,
                stapledResponse: stapledResponse,
                mayBeStapledLater: mayBeStapledLater
            )
        else { return refuse(.badCertificate) }
        switch check(certificates) {
        case .accepted: return .accepted
        case .refused(let refusal): return refuse(refusal)
        case .undecided:
            guard context.isClient else { return refuse(.badCertificate) }
            unsafe openssl_retry_verify(ssl)
            return .accepted
        case .awaitsStaple:
            guard mayBeStapledLater else { return refuse(.badCertificate) }
            awaitsStaple = true
            return .accepted
        }
    }

    /// Calls the check again, if it waited for the stapled response of TLS 1.2.
    func judgeStaple() -> Bool {
        guard awaitsStaple else { return true }
        awaitsStaple = false
        guard let check, let certificates = peerCertificates else {
            return refuse(.badCertificate) == .accepted
        }
        switch check(certificates) {
        case .accepted: return true
        case .refused(let refusal): return refuse(refusal) == .accepted
        case .undecided, .awaitsStaple: return refuse(.badCertificate) == .accepted
        }
    }

    private func refuse(_ refusal: CertificateRefusal) -> CertificateVerdict {
        self.refusal = refusal
        return .refused(refusal)
    }

    /// The range in a client's ALPN list of the first of our protocols that it offers.
    func chooseProtocol(from list: Span<UInt8>) -> Range<Int>? {
        for name in protocols {
            var start = 0
            while start < list.count {
                let end = start &+ 1 &+ Int(list[start])
                guard end <= list.count else { return nil }
                let candidate = start + 1..<end
                if String(copying: list.extracting(candidate)) == name { return candidate }
                start = end
            }
        }
        return nil
    }
}
