// The version of the loaded OpenSSL library, not of the one at build time, and what it lacks.
import COpenSSL

package enum LibraryVersion {
    /// The version of OpenSSL, and whether it has the key exchange that holds against quantum
    /// computers: `3.0.15 without X25519MLKEM768`.
    ///
    /// It takes a millisecond where nothing has asked OpenSSL for anything yet.
    package static var text: String {
        // OPENSSL_VERSION_NUMBER(3): major, minor and patch are 4, 8 and 8 bits of 0xMNN00PP0.
        let number = UInt64(OpenSSL_version_num())
        return "\(number >> 28 & 0xF).\(number >> 20 & 0xFF).\(number >> 4 & 0xFF) "
            + "\(hasHybridGroup ? "with" : "without") \(TLSContext.hybridGroup)"
    }

    /// The version alone does not tell: a library may be built without it.
    private static var hasHybridGroup: Bool {
        defer { ErrorQueue.clear() }
        // Safety: the text ends with NUL; what is found is released at once, and may be NULL.
        let method = unsafe EVP_KEYMGMT_fetch(nil, TLSContext.hybridGroup, nil)
        unsafe EVP_KEYMGMT_free(method)
        return unsafe method != nil
    }
}
