// IP addresses: parsing, formatting, and classification for deny lists.

/// An IPv4 or IPv6 address, without port and without zone.
public enum IPAddress: Hashable, Sendable {
    /// An IPv4 address in host byte order: 127.0.0.1 is `0x7F000001`.
    case v4(UInt32)
    /// An IPv6 address: its first and its last eight bytes in host byte order.
    case v6(high: UInt64, low: UInt64)

    /// Parses an address; returns nil when invalid.
    ///
    /// Accepts the same forms as ``init(parsing:)``.
    public init?(_ text: String) {
        self.init(parsing: Array(text.utf8).span)
    }

    /// Parses an address; returns nil when invalid.
    ///
    /// Strict: four decimal parts without leading zeros, or one of the three forms of RFC 4291 §2.2
    /// without brackets. A zone ID is rejected. Only ``Host`` accepts looser IPv4 spellings.
    public init?(parsing bytes: Span<UInt8>) {
        if let value = IPAddress.dottedQuad(bytes) {
            self = .v4(value)
        } else if let address = IPAddress.colonHex(bytes) {
            self = address
        } else {
            return nil
        }
    }

    /// The canonical text: a dotted quad, or RFC 5952 without brackets.
    public var text: String {
        switch self {
        case .v4(let value): IPAddress.quadText(value)
        case .v6(0, let low) where low >> 32 == 0xFFFF:
            "::ffff:" + IPAddress.quadText(UInt32(truncatingIfNeeded: low))
        case .v6(let high, let low): IPAddress.hexText(high: high, low: low)
        }
    }
}

extension IPAddress: CustomStringConvertible {
    /// The same as ``text``.
    public var description: String { text }
}

// MARK: Where an address leads

/// Properties for deny lists: each also covers the embedded IPv4 address (``embedded``).
///
/// For a *permission*, use a ``CIDR`` instead: it unwraps IPv4-mapped addresses only, so a client
/// is not admitted because its 6to4 address contains 127.0.0.1.
extension IPAddress {
    /// 127.0.0.0/8 and ::1.
    package var isLoopback: Bool {
        switch leaf {
        case .v4(let value): value >> 24 == 127
        case .v6(let high, let low): high == 0 && low == 1
        }
    }

    /// 0.0.0.0/8 and ::, "this host" of RFC 1122 §3.2.1.3.
    package var isUnspecified: Bool {
        switch leaf {
        case .v4(let value): value >> 24 == 0
        case .v6(let high, let low): high == 0 && low == 0
        }
    }

    /// Whether a connection to it may reach this machine's loopback: on Linux 0.0.0.0 and :: do
    /// too.
    package var reachesLoopback: Bool { isLoopback || isUnspecified }

    /// 169.254.0.0/16 and fe80::/10.
    package var isLinkLocal: Bool {
        switch leaf {
        case .v4(let value): value >> 16 == 0xA9FE
        case .v6(let high, _): high >> 54 == 0xFE80 >> 6
        }
    }

    /// RFC 1918, shared address space (RFC 6598, 100.64.0.0/10) and unique local (RFC 4193).
    package var isPrivate: Bool {
        switch leaf {
        case .v4(let value):
            value >> 24 == 10 || value >> 20 == 0xAC1 || value >> 16 == 0xC0A8
                || value >> 22 == 0x6440 >> 6
        case .v6(let high, _): high >> 57 == 0xFC >> 1
        }
    }

    /// Cloud metadata services, which issue credentials: 169.254.169.254, fd00:ec2::254,
    /// 100.100.100.200.
    package var isMetadata: Bool {
        switch leaf {
        case .v4(let value): value == 0xA9FE_A9FE || value == 0x6464_64C8
        case .v6(let high, let low): high == 0xFD00_0EC2_0000_0000 && low == 0x254
        }
    }

    /// The IPv4 address embedded in an IPv6 address; nil if there is none.
    ///
    /// IPv4-mapped and IPv4-compatible (RFC 4291 §2.5.5), 64:ff9b::/96 (RFC 6052 §2.1),
    /// 64:ff9b:1::/48 (RFC 8215, read as a /96 prefix, the last 32 bits) and 6to4 (RFC 3056 §2).
    package var embedded: IPAddress? {
        guard case .v6(let high, let low) = self else { return nil }
        let tail = IPAddress.v4(UInt32(truncatingIfNeeded: low))
        if high == 0 {
            // :: and ::1 are addresses of their own, not 0.0.0.0 and 0.0.0.1.
            let isCompatible = low >> 32 == 0 && low > 1
            return isCompatible || low >> 32 == 0xFFFF ? tail : nil
        }
        if high == 0x0064_FF9B_0000_0000, low >> 32 == 0 { return tail }
        if high >> 16 == 0x0064_FF9B_0001 { return tail }
        if high >> 48 == 0x2002 { return .v4(UInt32(truncatingIfNeeded: high >> 16)) }
        return nil
    }

