// Verifies passwords against their hashes, with libcrypt. It is slow.
import CLinux

/// Password hashes as crypt(5) writes them: bcrypt, SHA-crypt, yescrypt.
///
/// They are slow by design, 50 ms and more: never call this on a loop.
package enum PasswordHash {
    /// Whether `hash` is the hash of `password`; false for a format that libcrypt does not know.
    package static func verify(_ password: [UInt8], against hash: String) -> Bool {
        guard let made = make(of: password, setting: hash) else { return false }
        return isEqual(made, hash)
    }

    /// The hash of `password` with the scheme, cost and salt of `setting`, which may be a whole
    /// hash.
    ///
    /// Returns nil when libcrypt does not know the scheme, or the password is invalid: it contains
    /// NUL or is longer than 511 bytes.
    package static func make(of password: [UInt8], setting: String) -> String? {
        guard !password.contains(0) else { return nil }
        let phrase = password.map { CChar(bitPattern: $0) } + [0]
        var memory = [UInt8](repeating: 0, count: Int(LINUX_CRYPT_BYTES))
        return unsafe memory.withUnsafeMutableBytes { buffer in
            // Safety: both strings are NUL-terminated for the call; the result lies in `buffer`,
            // which is as large as libcrypt wants it, and is copied at once.
            unsafe linux_crypt(phrase, setting, buffer.baseAddress, LINUX_CRYPT_BYTES)
                .map { unsafe String(cString: $0) }
        }
    }

    /// Compares in a time that depends on the lengths only.
    private static func isEqual(_ a: String, _ b: String) -> Bool {
        let (a, b) = (Array(a.utf8), Array(b.utf8))
        guard a.count == b.count else { return false }
        var difference: UInt8 = 0
        for i in a.indices { difference |= a[i] ^ b[i] }
        return difference == 0
    }
}
