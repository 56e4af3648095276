// A network of addresses, written as address and prefix length.

/// The addresses that match `address` in the first `prefix` bits (RFC 4632 §3.1).
///
/// IPv4-mapped IPv6 counts as IPv4, on both sides: a socket that listens on IPv6 reports IPv4
/// clients that way, and a list should not have to contain them twice.
package struct CIDR: Hashable, Sendable {
    /// The first address: all bits after the prefix are zero.
    package let address: IPAddress
    /// The prefix length: 0…32 for IPv4, 0…128 for IPv6.
    package let prefix: Int

    /// Makes the network of `address`; a prefix out of range is clamped.
    package init(_ address: IPAddress, prefix: Int) {
        switch (address, address.unmapped) {
        case (.v6, .v4(let value)) where prefix >= 96:
            self.init(v4: value, prefix: prefix - 96)
        case (.v4(let value), _):
            self.init(v4: value, prefix: prefix)
        case (.v6(let high, let low), _):
            self.init(high: high, low: low, prefix: min(max(prefix, 0), 128))
        }
    }

    /// The addresses of this machine, without those that merely embed one of them.
    package static let loopback = [
        CIDR(.v4(0x7F00_0000), prefix: 8), CIDR(.v6(high: 0, low: 1), prefix: 128),
    ]

    private init(v4 value: UInt32, prefix: Int) {
        self.prefix = min(max(prefix, 0), 32)
        self.address = .v4(value & ~CIDR.hostBits(v4: self.prefix))
    }

    private init(high: UInt64, low: UInt64, prefix: Int) {
        let hostBits = CIDR.hostBits(v6: prefix)
        self.prefix = prefix
        self.address = .v6(high: high & ~hostBits.high, low: low & ~hostBits.low)
    }

    // Swift's >> gives 0 when the count reaches the width, which is the mask of the longest prefix.

    private static func hostBits(v4 prefix: Int) -> UInt32 { UInt32.max >> UInt32(prefix) }

    private static func hostBits(v6 prefix: Int) -> (high: UInt64, low: UInt64) {
        (UInt64.max >> UInt64(min(prefix, 64)), UInt64.max >> UInt64(max(prefix, 64) - 64))
    }

    /// Parses a network such as `127.0.0.0/8`; an address alone is a network of one address.
    ///
    /// Bits set after the prefix are allowed and ignored.
    package init?(_ text: String) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard let first = parts.first, let address = IPAddress(String(first)) else { return nil }
        let width = if case .v4 = address { 32 } else { 128 }
        guard parts.count > 1 else {
            self.init(address, prefix: width)
            return
        }
        let digits = parts[1]
        guard parts.count == 2, digits == "0" || !digits.hasPrefix("0"),
            let prefix = NumberReader.unsigned(digits, max: UInt64(width))
        else { return nil }
        // Bounded: by the bits of an address.
        self.init(address, prefix: Int(prefix))
    }

    /// Whether `other` is in the network.
    package func contains(_ other: IPAddress) -> Bool {
        switch (address, other.unmapped) {
        case (.v4(let network), .v4(let value)):
            return (network ^ value) & ~CIDR.hostBits(v4: prefix) == 0
        case (.v6(let networkHigh, let networkLow), .v6(let high, let low)):
            let hostBits = CIDR.hostBits(v6: prefix)
            return (networkHigh ^ high) & ~hostBits.high == 0
                && (networkLow ^ low) & ~hostBits.low == 0
        case (.v4, .v6), (.v6, .v4):
            return false
        }
    }

    /// `address/prefix` in canonical spelling.
    package var text: String { "\(address.text)/\(prefix)" }
}
