// Settings shared by many TLS connections: versions, ciphers, groups, and ticket handling.
import COpenSSL
import LupinCore

/// TLS settings prepared for OpenSSL, one for all workers: OpenSSL locks internally.
@safe
package final class TLSContext: Sendable {
    private let context: LibraryReference
    let isClient: Bool
    /// The keys of clients' tickets; nil on the client side.
    let ticketKeys: TicketKeys?

    /// The default cipher list of TLS 1.2: forward secrecy and AEAD only.
    private static let defaultCiphers = "ECDHE+AESGCM:ECDHE+CHACHA20"
    /// What comes behind for servers that know nothing better, as in OpenSSL's own list: CBC, DHE,
    /// and RSA key exchange.
    private static let lastCiphers = "ECDHE+AES:DHE+AESGCM:DHE+AES:RSA+AESGCM:RSA+AES:!AESCCM"
    /// P-521 is for servers of TLS 1.2 with a key on it, who need it here (RFC 8422 §5.1), those
    /// behind it for servers of TLS 1.3 without curves: the first flight has a key for the first.
    static let groups = "X25519:P-256:P-384:P-521:ffdhe2048:ffdhe3072"
    /// The same behind a hybrid that holds against quantum computers, for OpenSSL 3.5 and later,
    /// with a key for each of the first two, so that servers without it need no second hello.
    private static let hybridGroups =
        "?*\(hybridGroup)/?*X25519:?P-256:?P-384:?P-521:?ffdhe2048:?ffdhe3072"
    static let hybridGroup = "X25519MLKEM768"
    /// 112 bits: RSA and DH from 2048 bits on, no SHA-1 (OpenSSL's level 2).
    private static let securityLevel: Int32 = 2

    private init(isClient: Bool, ticketKeys: TicketKeys?) throws(TLSFailure) {
        ErrorQueue.clear()
        // Safety: this object owns what SSL_CTX_new made, until deinit.
        let method = unsafe isClient ? TLS_client_method() : TLS_server_method()
        guard let made = unsafe SSL_CTX_new(method) else {
            throw ErrorQueue.failure(.internal)
        }
        context = unsafe LibraryReference(made)
        self.isClient = isClient
        self.ticketKeys = ticketKeys
    }

    deinit {
        // Safety: connections hold references of their own.
        unsafe SSL_CTX_free(context.pointer)
    }

    /// Makes a context for connections to servers.
    ///
    /// - Throws: `badSetting`, `badIdentity` or `internal`.
    package static func client(
        _ configuration: ClientTLSConfiguration
    ) throws(TLSFailure) -> TLSContext {
        let context = try TLSContext(isClient: true, ticketKeys: nil)
        try context.set(configuration.minimum, configuration.maximum)
        try context.set(ciphers: configuration.ciphers ?? "")
        let pointer = unsafe context.pointer
        // Safety: the callbacks find the connection by themselves; the context outlives them.
        unsafe openssl_ctx_set_cache_mode(
            pointer,
            Int(SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL)
        )
        unsafe TLSCallbacks.install(onClient: pointer)
        if !configuration.protocols.isEmpty {
            let list = try ProtocolList.wire(configuration.protocols)
            // Unlike the others, this function returns 0 for success.
            guard unsafe SSL_CTX_set_alpn_protos(pointer, list, UInt32(list.count)) == 0 else {
                throw ErrorQueue.failure(.badSetting)
            }
        }
        if let identity = configuration.identity {
            try unsafe identity.use(onContext: pointer)
            // A server may ask for the certificate once it knows the request (RFC 8446 §4.2.6).
            unsafe SSL_CTX_set_post_handshake_auth(pointer, 1)
        }
        return context
    }

    /// Makes a context for connections from clients; each connection has its own identity.
    ///
    /// - Throws: `badSetting` or `internal`.
    package static func server(
        _ configuration: ServerTLSConfiguration
    ) throws(TLSFailure) -> TLSContext {
        let context = try TLSContext(isClient: false, ticketKeys: configuration.ticketKeys)
        try context.set(configuration.minimum, configuration.maximum)
        try context.set(ciphers: configuration.ciphers ?? "")
        let pointer = unsafe context.pointer
        // Safety: the callbacks find the connection by themselves; the context outlives them. The
        // clients keep the session state; nothing is kept here.
        unsafe openssl_ctx_set_cache_mode(pointer, Int(SSL_SESS_CACHE_OFF))
        let seconds = configuration.ticketKeys.lifetime.components.seconds
        unsafe SSL_CTX_set_timeout(pointer, Int(clamping: seconds))
        unsafe SSL_CTX_set_num_tickets(pointer, 1)
        unsafe TLSCallbacks.install(onServer: pointer)
        unsafe SSL_CTX_set_max_early_data(pointer, 0)
        return context
    }

    /// The `SSL_CTX`, while this object is held.
    var pointer: OpaquePointer {
        // Safety: the reference is held until deinit.
        unsafe context.pointer
    }

    private func set(_ minimum: TLSVersion, _ maximum: TLSVersion) throws(TLSFailure) {
        // Safety: the context is not in use yet, so no other thread reads what is set here.
        unsafe SSL_CTX_set_security_level(pointer, Self.securityLevel)
        let options =
            openssl_op_no_compression | openssl_op_no_renegotiation
            | openssl_op_server_preference | openssl_op_prioritize_chacha
        unsafe SSL_CTX_set_options(pointer, options)
        let modes =
            SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER
            | SSL_MODE_RELEASE_BUFFERS
        unsafe openssl_ctx_set_mode(pointer, Int(modes))
        unsafe TLSCallbacks.install(on: pointer)
        guard minimum <= maximum else {
            throw TLSFailure(.badSetting, reason: "the lowest version is above the highest")
        }
        guard unsafe openssl_ctx_set_min_version(pointer, minimum.libraryNumber) == 1,
            unsafe openssl_ctx_set_max_version(pointer, maximum.libraryNumber) == 1
        else { throw ErrorQueue.failure(.internal) }
        // An older OpenSSL can't read the list, and says so.
        if unsafe openssl_ctx_set_groups(pointer, Self.hybridGroups) == 1 { return }
        ErrorQueue.clear()
        guard unsafe openssl_ctx_set_groups(pointer, Self.groups) == 1 else {
            throw ErrorQueue.failure(.internal)
        }
    }

    /// What no list may turn on: ciphers without a certificate, and without encryption.
    private static let without: [Substring] = ["!aNULL", "!eNULL", "!PSK", "!SRP"]

    /// Sets the TLS 1.2 and TLS 1.3 ciphers of a list; a version that it omits keeps the default.
    private func set(ciphers: String) throws(TLSFailure) {
        var suites: [Substring] = []
        var older: [Substring] = []
        for name in ciphers.split(whereSeparator: { ":, ".contains($0) }) {
            if name.hasPrefix("TLS_") { suites.append(name) } else { older.append(name) }
        }
        let defaults =
            isClient ? "\(Self.defaultCiphers):\(Self.lastCiphers)" : Self.defaultCiphers
        let list = older.isEmpty ? defaults : (older + Self.without).joined(separator: ":")
        // Safety: OpenSSL reads the text during the call.
        guard unsafe SSL_CTX_set_cipher_list(pointer, list) == 1 else {
            throw ErrorQueue.failure(.badSetting)
        }
        guard !suites.isEmpty else { return }
        guard unsafe SSL_CTX_set_ciphersuites(pointer, suites.joined(separator: ":")) == 1 else {
            throw ErrorQueue.failure(.badSetting)
        }
    }
}

extension TLSVersion {
    fileprivate var libraryNumber: Int32 {
        switch self {
        case .tls12: TLS1_2_VERSION
        case .tls13: TLS1_3_VERSION
        }
    }
}

/// ALPN protocol names in wire format.
enum ProtocolList {
    /// Each name preceded by its length (RFC 7301 §3.1).
    ///
    /// - Throws: `badSetting` for a name that is empty or longer than 255 bytes.
    static func wire(_ names: [String]) throws(TLSFailure) -> [UInt8] {
        var list: [UInt8] = []
        for name in names {
            guard let count = UInt8(exactly: name.utf8.count), count > 0 else {
                throw TLSFailure(.badSetting, reason: "a protocol name has 1 to 255 bytes")
            }
            list.append(count)
            list += name.utf8
        }
        return list
    }
}
