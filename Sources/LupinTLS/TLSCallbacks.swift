// The callbacks of OpenSSL, answered by the connection that made the call.
import COpenSSL
import LupinCore

/// The callback functions; each finds its connection in the SSL's application data.
enum TLSCallbacks {
    /// Callbacks for both sides.
    static func install(on context: OpaquePointer) {
        // Safety: each function finds all it needs by the SSL it is called with.
        unsafe SSL_CTX_set_cert_verify_callback(context, { unsafe TLSCallbacks.judge($0, $1) }, nil)
    }

    static func install(onClient context: OpaquePointer) {
        unsafe SSL_CTX_sess_set_new_cb(context) { unsafe TLSCallbacks.keepTicket($0, $1) }
        unsafe openssl_ctx_set_status_callback(context) { ssl, _ in
            unsafe TLSCallbacks.judgeStaple(ssl)
        }
        unsafe SSL_CTX_set_cert_cb(context, { ssl, _ in unsafe TLSCallbacks.noteAsked(ssl) }, nil)
    }

    static func install(onServer context: OpaquePointer) {
        unsafe SSL_CTX_set_alpn_select_cb(
            context,
            { ssl, chosen, count, offer, length, _ in
                unsafe TLSCallbacks.chooseProtocol(ssl, chosen, count, offer, length)
            },
            nil
        )
        unsafe SSL_CTX_set_tlsext_ticket_key_evp_cb(context) {
            unsafe TLSCallbacks.ticketKey($0, $1, $2, $3, $4, $5)
        }
    }

    /// Watches what a server asks for once the handshake of a client's connection is complete.
    static func install(behindHandshakeOf ssl: OpaquePointer, _ version: TLSVersion) {
        switch version {
        case .tls12:
            unsafe SSL_set_info_callback(ssl) { unsafe TLSCallbacks.note($0, $1, $2) }
        case .tls13:
            var name: UnsafePointer<UInt8>?
            var count: UInt32 = 0
            unsafe SSL_get0_alpn_selected(ssl, &name, &count)
            // "HTTP/2 clients MUST treat a TLS post-handshake CertificateRequest as a connection
            // error" (RFC 9113 §9.2.3): a certificate is for one request, and here are many.
            if count == 2 { unsafe SSL_set_cert_cb(ssl, { _, _ in 0 }, nil) }
        }
    }

    /// Notes that OpenSSL has refused to negotiate anew (RFC 5246 §7.2.2).
    private static func note(_ ssl: OpaquePointer?, _ direction: Int32, _ alert: Int32) {
        let isSent = direction & SSL_CB_WRITE_ALERT == SSL_CB_WRITE_ALERT
        guard isSent, alert & 0xFF == SSL_AD_NO_RENEGOTIATION,
            let connection = unsafe connection(of: ssl)
        else { return }
        connection.hasRefusedRenegotiation = true
    }

    /// Notes that the server asks for a certificate; returns 1, since the context has the answer.
    private static func noteAsked(_ ssl: OpaquePointer?) -> Int32 {
        unsafe connection(of: ssl)?.wasAskedForCertificate = true
        return 1
    }

    /// Checks the peer's certificates in place of OpenSSL's own verification.
    private static func judge(
        _ store: OpaquePointer?,
        _ argument: UnsafeMutableRawPointer?
    ) -> Int32 {
        // Safety: OpenSSL puts the SSL there, and the chain lives as long as the call.
        let index = SSL_get_ex_data_X509_STORE_CTX_idx()
        guard let ssl = unsafe X509_STORE_CTX_get_ex_data(store, index),
            let connection = unsafe connection(of: OpaquePointer(ssl))
        else { return 0 }
        let verdict = unsafe connection.judge(X509_STORE_CTX_get0_untrusted(store))
        if case .refused(let refusal) = verdict {
            unsafe X509_STORE_CTX_set_error(store, refusal.verificationError)
            return 0
        }
        return 1
    }

    /// Called when a server's first flight is complete, with any stapled response.
    private static func judgeStaple(_ ssl: OpaquePointer?) -> Int32 {
        // Safety: OpenSSL passes the SSL of the call in progress.
        guard let connection = unsafe connection(of: ssl) else { return 0 }
        return connection.judgeStaple() ? 1 : 0
    }

