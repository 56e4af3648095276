// The certificates that a peer presented, unverified.
import COpenSSL
package import LupinCore

/// A peer's certificates: its own first, then the others in the order sent.
@safe
package final class PeerCertificates: Sendable {
    private let stack: LibraryReference
    /// The OCSP response that came with them, unverified.
    package let stapledResponse: [UInt8]?
    /// The version of the connection; nil without one.
    package let version: TLSVersion?
    /// Whether a stapled response may still come: in TLS 1.2 it follows the certificates.
    package let mayBeStapledLater: Bool

    /// Takes ownership of a non-empty stack of certificates, with one reference to each.
    init(
        owning stack: OpaquePointer,
        version: TLSVersion? = nil,
        stapledResponse: [UInt8]? = nil,
        mayBeStapledLater: Bool = false
    ) {
        // Safety: the caller's reference is now this object's, which lives as long as the stack.
        unsafe self.stack = LibraryReference(stack)
        self.version = version
        self.stapledResponse = stapledResponse
        self.mayBeStapledLater = mayBeStapledLater
    }

    /// Shares the certificates of an existing chain; nil when there is none.
    ///
    /// - Parameters:
    ///   - leaf: The peer's own certificate, if `chain` lacks it, as it does on a server.
    ///   - chain: A `STACK_OF(X509)`.
    ///   - version: The version of the connection.
    ///   - stapledResponse: The OCSP response that came with them.
    ///   - mayBeStapledLater: Whether an OCSP response may still come.
    convenience init?(
        sharing leaf: OpaquePointer?,
        chain: OpaquePointer?,
        version: TLSVersion,
        stapledResponse: [UInt8]? = nil,
        mayBeStapledLater: Bool = false
    ) {
        // Safety: each certificate gets another reference before it is pushed, and an unfinished
        // stack is freed with its references.
        guard let stack = unsafe openssl_chain_new() else { return nil }
        if let leaf = unsafe leaf { unsafe PeerCertificates.push(leaf, to: stack) }
        if let chain = unsafe chain {
            for i in 0..<max(0, unsafe openssl_chain_count(chain)) {
                guard let certificate = unsafe openssl_chain_get(chain, i) else { continue }
                unsafe PeerCertificates.push(certificate, to: stack)
            }
        }
        guard unsafe openssl_chain_count(stack) > 0 else {
            unsafe openssl_chain_free(stack)
            return nil
        }
        unsafe self.init(
            owning: stack,
            version: version,
            stapledResponse: stapledResponse,
            mayBeStapledLater: mayBeStapledLater
        )
    }

    /// Parses certificates in DER, the peer's own first; returns nil if one is malformed.
    package convenience init?(encodings: [[UInt8]], stapledResponse: [UInt8]? = nil) {
        // Safety: d2i_X509 reads only the bytes lent to it, and what it makes goes to the stack.
        guard !encodings.isEmpty, let stack = unsafe openssl_chain_new() else { return nil }
        for encoding in encodings {
            guard let certificate = unsafe Certificate.decode(encoding) else {
                unsafe openssl_chain_free(stack)
                ErrorQueue.clear()
                return nil
            }
            unsafe PeerCertificates.push(certificate, to: stack)
            unsafe X509_free(certificate)
        }
        unsafe self.init(owning: stack, stapledResponse: stapledResponse)
    }

    deinit {
        // Safety: no other object holds the stack.
        unsafe openssl_chain_free(stack.pointer)
    }

    /// How many there are: at least one.
    package var count: Int { Int(unsafe openssl_chain_count(stack.pointer)) }

    /// All of them in DER.
    package var encodings: [[UInt8]] {
        (0..<count).map { i in
            // Safety: `i` is within the stack.
            let certificate = unsafe openssl_chain_get(stack.pointer, Int32(truncatingIfNeeded: i))
            return unsafe Certificate.encode(certificate)
        }
    }

    /// Lends the `STACK_OF(X509)` to calls of OpenSSL that neither change nor keep it.
    func withStack<Result>(_ body: (OpaquePointer) -> Result) -> Result {
        // Safety: `self` holds the stack until `body` has returned.
        let result = unsafe body(stack.pointer)
        withExtendedLifetime(self) {}
        return result
    }

    private static func push(_ certificate: OpaquePointer, to stack: OpaquePointer) {
        // Safety: the new reference belongs to the stack, or is dropped if that can't grow.
        unsafe X509_up_ref(certificate)
        if unsafe openssl_chain_push(stack, certificate) == 0 { unsafe X509_free(certificate) }
    }
}
