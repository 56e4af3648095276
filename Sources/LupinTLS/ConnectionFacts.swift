// Properties of a TLS connection, known once its handshake is complete.
import COpenSSL

extension TLSSession {
    /// The cipher's name in OpenSSL's spelling, or nil before the handshake.
    package var cipherName: String? {
        // Safety: the name is a constant of the library.
        guard let cipher = unsafe SSL_get_current_cipher(ssl) else { return nil }
        return unsafe SSL_CIPHER_get_name(cipher).map { unsafe String(cString: $0) }
    }

    /// The protocol that ALPN chose, or nil.
    package var chosenProtocol: String? {
        var name: UnsafePointer<UInt8>?
        var count: UInt32 = 0
        // Safety: the name lies in the SSL and is copied.
        unsafe SSL_get0_alpn_selected(ssl, &name, &count)
        guard let name = unsafe name, count > 0 else { return nil }
        return unsafe String(
            decoding: UnsafeBufferPointer(start: name, count: Int(count)),
            as: UTF8.self
        )
    }

    /// Whether the connection resumed an earlier one; its certificates were checked then.
    package var isResumed: Bool {
        // Safety: the SSL is ours.
        unsafe SSL_session_reused(ssl) == 1
    }

    /// The SNI name that the client requested, on either side; nil for none.
    package var requestedServerName: String? {
        // Safety: the name lies in the SSL and is copied.
        guard let name = unsafe SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name) else {
            return nil
        }
        return unsafe String(cString: name)
    }

    /// The OCSP response that the server stapled, unverified.
    package var stapledResponse: [UInt8]? {
        guard context.isClient else { return nil }
        var bytes: UnsafePointer<UInt8>?
        // Safety: the response lies in the SSL and is copied.
        let count = unsafe openssl_stapled_response(ssl, &bytes)
        guard let bytes = unsafe bytes, count > 0 else { return nil }
        return unsafe Array(UnsafeBufferPointer(start: bytes, count: count))
    }

    /// The peer's certificates, on a resumed connection those of the first one; nil for none.
    ///
    /// A server that resumes has only the client's own certificate: tickets contain no chain.
    package var peerCertificates: PeerCertificates? {
        // Safety: the chain belongs to the SSL; its certificates get another reference.
        let chain = unsafe SSL_get_peer_cert_chain(ssl)
        // A server's chain lacks the client's own certificate, a client's begins with the server's.
        let leaf = unsafe context.isClient ? nil : SSL_get0_peer_certificate(ssl)
        return unsafe PeerCertificates(
            sharing: leaf,
            chain: chain,
            version: version,
            stapledResponse: stapledResponse
        )
    }
}