    /// Keeps a session that the server gave for resumption; returns 1 to keep its reference.
    private static func keepTicket(_ ssl: OpaquePointer?, _ saved: OpaquePointer?) -> Int32 {
        // Safety: returning 1 transfers the reference to the ticket.
        guard let connection = unsafe connection(of: ssl), let saved = unsafe saved else {
            return 0
        }
        connection.newTicket = unsafe TLSTicket(owning: saved)
        return 1
    }

    /// Chooses an ALPN protocol from a client's offer.
    private static func chooseProtocol(
        _ ssl: OpaquePointer?,
        _ chosen: UnsafeMutablePointer<UnsafePointer<UInt8>?>?,
        _ chosenCount: UnsafeMutablePointer<UInt8>?,
        _ offer: UnsafePointer<UInt8>?,
        _ offerCount: UInt32
    ) -> Int32 {
        // Safety: the offer has `offerCount` bytes. The answer points into it, as it must: it is
        // read after this returns.
        guard let connection = unsafe connection(of: ssl), let offer = unsafe offer else {
            return SSL_TLSEXT_ERR_NOACK
        }
        let list = unsafe Span<UInt8>(_unsafeStart: offer, count: Int(offerCount))
        guard let range = connection.chooseProtocol(from: list) else {
            return connection.refusesOtherProtocols
                ? SSL_TLSEXT_ERR_ALERT_FATAL : SSL_TLSEXT_ERR_NOACK
        }
        unsafe chosen?.pointee = offer + range.lowerBound
        unsafe chosenCount?.pointee = UInt8(truncatingIfNeeded: range.count)
        return SSL_TLSEXT_ERR_OK
    }

    /// Provides the key that seals a new ticket, or the one that opens a client's.
    ///
    /// Returns -1 for an error, 0 for "no such key", 1 for success, 2 for success with a new ticket
    /// to issue.
    private static func ticketKey(
        _ ssl: OpaquePointer?,
        _ name: UnsafeMutablePointer<UInt8>?,
        _ initialValue: UnsafeMutablePointer<UInt8>?,
        _ cipher: OpaquePointer?,
        _ mac: OpaquePointer?,
        _ seals: Int32
    ) -> Int32 {
        // Safety: OpenSSL lends 16 bytes each for name and initialisation vector, and two live
        // contexts.
        guard let connection = unsafe connection(of: ssl),
            let keys = connection.context.ticketKeys,
            let name = unsafe name, let initialValue = unsafe initialValue,
            let cipher = unsafe cipher, let mac = unsafe mac
        else { return -1 }
        var key = TicketKey?.none
        var answer: Int32 = 1
        if seals == 1 {
            let current = keys.sealing()
            guard unsafe RAND_bytes(initialValue, Int32(TicketKey.initialValueCount)) == 1 else {
                return -1
            }
            unsafe current.write(nameTo: name)
            key = current
        } else {
            let span = unsafe Span<UInt8>(_unsafeStart: name, count: TicketKey.nameCount)
            guard let found = keys.opening(name: span) else { return 0 }
            key = found.key
            // A TLS 1.3 ticket is for one use (RFC 8446 §C.4), so the client gets a new one.
            answer = found.isCurrent && connection.version == .tls12 ? 1 : 2
        }
        let isReady = unsafe key?.prepare(
            cipher: cipher,
            mac: mac,
            initialValue: initialValue,
            seals: seals == 1
        )
        return isReady == true ? answer : -1
    }

    private static func connection(of ssl: OpaquePointer?) -> TLSSession? {
        // Safety: a TLSSession stored itself there and frees the SSL before it is freed.
        unsafe SSL_get_ex_data(ssl, 0).map {
            unsafe Unmanaged<TLSSession>.fromOpaque($0).takeUnretainedValue()
        }
    }
}

extension CertificateRefusal {
    /// The verification error that OpenSSL turns into the intended alert.
    fileprivate var verificationError: Int32 {
        switch self {
        case .badCertificate: X509_V_ERR_CERT_REJECTED
        case .badName: X509_V_ERR_HOSTNAME_MISMATCH
        case .expired: X509_V_ERR_CERT_HAS_EXPIRED
        case .notYetValid: X509_V_ERR_CERT_NOT_YET_VALID
        case .revoked: X509_V_ERR_CERT_REVOKED
        case .unknownAuthority: X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY
        case .badPurpose: X509_V_ERR_INVALID_PURPOSE
        }
    }
}
