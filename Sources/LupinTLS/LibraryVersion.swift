// The version of the loaded OpenSSL library, not of the one at build time.
import COpenSSL

package enum LibraryVersion {
    /// The version of OpenSSL, such as `3.0.15`.
    package static var text: String {
        // OPENSSL_VERSION_NUMBER(3): major, minor and patch are 4, 8 and 8 bits of 0xMNN00PP0.
        let number = UInt64(OpenSSL_version_num())
        return "\(number >> 28 & 0xF).\(number >> 20 & 0xFF).\(number >> 4 & 0xFF)"
    }
}
