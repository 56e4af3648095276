// A peer of OpenSSL alone, for what lupin itself never does: renegotiating and stapling.

import COpenSSL
import LupinTLS

/// One side of TLS 1.2 or 1.3 with memory BIOs and OpenSSL's defaults.
@safe
final class RawPeer {
    private let context: OpaquePointer
    private let ssl: OpaquePointer
    private let incoming: OpaquePointer
    private let outgoing: OpaquePointer

    /// A server with this certificate and key if there are some, else a client.
    init?(isTLS12: Bool, texts: (certificates: [UInt8], key: [UInt8])? = nil) {
        let version = isTLS12 ? TLS1_2_VERSION : TLS1_3_VERSION
        // Safety: what is made here is freed in deinit; a test that fails before leaks a little.
        let method = unsafe texts == nil ? TLS_client_method() : TLS_server_method()
        guard let context = unsafe SSL_CTX_new(method) else { return nil }
        unsafe openssl_ctx_set_max_version(context, version)
        if let texts {
            let certificate = unsafe RawPeer.read(texts.certificates) {
                unsafe PEM_read_bio_X509($0, nil, nil, nil)
            }
            let key = unsafe RawPeer.read(texts.key) {
                unsafe PEM_read_bio_PrivateKey($0, nil, nil, nil)
            }
            unsafe SSL_CTX_use_certificate(context, certificate)
            unsafe SSL_CTX_use_PrivateKey(context, key)
            unsafe X509_free(certificate)
            unsafe EVP_PKEY_free(key)
            unsafe openssl_ctx_set_status_callback(context) { ssl, _ in
                unsafe RawPeer.staple(ssl)
            }
        }
        guard let ssl = unsafe SSL_new(context), let incoming = unsafe BIO_new(BIO_s_mem()),
            let outgoing = unsafe BIO_new(BIO_s_mem())
        else { return nil }
        unsafe SSL_set_bio(ssl, incoming, outgoing)
        unsafe self.context = context
        unsafe self.ssl = ssl
        unsafe self.incoming = incoming
        unsafe self.outgoing = outgoing
        if texts == nil {
            unsafe SSL_set_connect_state(ssl)
        } else {
            unsafe SSL_set_accept_state(ssl)
        }
    }

    deinit {
        unsafe SSL_free(ssl)
        unsafe SSL_CTX_free(context)
    }

    /// What a raw server staples, and what a client must see.
    static let stapled: [UInt8] = [0x30, 0x03, 0x0A, 0x01, 0x03]

    /// Takes ciphertext, works, and gives what is to be sent.
    func turn(_ bytes: [UInt8]) -> [UInt8] {
        var room = [UInt8](repeating: 0, count: 4096)
        // Safety: BIO and SSL copy what they are lent.
        unsafe BIO_write(incoming, bytes, Int32(bytes.count))
        let count = unsafe SSL_read(ssl, &room, Int32(room.count))
        if count > 0 { plain += room.prefix(Int(count)) }
        return drain()
    }

    private(set) var plain: [UInt8] = []

    func send(_ bytes: [UInt8]) -> [UInt8] {
        unsafe SSL_write(ssl, bytes, Int32(bytes.count))
        return drain()
    }

    /// Asks for a new handshake on the connection.
    func renegotiate() -> [UInt8] {
        unsafe SSL_renegotiate(ssl)
        unsafe SSL_do_handshake(ssl)
        return drain()
    }

    private func drain() -> [UInt8] {
        var output: [UInt8] = []
        var room = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = unsafe BIO_read(outgoing, &room, Int32(room.count))
            if count <= 0 { return output }
            output += room.prefix(Int(count))
        }
    }

    private static func read(
        _ text: [UInt8],
        _ body: (OpaquePointer) -> OpaquePointer?
    ) -> OpaquePointer? {
        unsafe text.withUnsafeBytes { bytes in
            guard let bio = unsafe BIO_new_mem_buf(bytes.baseAddress, Int32(bytes.count)) else {
                return nil
            }
            defer { unsafe BIO_free(bio) }
            return unsafe body(bio)
        }
    }

    private static func staple(_ ssl: OpaquePointer?) -> Int32 {
        // Safety: OpenSSL takes the copy over.
        guard let copy = unsafe CRYPTO_malloc(stapled.count, nil, 0) else { return 2 }
        unsafe copy.copyMemory(from: stapled, byteCount: stapled.count)
        let kind = SSL_CTRL_SET_TLSEXT_STATUS_REQ_OCSP_RESP
        unsafe SSL_ctrl(ssl, kind, stapled.count, copy)
        // SSL_TLSEXT_ERR_OK
        return 0
    }
}
