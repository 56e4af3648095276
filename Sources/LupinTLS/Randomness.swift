// Random bytes for IDs, pseudonyms and keys, from OpenSSL's generator.
import COpenSSL

/// A buffered source of unpredictable bits for one worker.
///
/// Not Sendable: two owners of one buffer would return the same bits.
package final class RandomSource: RandomNumberGenerator {
    /// 64-bit words fetched at a time: 4 KiB.
    private static let wordCount = 512

    private var words: [UInt64] = []
    private var used = 0

    package init() {}

    /// 64 random bits.
    package func next() -> UInt64 {
        if used == words.count {
            words = RandomSource.words(count: RandomSource.wordCount)
            used = 0
        }
        defer { used &+= 1 }
        return words[used]
    }

    /// `count` random bytes for keys, unbuffered from the generator.
    package static func bytes(count: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count + 7)
        for word in words(count: (count + 7) / 8) {
            for shift in 0..<8 {
                bytes.append(UInt8(truncatingIfNeeded: word >> UInt64(shift * 8)))
            }
        }
        return Array(bytes.prefix(count))
    }

    private static func words(count: Int) -> [UInt64] {
        var words = [UInt64](repeating: 0, count: count)
        let length = Int32(truncatingIfNeeded: count * 8)
        // Safety: the array has `count` words, which are `length` bytes.
        let result = unsafe words.withUnsafeMutableBytes { buffer in
            unsafe RAND_bytes(buffer.baseAddress, length)
        }
        if result == 1 { return words }
        // If OpenSSL's generator fails, the kernel's is used, which cannot fail.
        var system = SystemRandomNumberGenerator()
        return words.map { _ in system.next() }
    }
}
