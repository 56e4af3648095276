// Bytes that can be read or changed only with a key (AES-256-GCM, NIST SP 800-38D).
import COpenSSL

/// Seals and opens short messages under one key.
package struct SealingKey: Sendable {
    private let key: [UInt8]

    private static let keyBytes = 32
    private static let nonceBytes = 12
    private static let tagBytes = 16

    /// - Parameter key: 32 bytes that are used for nothing else.
    package init?(_ key: [UInt8]) {
        guard key.count == Self.keyBytes else { return nil }
        self.key = key
    }

    /// Seals a message.
    ///
    /// - Parameters:
    ///   - message: What to hide.
    ///   - associatedData: What it belongs to; it opens only there.
    /// - Returns: A random nonce of 12 bytes, the cipher text, and a tag of 16 bytes; nil if
    ///   OpenSSL fails.
    package func seal(_ message: [UInt8], for associatedData: [UInt8]) -> [UInt8]? {
        let nonce = RandomSource.bytes(count: Self.nonceBytes)
        var tag = [UInt8](repeating: 0, count: Self.tagBytes)
        guard let cipher = run(message, nonce, &tag, associatedData, isSealing: true) else {
            return nil
        }
        return nonce + cipher + tag
    }

    /// Opens a message; nil where it was sealed by another key or for another place, or changed.
    package func open(_ sealed: [UInt8], for associatedData: [UInt8]) -> [UInt8]? {
        guard sealed.count >= Self.nonceBytes + Self.tagBytes else { return nil }
        let nonce = Array(sealed.prefix(Self.nonceBytes))
        var tag = Array(sealed.suffix(Self.tagBytes))
        let cipher = Array(sealed.dropFirst(Self.nonceBytes).dropLast(Self.tagBytes))
        return run(cipher, nonce, &tag, associatedData, isSealing: false)
    }

    private func run(
        _ input: [UInt8],
        _ nonce: [UInt8],
        _ tag: inout [UInt8],
        _ associatedData: [UInt8],
        isSealing: Bool
    ) -> [UInt8]? {
        guard input.count <= Int(Int32.max) - 64, associatedData.count <= Int(Int32.max) else {
            return nil
        }
        // Safety: made here, freed at the end, and never given away.
        guard let context = unsafe EVP_CIPHER_CTX_new() else { return nil }
        defer { unsafe EVP_CIPHER_CTX_free(context) }
        var output = [UInt8](repeating: 0, count: input.count + 16)
        var (count, last): (Int32, Int32) = (0, 0)
        let direction: Int32 = isSealing ? 1 : 0
        let tagCount = Int32(Self.tagBytes)
        // Safety: key and nonce have the lengths of the cipher, the output has room for a block
        // more than the input, and the tag has 16 bytes. OpenSSL keeps none of the pointers.
        let isDone =
            unsafe EVP_CipherInit_ex(context, EVP_aes_256_gcm(), nil, key, nonce, direction) == 1
            && EVP_CipherUpdate(context, nil, &count, associatedData, Int32(associatedData.count))
                == 1
            && EVP_CipherUpdate(context, &output, &count, input, Int32(input.count)) == 1
            && (isSealing
                || EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_GCM_SET_TAG, tagCount, &tag) == 1)
            && EVP_CipherFinal_ex(context, nil, &last) == 1
            && (!isSealing
                || EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_GCM_GET_TAG, tagCount, &tag) == 1)
        guard isDone else { return nil }
        return Array(output.prefix(Int(count)))
    }
}
