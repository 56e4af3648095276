// The state that a client keeps of a connection to resume it later.
import COpenSSL
package import LupinCore

/// A resumable TLS connection to a server, for any thread.
///
/// It is valid only for the same connection properties: its store must separate tickets by
/// everything that decided about the connection (host, trust, client certificate).
@safe
package final class TLSTicket: Sendable {
    private let saved: LibraryReference
    package let version: TLSVersion
    /// When the server will discard it, in seconds since 1970.
    package let validUntil: Int64

    /// Takes ownership of a reference to an `SSL_SESSION`.
    init(owning saved: OpaquePointer) {
        // Safety: the caller's reference is now this object's, released in deinit.
        unsafe self.saved = LibraryReference(saved)
        let number = unsafe SSL_SESSION_get_protocol_version(saved)
        version = number >= TLS1_3_VERSION ? .tls13 : .tls12
        let lifetime = unsafe Int64(clamping: SSL_SESSION_get_ticket_lifetime_hint(saved))
        let timeout = unsafe Int64(SSL_SESSION_get_timeout(saved))
        let start = unsafe Int64(SSL_SESSION_get_time(saved))
        // TLS 1.2 servers may leave the lifetime unspecified with 0 (RFC 5077 §3.3).
        validUntil = start &+ (lifetime > 0 ? min(lifetime, timeout) : timeout)
    }

    deinit {
        // Safety: the reference taken over in init.
        unsafe SSL_SESSION_free(saved.pointer)
    }

    /// Whether it is for one connection only, so that an observer can't link two connections (RFC
    /// 8446 §C.4).
    package var isForOneUse: Bool { version == .tls13 }

    /// Whether a connection may still use it; false after a fatal alert on one of its connections.
    package var isUsable: Bool {
        // Safety: the object is held by `self`.
        unsafe SSL_SESSION_is_resumable(saved.pointer) == 1
    }

    /// Lets a connection that has not begun attempt resumption.
    func use(onConnection ssl: OpaquePointer) {
        // Safety: OpenSSL takes a reference of its own. If it rejects the ticket, the handshake is
        // a full one.
        if unsafe SSL_set_session(ssl, saved.pointer) != 1 { ErrorQueue.clear() }
    }
}
