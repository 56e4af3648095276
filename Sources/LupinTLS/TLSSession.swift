// One side of one TLS connection: ciphertext in, plain text out, and back; no sockets.
import COpenSSL
package import LupinCore

/// One side of one TLS connection, confined to its loop.
///
/// The caller owns all buffers and lends them for the length of a call. States: a handshake, until
/// it says `complete`; then `decrypt` and `encrypt` in any order, until `decrypt` says that the
/// peer ended and `close` has been called. A failure is final: what `output` holds then, an alert
/// as a rule, should still be sent, and every later call fails the same way.
@safe
package final class TLSSession {
    package enum HandshakeState: Sendable, Hashable {
        /// Nothing goes on without more ciphertext.
        case wantsInput
        /// The check answered `undecided`: call again, with or without input, when it may be asked
        /// again.
        case wantsVerdict
        /// Application data may be sent and received. Input that is left belongs to `decrypt`.
        case complete
    }

    /// RFC 8446 §5.5 allows 2^24.5 records of one key, then it must be replaced.
    private static let recordsPerKeyMax: UInt64 = 1 << 24
    private static let recordCapacity = 16 << 10
    /// Header, nonce or content type, and tag of a record, generously.
    private static let recordOverhead = 64

    let context: TLSContext
    // Safety: made in init and freed in deinit; used by this object and, in the middle of its
    // calls, by its callbacks.
    let ssl: OpaquePointer
    private let bio = MemoryBIO()
    private var protocols: [String] = []
    private(set) var refusesOtherProtocols = false
    private var check: CertificateCheck?
    private var awaitsStaple = false
    private var refusal: CertificateRefusal?
    private var failure: TLSFailure?
    private var isComplete = false
    private var hasSeenInput = false
    private var looksLikeTLS = true
    private var hasClosed = false
    private var records: UInt64 = 0

    /// How many records a key seals before `encrypt` replaces it.
    package var recordsPerKeyMax = TLSSession.recordsPerKeyMax

    /// The latest ticket that the server gave; those of TLS 1.3 come with `decrypt`.
    ///
    /// A resumed TLS 1.2 connection brings none: its old one stays good.
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
        // Safety: nobody else has the SSL. Without close_notify OpenSSL would make the ticket
        // unusable, which TLS 1.1 and later don't ask for; a fatal alert has done so by now.
        unsafe SSL_set_shutdown(ssl, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN)
        unsafe SSL_free(ssl)
    }

    /// The client's side.
    ///
    /// - Parameters:
    ///   - context: A client's.
    ///   - serverName: Sent as SNI unless it is an address (RFC 6066 §3); nil sends none.
    ///   - protocols: What ALPN offers; nil is what the context says.
    ///   - ticket: What an earlier connection to the same server left. On resumption the check is
    ///     not asked.
    ///   - check: Judges the server's certificates.
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

    /// The server's side.
    ///
    /// - Parameters:
    ///   - context: A server's.
    ///   - identity: What is shown to the client.
    ///   - scope: At most 32 bytes; a ticket from another scope is not resumed.
    ///   - protocols: What ALPN may choose, the preferred first.
    ///   - refusesOtherProtocols: What becomes of a client whose offer has none of them:
    ///     `no_application_protocol`, or a connection without ALPN.
    ///   - check: Asks the client for a certificate and judges it; nil doesn't ask. A client may
    ///     have none, and then the check isn't asked either.
    /// - Returns: The connection, which waits for a client's first bytes in `handshake`.
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

    /// The peer's end of the byte stream has come: after the input at hand there is no more.
    package func inputEnded() { bio.hasEnded = true }

    /// Goes on with the handshake as far as the ciphertext goes.
    ///
    /// - Parameters:
    ///   - cipher: What came from the peer and has not been consumed.
    ///   - output: Gets what is to be sent, on success and on failure.
    /// - Returns: What was taken from `cipher`, and what the handshake waits for.
    /// - Throws: Any failure but those of settings and identities.
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
        case SSL_ERROR_NONE:
            isComplete = true
            // Neither is asked again: TLS 1.3 has no renegotiation and we allow none in TLS 1.2.
            check = nil
            protocols = []
            releaseBuffers()
            return (consumed, .complete)
        case SSL_ERROR_WANT_READ: return (consumed, .wantsInput)
        case SSL_ERROR_WANT_RETRY_VERIFY: return (consumed, .wantsVerdict)
        default: throw fail()
        }
    }

    /// Turns as many records to plain text as there are bytes and room for.
    ///
    /// A failure behind good records waits until they are delivered: it is thrown by the next call.
    ///
    /// - Parameters:
    ///   - cipher: What came from the peer and has not been consumed.
    ///   - plain: Gets the plain text from its beginning on.
    ///   - output: Gets what TLS itself wants to answer, such as key updates and alerts.
    /// - Returns: What was taken from `cipher`, what was put into `plain`, and whether the peer has
    ///   ended with close_notify, behind all plain text.
    /// - Throws: Any failure but those of settings, identities and versions.
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
        // Safety: SSL_read_ex writes at most the room it is told of, and says how much.
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
                    // Saves the call that would only say so, unless it has an end to find.
                    if bio.isDrained, !bio.hasEnded, unsafe SSL_pending(ssl) == 0 { break }
                }
                return SSL_ERROR_NONE
            }
        }
        switch error {
        case SSL_ERROR_NONE, SSL_ERROR_WANT_READ, SSL_ERROR_WANT_WRITE:
            if newTicket !== ticketBefore { releaseBuffers() }
            return (consumed, produced, false)
        case SSL_ERROR_ZERO_RETURN: return (consumed, produced, true)
        default:
            let failure = fail()
            if produced == 0 { throw failure }
            return (consumed, produced, false)
        }
    }

    /// Whether `decrypt` has something to give without new ciphertext: the rest of a record for
    /// which there was no room, or a failure.
    package var holdsPlaintext: Bool {
        // Safety: the SSL is ours.
        if failure != nil { return true }
        return unsafe SSL_pending(ssl) > 0
    }

    /// Appends `plain` to `output` as records; takes all of it.
    ///
    /// - Throws: `internal` before the handshake is complete and after `close`, which ends nothing
    ///   else, or what failed before.
    package func encrypt(_ plain: Span<UInt8>, output: inout [UInt8]) throws(TLSFailure) {
        if let failure { throw failure }
        // No preconditions: what a peer sends, or leaves unread, can make somebody speak too early
        // or through a closed connection.
        if !isComplete { throw TLSFailure(.internal, reason: "data before the handshake") }
        if hasClosed { throw TLSFailure(.internal, reason: "data after close_notify") }
        guard !plain.isEmpty else { return }
        let added = (plain.count &+ Self.recordCapacity &- 1) / Self.recordCapacity
        countRecords(added)
        let needed = output.count &+ plain.count &+ added &* Self.recordOverhead
        if needed > output.capacity { output.reserveCapacity(max(needed, 2 * output.capacity)) }
        ErrorQueue.clear()
        // Safety: SSL_write_ex reads at most the bytes it is told of, and says how many.
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
        // Safety: the SSL is ours. The result only says whether the peer has closed, too.
        _ = bio.lend(Span(), &output) { unsafe SSL_shutdown(ssl) }
        ErrorQueue.clear()
    }

    /// Has the next `encrypt` change the keys first; does nothing in TLS 1.2.
    ///
    /// - Parameter asksPeer: Whether the peer shall change its own, too.
    package func updateKeys(asksPeer: Bool) {
        guard isComplete, failure == nil, !hasClosed, version == .tls13 else { return }
        // Safety: the SSL is ours.
        let type = asksPeer ? SSL_KEY_UPDATE_REQUESTED : SSL_KEY_UPDATE_NOT_REQUESTED
        if unsafe SSL_key_update(ssl, type) != 1 { ErrorQueue.clear() }
        records = 0
    }

    /// The version that both sides agreed on, once the handshake is complete.
    package var version: TLSVersion {
        // Safety: the SSL is ours.
        unsafe SSL_version(ssl) >= TLS1_3_VERSION ? .tls13 : .tls12
    }

    /// Whether whole records only have come.
    package var isBetweenRecords: Bool { bio.isBetweenRecords }

    /// Gives the record buffers back that a handshake message leaves behind: 32 KiB.
    ///
    /// Behind application data OpenSSL does that by itself. It may only be asked between records:
    /// before 3.0.14 it frees a buffer with half a record in it (CVE-2024-4741).
    private func releaseBuffers() {
        // Safety: the SSL is ours, and no record is under way in either direction.
        guard isBetweenRecords, unsafe SSL_pending(ssl) == 0 else { return }
        unsafe SSL_free_buffers(ssl)
    }

    private func countRecords(_ count: Int) {
        if records &+ UInt64(count) > recordsPerKeyMax { updateKeys(asksPeer: false) }
        records &+= UInt64(count)
    }

    private func fail() -> TLSFailure {
        var failure = ErrorQueue.connectionFailure(
            hasEnded: bio.hasEnded,
            looksLikeTLS: looksLikeTLS
        )
        if let refusal {
            failure = TLSFailure(.certificateRefused(refusal), reason: failure.reason)
        }
        self.failure = failure
        return failure
    }
}

// MARK: Answers to OpenSSL

extension TLSSession {
    /// What is thought of the chain; `accepted` here also stands for "asked again later".
    func judge(_ chain: OpaquePointer?) -> CertificateVerdict {
        // Safety: OpenSSL lends the chain for the call; what is kept of it is referenced.
        let mayBeStapledLater = context.isClient && version == .tls12
        guard let check,
            let certificates = unsafe PeerCertificates(
                sharing: nil,
                chain: chain,
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

    /// Asks the check again, should it have waited for the stapled response of TLS 1.2.
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

    /// Where in a client's ALPN list the first of our protocols stands that it has.
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
