// Parses `host[:port]` of targets and Host fields into canonical form.

/// `host[:port]`, as in request targets and Host.
package enum AuthorityText {
    /// Parses host and port; nil when invalid, or the port is 0 or exceeds 65535.
    ///
    /// `host:` has no port either (RFC 3986 §3.2.3).
    package static func parse(_ bytes: Span<UInt8>) -> (host: Host, port: UInt16?)? {
        var end = bytes.count
        var port: UInt16?
        var i = bytes.count - 1
        while i >= 0, bytes[i].isASCIIDigit { i -= 1 }
        if i >= 0, bytes[i] == 0x3A {
            end = i
            if i + 1 < bytes.count {
                port = NumberReader.port(bytes.extracting((i + 1)..<bytes.count))
                guard port != nil else { return nil }
            }
        }
        guard let host = try? Host(parsing: bytes.extracting(0..<end)) else { return nil }
        return (host, port)
    }

    /// Parses a listener's `address:port`, with IPv6 in brackets; the port may be 0.
    package static func listener(
        _ text: some StringProtocol
    ) -> (address: IPAddress, port: UInt16)? {
        guard let colon = text.lastIndex(of: ":"),
            let port = NumberReader.unsigned(text[text.index(after: colon)...], max: 65535)
        else { return nil }
        let host = text[..<colon]
        let isBracketed = host.hasPrefix("[") && host.hasSuffix("]")
        guard isBracketed == host.contains(":"),
            let address = IPAddress(String(isBracketed ? host.dropFirst().dropLast() : host))
        else { return nil }
        return (address, UInt16(truncatingIfNeeded: port))
    }
}
