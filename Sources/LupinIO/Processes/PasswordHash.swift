// Verifies passwords against their hashes, with libcrypt. It is slow.
import CLinux
import Glibc

/// Password hashes as crypt(5) writes them: bcrypt, SHA-crypt, yescrypt.
///
/// They are slow by design, 50 ms and more: never call this on a loop.
package enum PasswordHash {
    /// crypt_rn(3) of libxcrypt: phrase, setting, memory for the result, its bytes.
    package typealias Function =
        @convention(c) @Sendable (
            UnsafePointer<CChar>, UnsafePointer<CChar>, UnsafeMutableRawPointer?, Int32
        ) -> UnsafePointer<CChar>?

    /// What Debian and openSUSE call libcrypt, and what Fedora and Arch call it.
    private static let libraryNames = ["libcrypt.so.1", "libcrypt.so.2"]
    /// Opened at the first need, since most never need it and its name differs.
    private static let function = unsafe function(of: libraryNames)
    /// sizeof(struct crypt_data), which libcrypt promises to keep.
    private static let memoryBytes: Int32 = 32768

    /// Whether this machine has libcrypt; without it every password is wrong.
    package static var isAvailable: Bool { unsafe function != nil }

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
        guard !password.contains(0), let function = unsafe function else { return nil }
        let phrase = password.map { CChar(bitPattern: $0) } + [0]
        var memory = [UInt8](repeating: 0, count: Int(memoryBytes))
        return unsafe memory.withUnsafeMutableBytes { buffer in
            // Safety: both strings are NUL-terminated for the call; the result lies in `buffer`,
            // which is as large as libcrypt wants it, and is copied at once.
            unsafe function(phrase, setting, buffer.baseAddress, memoryBytes)
                .map { unsafe String(cString: $0) }
        }
    }

    /// The function of the first of these libraries that this machine has.
    package static func function(of libraries: [String]) -> Function? {
        for name in libraries {
            // Safety: the library is never closed, so the function stays; it has this type wherever
            // a library has it.
            guard let library = unsafe dlopen(name, RTLD_NOW),
                let symbol = unsafe dlsym(library, "crypt_rn")
            else { continue }
            return unsafe unsafeBitCast(symbol, to: Function.self)
        }
        return nil
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
