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
    /// Blanks and empty lines may precede it, the method may be any token, and anything may stand
    /// behind it in the line, as long as that names HTTP, or the method is GET (HTTP/0.9). A header
    /// of the PROXY protocol counts, since a request may follow it.
    package static func mightBeThere(_ bytes: Span<UInt8>) -> Bool? {
        let isCut = bytes.count >= lineBytesMax
        let bytes = bytes.extracting(0..<min(bytes.count, lineBytesMax))
        let undecided: Bool? = isCut ? true : nil
        var i = 0
        while i < bytes.count, bytes[i] == 0x20 || 0x09...0x0D ~= bytes[i] { i += 1 }
        let method = i
        while i < bytes.count, bytes[i].isTokenByte { i += 1 }
        guard i < bytes.count else { return undecided }
        if beginsPROXY(bytes, at: i) { return true }
        guard i > method, bytes[i] == 0x20 || bytes[i] == 0x09 else { return false }
        let word = bytes.extracting(method..<i)
        if isWord(word, "proxy") { return true }
        let line = bytes.extracting(i...)
        // No protocol of text has a zero, and no server takes one in a request line.
        for i in line.indices where line[i] == 0 || line[i] == 0x0A {
            guard line[i] == 0x0A else { return false }
            return isWord(word, "get") || namesHTTP(line.extracting(0..<i))
        }
        return undecided
    }

    /// Whether the first byte that is none of a line of text ends the start of a header of the
    /// PROXY protocol, version 2 (§2.2): `\r\n\r\n\0\r\nQUIT\n`.
    private static func beginsPROXY(_ bytes: Span<UInt8>, at offset: Int) -> Bool {
        offset == 4 && bytes[0] == 0x0D && bytes[1] == 0x0A && bytes[2] == 0x0D && bytes[3] == 0x0A
            && bytes[4] == 0
    }

    /// Whether these letters are a word, which is in lower case.
    private static func isWord(_ bytes: Span<UInt8>, _ word: String) -> Bool {
        guard bytes.count == word.utf8.count else { return false }
        for (i, letter) in word.utf8.enumerated() where bytes[i] | 0x20 != letter { return false }
        return true
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
