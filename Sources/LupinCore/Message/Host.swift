// The canonical form of a host, so that rules, keys, pins and deny lists compare one text.

/// A host in canonical form: a name in lower-case A-labels, or an address.
///
/// All comparisons of hosts use this form; two spellings of one host are equal.
public struct Host: Sendable {
    /// Why bytes are not a host.
    package enum Problem: Error, Equatable {
        case empty
        /// The name has more than 253 bytes.
        case tooLong
        /// A byte, after percent-decoding, that host names must not contain.
        case badCharacter(UInt8)
        /// A label is empty or has more than 63 bytes.
        case badLabel
        case badIPv6
        /// An address with a zone ID: it would mean a different interface on each machine.
        case zone
        /// `%` without two hexadecimal digits.
        case badPercent
        /// Not UTF-8, or a label for which RFC 5891 §5.4 forbids a look-up.
        case badIDN
        /// The name ends in a number, so resolvers treat it as IPv4, and it isn't valid IPv4.
        case badIPv4
    }

    /// The name without trailing dot, a dotted quad, or RFC 5952 text without brackets.
    public let text: String
    /// The address, if the host is one.
    public let address: IPAddress?

    /// The host in an authority: ``text``, in brackets if it is IPv6 (RFC 3986 §3.2.2).
    public var uriText: String {
        if case .v6 = address { return "[" + text + "]" }
        return text
    }

    /// Makes the host of `address`.
    ///
    /// IPv4-mapped IPv6 becomes the IPv4 host: a connection to it goes there.
    public init(_ address: IPAddress) {
        let plain = address.unmapped
        self.init(text: plain.text, address: plain)
    }

    /// Parses a host as in an authority, or IPv6 without brackets; nil when invalid.
    public init?(_ text: String) {
        if let address = IPAddress(text) {
            self.init(address)
            return
        }
        do throws(Problem) {
            try self.init(parsing: Array(text.utf8).span)
        } catch {
            return nil
        }
    }

    /// Parses the host of an authority (RFC 3986 §3.2.2), without userinfo and port.
    ///
    /// Lower-case ASCII names and dotted quads, nearly all hosts, are only checked and copied.
    package init(parsing bytes: Span<UInt8>) throws(Problem) {
        guard !bytes.isEmpty else { throw .empty }
        guard bytes[0] != 0x5B else {
            self.init(try Host.bracketed(bytes))
            return
        }
        var i = 0
        while i < bytes.count, bytes[i].isHostNameByte { i &+= 1 }
        if i == bytes.count {
            try self.init(name: bytes)
        } else {
            let name = try Host.mapped(bytes)
            try self.init(name: name.span)
        }
    }

    /// Makes the host of a name that consists of `isHostNameByte`s.
    private init(name bytes: Span<UInt8>) throws(Problem) {
        let isRooted = bytes.count > 0 && bytes[bytes.count - 1] == 0x2E
        let name = bytes.extracting(0..<bytes.count - (isRooted ? 1 : 0))
        guard !name.isEmpty else { throw .empty }
        guard name.count <= 253 else { throw .tooLong }
        let last = try Host.lastLabel(name)
        if Host.isNumber(name.extracting(last)) {
            self.init(.v4(try Host.looseIPv4(name)))
        } else {
            // Without an intermediate array: this runs for every request. ASCII is always valid
            // UTF-8.
            guard let utf8 = try? UTF8Span(validating: name) else { throw .badIDN }
            self.init(text: String(copying: utf8), address: nil)
        }
    }

    private init(text: String, address: IPAddress?) {
        self.text = text
        self.address = address
    }
}

extension Host: Hashable, CustomStringConvertible {
    /// Whether both are the same host; the address is determined by the text.
    public static func == (a: Host, b: Host) -> Bool { a.text == b.text }

    /// Hashes the text.
    public func hash(into hasher: inout Hasher) { hasher.combine(text) }

    /// The same as ``uriText``.
    public var description: String { uriText }
}

// MARK: Names

extension UInt8 {
    /// Whether a canonical host name may contain the byte: `a`–`z`, digits, `-`, `.` and `_`.
    ///
    /// RFC 952 does not allow `_`, but many host names in use contain it.
    @inline(__always) package var isHostNameByte: Bool {
        self &- 0x61 < 26 || isASCIIDigit || self == 0x2D || self == 0x2E || self == 0x5F
    }
}

