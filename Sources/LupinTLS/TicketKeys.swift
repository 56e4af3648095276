// The keys that seal the session tickets of our TLS servers, and their rotation.
import COpenSSL
import Synchronization

/// The ticket keys of the process: one that seals, and its predecessor, which still opens.
///
/// A leaked key makes its tickets readable, so a key is wiped when it is two lifetimes old.
package final class TicketKeys: Sendable {
    /// 12 hours.
    package static let defaultLifetime = Duration.seconds(12 * 3600)

    let lifetime: Duration
    private let age: @Sendable () -> Duration
    private let ring: Mutex<Ring>

    /// New random keys.
    ///
    /// - Parameters:
    ///   - lifetime: How long a key seals, and then how long it still opens.
    ///   - age: The time since any fixed moment.
    package init(
        lifetime: Duration = TicketKeys.defaultLifetime,
        age: @escaping @Sendable () -> Duration
    ) {
        self.lifetime = lifetime
        self.age = age
        ring = Mutex(Ring(current: TicketKey(), since: age()))
    }

    /// The key for a new ticket.
    func sealing() -> TicketKey {
        let age = age()
        return ring.withLock { ring in
            ring.turn(to: age, lifetime: lifetime)
            return ring.current
        }
    }

    /// The key of that name and whether it is the current one; nil if it has been wiped.
    func opening(name: Span<UInt8>) -> (key: TicketKey, isCurrent: Bool)? {
        let age = age()
        var key: TicketKey?
        var isCurrent = false
        ring.withLock { ring in
            ring.turn(to: age, lifetime: lifetime)
            isCurrent = ring.current.isNamed(name)
            if isCurrent {
                key = ring.current
            } else if let previous = ring.previous, previous.isNamed(name) {
                key = previous
            }
        }
        return key.map { ($0, isCurrent) }
    }

    private struct Ring {
        var current: TicketKey
        var previous: TicketKey?
        var since: Duration

        mutating func turn(to age: Duration, lifetime: Duration) {
            let elapsed = age - since
            guard elapsed >= lifetime else { return }
            previous?.wipe()
            if elapsed < lifetime * 2 {
                previous = current
                // Not `age`: a key's lifetime begins when it was due, not when the rotation ran.
                since += lifetime
            } else {
                // After two lifetimes without a ticket the current key is too old even to open one.
                current.wipe()
                previous = nil
                since = age
            }
            current = TicketKey()
        }
    }
}

/// One key: a name of 16 bytes, then 32 for AES-256-CBC, then 32 for HMAC-SHA256.
struct TicketKey {
    static let nameCount = 16
    static let initialValueCount = 16
    private static let halfCount = 32

    private var bytes: [UInt8]

    init() { bytes = RandomSource.bytes(count: Self.nameCount + 2 * Self.halfCount) }

    func isNamed(_ name: Span<UInt8>) -> Bool {
        guard name.count == Self.nameCount else { return false }
        for i in name.indices where bytes[i] != name[i] { return false }
        return true
    }

    /// Writes the name, with which a ticket begins.
    func write(nameTo target: UnsafeMutablePointer<UInt8>) {
        // Safety: OpenSSL lends room for 16 bytes.
        for i in 0..<Self.nameCount { unsafe target[i] = bytes[i] }
    }

    /// Prepares the cipher and the MAC for one ticket; returns false if OpenSSL fails.
    func prepare(
        cipher: OpaquePointer,
        mac: OpaquePointer,
        initialValue: UnsafePointer<UInt8>,
        seals: Bool
    ) -> Bool {
        var secret = bytes
        // Safety: the key's two halves follow its name, and OpenSSL copies them before the array is
        // freed. The names that the parameters point to are constants.
        return unsafe secret.withUnsafeMutableBufferPointer { secret in
            guard let base = secret.baseAddress else { return false }
            let cipherKey = unsafe base + Self.nameCount
            let macKey = unsafe cipherKey + Self.halfCount
            let parameters = unsafe [
                OSSL_PARAM_construct_octet_string(openssl_mac_key(), macKey, Self.halfCount),
                OSSL_PARAM_construct_utf8_string(openssl_mac_digest(), openssl_sha256(), 0),
                OSSL_PARAM_construct_end(),
            ]
            guard unsafe EVP_MAC_CTX_set_params(mac, parameters) == 1 else { return false }
            return unsafe EVP_CipherInit_ex(
                cipher,
                EVP_aes_256_cbc(),
                nil,
                cipherKey,
                initialValue,
                seals ? 1 : 0
            ) == 1
        }
    }

    /// Overwrites the key; copies that a handshake holds at this moment are freed with it.
    mutating func wipe() {
        // Safety: the buffer is the array's own.
        unsafe bytes.withUnsafeMutableBytes { unsafe OPENSSL_cleanse($0.baseAddress, $0.count) }
    }
}
