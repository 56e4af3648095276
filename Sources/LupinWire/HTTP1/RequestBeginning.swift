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

    /// Whether a server might read an HTTP request here, however leniently; nil while that is
    /// undecided.
    ///
    /// Empty lines may precede it, the method may be any token, and anything may stand behind it
    /// in the line, as long as that names HTTP. A request of HTTP/0.9 names no host.
    package static func mightBeThere(_ bytes: Span<UInt8>) -> Bool? {
        let isCut = bytes.count >= lineBytesMax
        let bytes = bytes.extracting(0..<min(bytes.count, lineBytesMax))
        let undecided: Bool? = isCut ? true : nil
        var i = 0
        while i < bytes.count, bytes[i] == 0x0D || bytes[i] == 0x0A { i += 1 }
        let method = i
        while i < bytes.count, bytes[i].isTokenByte { i += 1 }
        guard i < bytes.count else { return undecided }
        guard i > method, bytes[i] == 0x20 || bytes[i] == 0x09 else { return false }
        let line = bytes.extracting(i...)
        // No protocol of text has a zero, and no server takes one in a request line.
        for i in line.indices where line[i] == 0 || line[i] == 0x0A {
            return line[i] == 0x0A && namesHTTP(line.extracting(0..<i))
        }
        return undecided
    }

    /// A longer first line is taken for that of a request, whose reader has a limit of its own.
    private static let lineBytesMax = 8 << 10

    private static func namesHTTP(_ line: Span<UInt8>) -> Bool {
        let name = Array("http/".utf8)
        for start in 0..<max(0, line.count - name.count + 1) {
            var i = 0
            while i < name.count, line[start + i] | 0x20 == name[i] { i += 1 }
            if i == name.count { return true }
        }
        return false
    }

    private static func isMethodByte(_ byte: UInt8) -> Bool {
        (byte | 0x20) &- 0x61 < 26 || byte == 0x2D
    }

    /// Longer words are not methods in use.
    private static let methodBytesMax = 24
}
