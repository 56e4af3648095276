// The `host[:port]` of targets and Host fields, in canonical form.

/// `host[:port]`, as targets and Host write it.
package enum AuthorityText {
    /// Host and port; nil when it is not one, the port 0 or beyond 65535.
    package static func parse(_ bytes: Span<UInt8>) -> (host: Host, port: UInt16?)? {
        var end = bytes.count
        var port: UInt16?
        var i = bytes.count - 1
        while i >= 0, bytes[i].isASCIIDigit { i -= 1 }
        if i >= 0, bytes[i] == 0x3A {
            end = i
            if i + 1 < bytes.count {
                guard let number = number(bytes.extracting((i + 1)..<bytes.count)) else {
                    return nil
                }
                port = number
            }
        }
        guard let host = try? Host(parsing: bytes.extracting(0..<end)) else { return nil }
        return (host, port)
    }

    private static func number(_ digits: Span<UInt8>) -> UInt16? {
        guard digits.count <= 8, let port = NumberReader.unsigned(digits, max: 65535), port > 0
        else { return nil }
        return UInt16(truncatingIfNeeded: port)
    }
}
