// Detects whether bytes of an unknown protocol begin an HTTP/1 request.
import LupinCore

/// The first bytes of a connection that may carry HTTP or another protocol.
package enum RequestBeginning {
    /// Whether a request line begins here; nil while that is undecided.
    ///
    /// Other protocols begin with words too, some followed by a space (SSH, IRC): so the method
    /// must consist of letters, and the beginning of a target must follow it.
    package static func isThere(_ bytes: Span<UInt8>) -> Bool? {
        var i = 0
        while i < bytes.count, isMethodByte(bytes[i]) { i += 1 }
        guard i <= methodBytesMax else { return false }
        guard i < bytes.count else { return nil }
        guard i > 0, bytes[i] == 0x20 else { return false }
        let target = bytes.extracting((i + 1)...)
        guard !target.isEmpty else { return nil }
        if target[0] == 0x2F { return true }
        // `OPTIONS *` is a request; `PRI *` is the preface of HTTP/2, which is not supported here.
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

    /// Longer words are not methods in use.
    private static let methodBytesMax = 24
}