    /// The IPv4 address of an IPv4-mapped one, which the kernel treats as IPv4; else `self`.
    package var unmapped: IPAddress {
        guard case .v6(0, let low) = self, low >> 32 == 0xFFFF else { return self }
        return .v4(UInt32(truncatingIfNeeded: low))
    }

    private var leaf: IPAddress { embedded ?? self }
}

// MARK: Reading

extension IPAddress {
    /// Four decimal parts without leading zeros.
    static func dottedQuad(_ bytes: Span<UInt8>) -> UInt32? {
        guard bytes.count >= 7, bytes.count <= 15 else { return nil }
        var value: UInt32 = 0
        var dots = 0
        var i = 0
        while true {
            let start = i
            guard case .value(let part) = NumberReader.decimal(bytes, from: &i, max: 255),
                i &- start == 1 || bytes[start] != 0x30
            else { return nil }
            value = value &<< 8 | UInt32(truncatingIfNeeded: part)
            if i == bytes.count { return dots == 3 ? value : nil }
            guard bytes[i] == 0x2E, dots < 3 else { return nil }
            dots &+= 1
            i &+= 1
        }
    }

    /// Eight groups of hexadecimal digits; `::` may replace groups once, IPv4 the last two.
    private static func colonHex(_ bytes: Span<UInt8>) -> IPAddress? {
        guard bytes.count >= 2, bytes.count <= 45 else { return nil }
        var groups = InlineArray<8, UInt16>(repeating: 0)
        var count = 0
        var gap: Int?
        var i = 0
        if bytes[0] == 0x3A {
            guard bytes[1] == 0x3A else { return nil }
            gap = 0
            i = 2
        }
        while i < bytes.count {
            let start = i
            while i < bytes.count, bytes[i].hexDigit != nil { i &+= 1 }
            if i < bytes.count, bytes[i] == 0x2E {
                guard count <= 6, let quad = dottedQuad(bytes.extracting(start..<bytes.count))
                else { return nil }
                groups[count] = UInt16(truncatingIfNeeded: quad >> 16)
                groups[count + 1] = UInt16(truncatingIfNeeded: quad)
                count &+= 2
                break
            }
            guard i - start <= 4, count < 8,
                let value = NumberReader.hexadecimal(bytes.extracting(start..<i))
            else { return nil }
            groups[count] = UInt16(truncatingIfNeeded: value)
            count &+= 1
            if i == bytes.count { break }
            guard bytes[i] == 0x3A, i + 1 < bytes.count else { return nil }
            i &+= 1
            if bytes[i] == 0x3A {
                if gap != nil { return nil }
                gap = count
                i &+= 1
            }
        }
        // `::` stands for at least one group (RFC 4291 §2.2).
        guard gap == nil ? count == 8 : count < 8 else { return nil }
        return joined(groups, count: count, gap: gap ?? count)
    }

    /// The address of `count` groups, of which those from `gap` on are at the end.
    private static func joined(
        _ groups: InlineArray<8, UInt16>,
        count: Int,
        gap: Int
    ) -> IPAddress {
        var halves = InlineArray<2, UInt64>(repeating: 0)
        for i in 0..<count {
            let position = i < gap ? i : i + 8 - count
            halves[position / 4] |= UInt64(groups[i]) << UInt64(48 - 16 * (position % 4))
        }
        return .v6(high: halves[0], low: halves[1])
    }
}

// MARK: Writing

extension IPAddress {
    private static func quadText(_ value: UInt32) -> String {
        "\(value >> 24).\(value >> 16 & 255).\(value >> 8 & 255).\(value & 255)"
    }

    /// RFC 5952 §4: lower case, no leading zeros, `::` for the longest run of at least two zero
    /// groups, the first if several are equal.
    private static func hexText(high: UInt64, low: UInt64) -> String {
        var groups: [UInt16] = []
        for half in [high, low] {
            for shift in [48, 32, 16, 0] as [UInt64] {
                groups.append(UInt16(truncatingIfNeeded: half >> shift))
            }
        }
        let gap = longestZeroRun(groups)
        var text = ""
        for i in groups.indices {
            if gap.contains(i) {
                if i == gap.lowerBound { text += "::" }
                continue
            }
            if i > 0, i != gap.upperBound { text += ":" }
            text += String(groups[i], radix: 16)
        }
        return text
    }

    private static func longestZeroRun(_ groups: [UInt16]) -> Range<Int> {
        var longest = 0..<0
        var start = 0
        for i in groups.indices {
            if groups[i] != 0 {
                start = i + 1
            } else if i + 1 - start > max(longest.count, 1) {
                longest = start..<i + 1
            }
        }
        return longest
    }
}
