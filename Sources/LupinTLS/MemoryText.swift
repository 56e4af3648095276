// Memory BIOs through which OpenSSL reads and writes text.
import COpenSSL
import LupinCore

enum MemoryText {
    /// Lends `bytes` as a BIO that is read in place; nil if that fails or `body` returns nil.
    ///
    /// OpenSSL does not find the line behind a byte order mark, so that is left out.
    static func read<Result>(
        _ bytes: Span<UInt8>,
        _ body: (OpaquePointer) -> Result?
    ) -> Result? {
        // Safety: the BIO reads the bytes in place and is freed before they are.
        unsafe bytes.extracting(bytes.byteOrderMark...).withUnsafeBytes { bytes in
            guard let length = Int32(exactly: bytes.count), length > 0,
                let bio = unsafe BIO_new_mem_buf(bytes.baseAddress, length)
            else { return nil }
            defer { unsafe BIO_free(bio) }
            return unsafe body(bio)
        }
    }

    /// Lends the bytes that `write` wrote to a BIO; nil if it returns false.
    ///
    /// OpenSSL wipes the BIO's memory when it frees it and when it grows.
    static func written<Result>(
        _ write: (OpaquePointer) -> Bool,
        reading: (Span<UInt8>) -> Result
    ) -> Result? {
        // Safety: the bytes belong to the BIO, which lives until `reading` has returned.
        guard let bio = unsafe BIO_new(BIO_s_mem()) else { return nil }
        defer { unsafe BIO_free(bio) }
        guard unsafe write(bio) else { return nil }
        var start: UnsafePointer<UInt8>?
        let length = unsafe openssl_memory_contents(bio, &start)
        guard let start = unsafe start, length >= 0 else { return nil }
        let bytes = unsafe UnsafeBufferPointer(start: start, count: length)
        return unsafe reading(bytes.span)
    }
}

/// Digests of bytes in OpenSSL's memory.
enum LibraryDigest {
    /// SHA-256: 32 bytes; empty if OpenSSL fails.
    static func sha256(_ bytes: UnsafeBufferPointer<UInt8>) -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: 32)
        // Safety: the call reads `bytes` and writes the 32 bytes of SHA-256.
        let result = unsafe EVP_Digest(
            bytes.baseAddress,
            bytes.count,
            &digest,
            nil,
            EVP_sha256(),
            nil
        )
        return result == 1 ? digest : []
    }
}
