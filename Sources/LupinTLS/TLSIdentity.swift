// The identity of one side of TLS: its certificate, chain, and key.
import COpenSSL

/// A certificate with its chain and private key, which match.
@safe
package final class TLSIdentity: Sendable {
    private let certificate: LibraryReference
    private let key: LibraryReference
    /// The certificates that follow the first, the nearest issuer first; nil for none.
    private let chain: LibraryReference?

    /// Shares existing OpenSSL objects, with references of its own.
    ///
    /// - Parameters:
    ///   - certificate: An `X509`.
    ///   - chain: The `X509`s that follow it, the nearest issuer first.
    ///   - key: The certificate's `EVP_PKEY`.
    /// - Throws: `badIdentity` if the key doesn't match the certificate.
    init(
        certificate: OpaquePointer,
        chain: [OpaquePointer],
        key: OpaquePointer
    ) throws(TLSFailure) {
        ErrorQueue.clear()
        // Safety: this object takes a reference to every object, and releases it in deinit.
        guard unsafe X509_check_private_key(certificate, key) == 1 else {
            throw ErrorQueue.failure(.badIdentity)
        }
        var stack: OpaquePointer?
        if unsafe !chain.isEmpty {
            unsafe stack = openssl_chain_new()
            guard let stack = unsafe stack else { throw ErrorQueue.failure(.internal) }
            unsafe chain.forEach { link in
                if unsafe openssl_chain_push(stack, link) > 0 { unsafe X509_up_ref(link) }
            }
        }
        unsafe X509_up_ref(certificate)
        unsafe EVP_PKEY_up_ref(key)
        self.certificate = unsafe LibraryReference(certificate)
        self.key = unsafe LibraryReference(key)
        self.chain = unsafe stack.map { unsafe LibraryReference($0) }
    }

    /// Parses PEM texts: the certificate followed by its chain, and the key without passphrase.
    ///
    /// - Throws: `badIdentity`.
    package convenience init(certificates: [UInt8], key: [UInt8]) throws(TLSFailure) {
        ErrorQueue.clear()
        // Safety: everything the readers return is freed here; `init` has referenced what it keeps.
        let parsed = unsafe TLSIdentity.certificates(in: certificates)
        defer { unsafe parsed.forEach { unsafe X509_free($0) } }
        guard let leaf = unsafe parsed.first else {
            ErrorQueue.clear()
            throw TLSFailure(.badIdentity, reason: "no certificate in PEM")
        }
        ErrorQueue.clear()
        let privateKey = unsafe MemoryText.read(key.span) { text in
            // Without a callback OpenSSL would ask the terminal for a passphrase.
            unsafe PEM_read_bio_PrivateKey(text, nil, { _, _, _, _ in -1 }, nil)
        }
        guard let privateKey = unsafe privateKey else {
            ErrorQueue.clear()
            throw TLSFailure(.badIdentity, reason: "no readable private key in PEM")
        }
        defer { unsafe EVP_PKEY_free(privateKey) }
        try unsafe self.init(
            certificate: leaf,
            chain: Array(parsed.dropFirst()),
            key: privateKey
        )
    }

    /// The first certificate.
    package var leaf: Certificate {
        // Safety: the certificate takes a reference of its own.
        unsafe Certificate(sharing: certificate.pointer)
    }

    deinit {
        // Safety: these are the references taken in init.
        unsafe X509_free(certificate.pointer)
        unsafe EVP_PKEY_free(key.pointer)
        if let chain { unsafe openssl_chain_free(chain.pointer) }
    }

    /// Presents the identity on all connections of a context.
    func use(onContext context: OpaquePointer) throws(TLSFailure) {
        // Safety: OpenSSL takes references of its own.
        let result = unsafe SSL_CTX_use_cert_and_key(
            context,
            certificate.pointer,
            key.pointer,
            chain?.pointer,
            1
        )
        guard result == 1 else { throw ErrorQueue.failure(.badIdentity) }
    }

    /// Presents the identity on one connection.
    func use(onConnection ssl: OpaquePointer) throws(TLSFailure) {
        // Safety: OpenSSL takes references of its own.
        let result = unsafe SSL_use_cert_and_key(
            ssl,
            certificate.pointer,
            key.pointer,
            chain?.pointer,
            1
        )
        guard result == 1 else { throw ErrorQueue.failure(.badIdentity) }
    }

    /// The certificates of a PEM text, each with a reference for the caller.
    private static func certificates(in text: [UInt8]) -> [OpaquePointer] {
        // Safety: the reader's results are returned with their references.
        unsafe MemoryText.read(text.span) { bio in
            var certificates: [OpaquePointer] = unsafe []
            while let next = unsafe PEM_read_bio_X509_AUX(bio, nil, { _, _, _, _ in -1 }, nil) {
                unsafe certificates.append(next)
            }
            return unsafe certificates
        } ?? []
    }
}
