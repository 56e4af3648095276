// Whether bytes of an unknown protocol begin a request of HTTP/1.
import LupinCore

/// The first bytes of a connection on which HTTP may be spoken, or something else.
package enum RequestBeginning {
    /// Whether a request line begins here; nil while that is open.
    ///
    /// Other protocols begin with words, too, some with a space behind them (SSH, IRC): so the
    /// method must be of letters, and behind it must stand what a target begins with.
    package static func isThere(_ bytes: Span<UInt8>) -> Bool? {
        var i = 0
        while i < bytes.count, isMethodByte(bytes[i]) { i += 1 }
        guard i <= methodBytesMax else { return false }
        guard i < bytes.count else { return nil }
        guard i > 0, bytes[i] == 0x20 else { return false }
        let target = bytes.extracting((i + 1)...)
        guard !target.isEmpty else { return nil }
        if target[0] == 0x2F { return true }
        // `OPTIONS *` is a request, `PRI *` the preface of HTTP/2, which is not spoken yet.
        if target[0] == 0x2A { return i > 3 }
        for (i, letter) in "http".utf8.enumerated() {
            guard i < target.count else { return nil }
            guard target[i] | 0x20 == letter else { return false }
        }
        return true
    }

    private static func isMethodByte(_ byte: UInt8) -> Bool {
        (byte | 0x20) &- 0x61 < 26 || byte == 0x2D
    }

    /// Longer words are no method that anybody uses.
    private static let methodBytesMax = 24
}
