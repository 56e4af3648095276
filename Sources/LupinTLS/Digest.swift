// Digests that lupin computes, with OpenSSL.
import COpenSSL
import LupinCore

/// HMAC-SHA256 under a key that lives as long as the process.
///
/// Equal inputs have equal digests, and neither another run nor a reader of the log can guess the
/// input.
package struct KeyedDigest: Sendable {
    /// What follows from the key, worked out once; nil if OpenSSL fails.
    private let states: KeyedStates?

    /// A digest under a new random key.
    package init() { self.init(key: RandomSource.bytes(count: 32)) }

    /// A digest under a given key.
    package init(key: [UInt8]) { states = KeyedStates(key) }

    /// The first 16 bits of the digest of `bytes`.
    package func sha256Prefix16(_ bytes: Span<UInt8>) -> UInt16 {
        let digest = sha256(bytes)
        guard digest.count >= 2 else { return 0 }
        return UInt16(digest[0]) << 8 | UInt16(digest[1])
    }

    /// The first 64 bits of the digest of a text.
    package func number(of text: String) -> UInt64 {
        sha256(text.utf8Span.span).prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
    }

    /// The whole digest: 32 bytes; empty if OpenSSL fails.
    package func sha256(_ bytes: Span<UInt8>) -> [UInt8] {
        guard let code = code(of: bytes) else { return [] }
        return [UInt8](copying: code.span)
    }

    /// The whole digest without an array; nil if OpenSSL fails.
    ///
    /// That of `first`, with `byte` and `second` behind it where there is a byte.
    package func code(
        of first: Span<UInt8>,
        _ byte: UInt8? = nil,
        _ second: Span<UInt8> = Span()
    ) -> [32 of UInt8]? {
        states?.digest(of: first, byte, second)
    }
}

/// SHA-256 as it stands when it has read the two forms of a key (RFC 2104 §4); never changed.
///
/// Each digest begins with copies, so that the key is not read again.
private final class KeyedStates: Sendable {
    private let inner: LibraryReference
    private let outer: LibraryReference

    private static let blockBytes = 64

    /// nil if OpenSSL fails.
    init?(_ key: [UInt8]) {
        let short = key.count > Self.blockBytes ? MessageDigest.sha256(key.span) : key
        // A long key without a digest must not become an empty one.
        guard short.isEmpty == key.isEmpty else { return nil }
        let block = short + [UInt8](repeating: 0, count: Self.blockBytes - short.count)
        guard let inner = Self.state(behind: block.map { $0 ^ 0x36 }) else { return nil }
        guard let outer = Self.state(behind: block.map { $0 ^ 0x5C }) else {
            // Safety: made above, and known to nothing else.
            unsafe EVP_MD_CTX_free(inner.pointer)
            return nil
        }
        self.inner = inner
        self.outer = outer
    }

    deinit {
        // Safety: the contexts are ours alone.
        unsafe EVP_MD_CTX_free(inner.pointer)
        unsafe EVP_MD_CTX_free(outer.pointer)
    }

    private static func state(behind block: [UInt8]) -> LibraryReference? {
        // Safety: the call has no conditions.
        guard let context = unsafe EVP_MD_CTX_new() else { return nil }
        // Safety: the context is alive; OpenSSL reads the block and keeps nothing of it.
        let isDone =
            unsafe EVP_DigestInit_ex(context, EVP_sha256(), nil) == 1
            && EVP_DigestUpdate(context, block, block.count) == 1
        guard isDone else {
            unsafe EVP_MD_CTX_free(context)
            return nil
        }
        return unsafe LibraryReference(context)
    }

    func digest(
        of first: Span<UInt8>,
        _ byte: UInt8?,
        _ second: Span<UInt8>
    ) -> [32 of UInt8]? {
        // Safety: made here, freed at the end, and never given away.
        guard let context = unsafe EVP_MD_CTX_new() else { return nil }
        defer { unsafe EVP_MD_CTX_free(context) }
        // Safety: several threads may copy from a context that none changes.
        var isDone = unsafe EVP_MD_CTX_copy_ex(context, inner.pointer) == 1
        isDone = unsafe isDone && Self.read(first, into: context)
        if let byte {
            // Safety: OpenSSL reads one byte.
            let isRead = unsafe withUnsafePointer(to: byte) { byte in
                unsafe EVP_DigestUpdate(context, byte, 1) == 1
            }
            isDone = unsafe isDone && isRead && Self.read(second, into: context)
        }
        var digest = [32 of UInt8](repeating: 0)
        var room = digest.mutableSpan
        // Safety: the digest has room for the 32 bytes that are written.
        isDone = unsafe room.withUnsafeMutableBufferPointer { room in
            unsafe isDone
                && EVP_DigestFinal_ex(context, room.baseAddress, nil) == 1
                && EVP_MD_CTX_copy_ex(context, outer.pointer) == 1
                && EVP_DigestUpdate(context, room.baseAddress, room.count) == 1
                && EVP_DigestFinal_ex(context, room.baseAddress, nil) == 1
        }
        return isDone ? digest : nil
    }

    @unsafe
    private static func read(_ bytes: Span<UInt8>, into context: OpaquePointer) -> Bool {
        // Safety: the span outlives the call, and OpenSSL keeps nothing of it.
        unsafe bytes.withUnsafeBufferPointer { bytes in
            unsafe EVP_DigestUpdate(context, bytes.baseAddress, bytes.count) == 1
        }
    }
}

/// Digests without a key.
package enum MessageDigest {
    /// SHA-1, which WebSocket requires (RFC 6455 §4.2.2); it protects nothing.
    package static func sha1(_ bytes: Span<UInt8>) -> [UInt8] {
        // Safety: EVP_sha1 is a constant of the library.
        unsafe digest(bytes, EVP_sha1())
    }

    /// SHA-256.
    package static func sha256(_ bytes: Span<UInt8>) -> [UInt8] {
        // Safety: EVP_sha256 is a constant of the library.
        unsafe digest(bytes, EVP_sha256())
    }

    /// SHA-512/256 (FIPS 180-4), for Digest authentication.
    package static func sha512By256(_ bytes: Span<UInt8>) -> [UInt8] {
        // Safety: EVP_sha512_256 is a constant of the library.
        unsafe digest(bytes, EVP_sha512_256())
    }

    /// MD5, which old Digest authentication requires (RFC 7616 §3.3).
    ///
    /// Empty on machines whose policy forbids it.
    package static func md5(_ bytes: Span<UInt8>) -> [UInt8] {
        // Safety: EVP_md5 is a constant of the library.
        unsafe digest(bytes, EVP_md5())
    }

    /// The digest; empty if OpenSSL fails.
    private static func digest(_ bytes: Span<UInt8>, _ function: OpaquePointer?) -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
        var length: UInt32 = 0
        // Safety: EVP_Digest reads the span and writes at most EVP_MAX_MD_SIZE bytes.
        let result = unsafe bytes.withUnsafeBufferPointer { input in
            unsafe EVP_Digest(input.baseAddress, input.count, &digest, &length, function, nil)
        }
        return result == 1 ? Array(digest.prefix(Int(length))) : []
    }
}
