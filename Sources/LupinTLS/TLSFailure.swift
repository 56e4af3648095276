// Why a TLS connection failed, and how to derive that from OpenSSL's error queue.
import COpenSSL

/// Why a TLS connection, its settings or its identity failed.
///
/// `reason` is OpenSSL's text, suitable for a log; it never contains bytes of the connection.
package struct TLSFailure: Error, Sendable, Hashable, CustomStringConvertible {
    package enum Kind: Sendable, Hashable {
        /// The peer ended the connection with an alert.
        case alertReceived(TLSAlert)
        /// The peer rejected our certificate; a client was asked for one, and may have had none.
        ///
        /// In TLS 1.3 that can arrive after our handshake is complete, at the first `decrypt`.
        case peerRejectedOurCertificate(TLSAlert)
        /// This side rejected the peer's certificate.
        case certificateRefused(CertificateRefusal)
        /// The two sides have no version in common.
        case unsupportedVersion
        /// The server lacks secure renegotiation (RFC 5746).
        case insecureRenegotiation
        /// The server wanted to negotiate anew within the connection, which lupin refuses.
        case renegotiation
        /// The two sides have no ALPN protocol in common.
        case noSharedProtocol
        /// The peer's bytes are not TLS.
        case notTLS
        /// The peer violated the TLS protocol.
        case protocolError
        /// A message of the peer's handshake is longer than OpenSSL takes, such as the list of its
        /// certificates.
        case oversized
        /// The connection ended without close_notify: the data may be incomplete.
        case truncated
        /// A certificate or key of this side is unreadable, or the two don't match.
        case badIdentity
        /// A setting of this side that OpenSSL doesn't accept.
        case badSetting
        /// OpenSSL failed for a reason of its own, such as lack of memory.
        case `internal`
    }

    package let kind: Kind
    package let reason: String

    package init(_ kind: Kind, reason: String) {
        self.kind = kind
        self.reason = reason
    }

    package var description: String {
        switch kind {
        case .alertReceived(let alert) where alert.rejectsCertificate:
            "the peer refused the connection (alert \(alert.name))"
        case .alertReceived(let alert): "the peer ended TLS with \(alert.name)"
        case .peerRejectedOurCertificate(let alert):
            "the peer rejected our certificate with \(alert.name)"
        case .certificateRefused(let refusal): "the peer's certificate was refused (\(refusal))"
        case .unsupportedVersion: "no TLS version in common (\(reason))"
        case .insecureRenegotiation: "the peer has no secure renegotiation"
        case .renegotiation: "the peer wanted to negotiate TLS anew, and lupin refuses that"
        case .noSharedProtocol: "no ALPN protocol in common"
        case .notTLS: "the peer doesn't speak TLS (\(reason))"
        case .protocolError: "the peer broke the rules of TLS (\(reason))"
        case .oversized:
            "the peer sent a longer message than lupin takes; its certificates may have 100 KiB"
        case .truncated: "the connection ended without close_notify"
        case .badIdentity: "certificate or key unusable (\(reason))"
        case .badSetting: "TLS setting unusable (\(reason))"
        case .internal: "TLS failed (\(reason))"
        }
    }
}

/// OpenSSL's error queue of this thread.
enum ErrorQueue {
    /// Clears the queue; an entry of an earlier call would count as the next one's error.
    static func clear() {
        // Peeking first takes a tenth of the time, and the queue is usually empty.
        if ERR_peek_error() != 0 { ERR_clear_error() }
    }

    /// Clears the queue and returns it as a failure of this kind.
    static func failure(_ kind: TLSFailure.Kind) -> TLSFailure {
        TLSFailure(kind, reason: take().text)
    }

    /// Clears the queue and returns it as a failure of a connection.
    ///
    /// - Parameters:
    ///   - hasEnded: Whether the connection's input has ended.
    ///   - looksLikeTLS: Whether the peer's first byte opens a TLS record.
    /// - Returns: A failure for the most specific error.
    static func connectionFailure(hasEnded: Bool, looksLikeTLS: Bool) -> TLSFailure {
        let (reason, text) = take()
        return TLSFailure(
            kind(reason: reason, hasEnded: hasEnded, looksLikeTLS: looksLikeTLS),
            reason: text
        )
    }

    private static func kind(
        reason: Int32,
        hasEnded: Bool,
        looksLikeTLS: Bool
    ) -> TLSFailure.Kind {
        // OpenSSL numbers the alerts it received from SSL_AD_REASON_OFFSET on.
        if let number = UInt8(exactly: reason &- SSL_AD_REASON_OFFSET) {
            return kind(alert: TLSAlert(rawValue: number))
        }
        switch reason {
        case SSL_R_UNEXPECTED_EOF_WHILE_READING: return .truncated
        case SSL_R_UNSUPPORTED_PROTOCOL, SSL_R_VERSION_TOO_LOW, SSL_R_VERSION_TOO_HIGH,
            SSL_R_NO_PROTOCOLS_AVAILABLE, SSL_R_UNKNOWN_PROTOCOL:
            return .unsupportedVersion
        case SSL_R_UNSAFE_LEGACY_RENEGOTIATION_DISABLED: return .insecureRenegotiation
        case SSL_R_HTTP_REQUEST, SSL_R_HTTPS_PROXY_REQUEST: return .notTLS
        case SSL_R_WRONG_VERSION_NUMBER: return looksLikeTLS ? .unsupportedVersion : .notTLS
        case SSL_R_EXCESSIVE_MESSAGE_SIZE: return .oversized
        case SSL_R_NO_APPLICATION_PROTOCOL: return .noSharedProtocol
        case 0: return hasEnded ? .truncated : .internal
        case Int32(ERR_R_MALLOC_FAILURE), Int32(ERR_R_INTERNAL_ERROR): return .internal
        default: return looksLikeTLS ? .protocolError : .notTLS
        }
    }

    private static func kind(alert: TLSAlert) -> TLSFailure.Kind {
        switch alert {
        case .protocolVersion: .unsupportedVersion
        case .noApplicationProtocol: .noSharedProtocol
        case _ where alert.rejectsCertificate: .peerRejectedOurCertificate(alert)
        default: .alertReceived(alert)
        }
    }

    /// The last error of the TLS layer, or of any layer if it has none; 0 for an empty queue.
    ///
    /// Lower layers report first, so the last TLS error is the meaningful one.
    private static func take() -> (reason: Int32, text: String) {
        var found: UInt = 0
        var isTLS = false
        while true {
            let code = ERR_get_error()
            if code == 0 { break }
            let comesFromTLS = ERR_GET_LIB(code) == ERR_LIB_SSL
            if comesFromTLS || !isTLS { found = code }
            isTLS = isTLS || comesFromTLS
        }
        guard found != 0 else { return (0, "no reason given") }
        // Safety: the text is a constant of the library, or null.
        let text = unsafe ERR_reason_error_string(found).map { unsafe String(cString: $0) }
        return (isTLS ? ERR_GET_REASON(found) : -1, text ?? "reason \(ERR_GET_REASON(found))")
    }
}