extension Host {
    /// The name with percent-encoding decoded, in lower case, as A-labels.
    private static func mapped(_ bytes: Span<UInt8>) throws(Problem) -> [UInt8] {
        // 253 bytes, of up to four bytes of UTF-8 per letter, each written %XX.
        guard bytes.count <= 253 * 12 else { throw .tooLong }
        var name: [UInt8] = []
        var isASCII = true
        var i = 0
        while i < bytes.count {
            var byte = bytes[i]
            i &+= 1
            if byte == 0x25 {
                guard let escaped = NumberReader.hexadecimalByte(bytes, at: i) else {
                    throw .badPercent
                }
                byte = escaped
                i &+= 2
            }
            byte = byte.asciiLowercased
            guard byte.isHostNameByte || byte >= 0x80 else { throw .badCharacter(byte) }
            isASCII = isASCII && byte < 0x80
            name.append(byte)
        }
        return isASCII ? name : try aLabels(name)
    }

    private static func aLabels(_ bytes: [UInt8]) throws(Problem) -> [UInt8] {
        guard let name = String(validating: bytes, as: UTF8.self) else { throw .badIDN }
        var output: [UInt8] = []
        // By scalars: a dot with a combining accent is one Character and still separates.
        for label in name.unicodeScalars.split(separator: ".", omittingEmptySubsequences: false) {
            if label.allSatisfy(\.isASCII) {
                output += Substring(label).utf8
            } else {
                guard let ascii = Punycode.asciiLabel(Substring(label)) else { throw .badIDN }
                output += ascii
            }
            output.append(0x2E)
        }
        // Every label added a dot, including the last.
        output.removeLast()
        return output
    }

    /// The range of the last label; all labels must have 1…63 bytes (RFC 1035 §2.3.4).
    private static func lastLabel(_ name: Span<UInt8>) throws(Problem) -> Range<Int> {
        var start = 0
        for i in name.indices where name[i] == 0x2E {
            guard i > start, i - start <= 63 else { throw .badLabel }
            start = i + 1
        }
        guard name.count > start, name.count - start <= 63 else { throw .badLabel }
        return start..<name.count
    }
}

// MARK: Addresses

extension Host {
    private static func bracketed(_ bytes: Span<UInt8>) throws(Problem) -> IPAddress {
        for i in bytes.indices where bytes[i] == 0x25 { throw .zone }
        guard bytes.count > 2, bytes[bytes.count - 1] == 0x5D,
            let address = IPAddress(parsing: bytes.extracting(1..<bytes.count - 1)),
            case .v6 = address
        else { throw .badIPv6 }
        return address
    }

    /// Whether the last label makes the name IPv4, by the URL standard's "ends in a number".
    private static func isNumber(_ label: Span<UInt8>) -> Bool {
        guard label[0].isASCIIDigit else { return false }
        if number(label) != nil { return true }
        for i in label.indices where !label[i].isASCIIDigit { return false }
        return true
    }

    /// Parses an address of one to four numbers, where the last one fills the remaining bytes.
    ///
    /// `127.1`, `0x7f.0.0.1` and `2130706433` all reach 127.0.0.1, because `getaddrinfo` parses
    /// them so; a deny list must see the address, not a name.
    private static func looseIPv4(_ name: Span<UInt8>) throws(Problem) -> UInt32 {
        if let quad = IPAddress.dottedQuad(name) { return quad }
        var value: UInt64 = 0
        var parts = 0
        var start = 0
        for i in 0...name.count where i == name.count || name[i] == 0x2E {
            guard parts < 4, let part = number(name.extracting(start..<i)) else { throw .badIPv4 }
            let isLast = i == name.count
            guard part <= (isLast ? UInt64(UInt32.max) >> UInt64(8 * parts) : 255) else {
                throw .badIPv4
            }
            value |= isLast ? part : part << UInt64(24 - 8 * parts)
            parts += 1
            start = i + 1
        }
        return UInt32(truncatingIfNeeded: value)
    }

    /// Parses a number as in C: `0x` hexadecimal, `0` octal, else decimal; large ones saturate.
    private static func number(_ label: Span<UInt8>) -> UInt64? {
        guard !label.isEmpty else { return nil }
        var radix: UInt64 = 10
        var i = 0
        if label.count > 1, label[0] == 0x30 {
            let isHex = label[1] == 0x78
            radix = isHex ? 16 : 8
            i = isHex ? 2 : 1
        }
        var value: UInt64 = 0
        while i < label.count {
            guard let digit = label[i].hexDigit, digit < radix else { return nil }
            value = NumberReader.adding(digit, to: value, radix: radix, max: 1 << 33) ?? 1 << 33
            i &+= 1
        }
        return value
    }
}
