// Whether this machine has a default route: reads the tables of /proc/net.
import LupinCore

/// What the kernel's routing tables say.
///
/// `/proc/net/route` lists the main table only: a machine whose IPv4 default route is in another
/// table counts as offline.
package enum NetworkRoutes {
    /// Longer tables, with thousands of routes, belong to routers and are not read to their end.
    package static let tableBytesMax = 1 << 20

    /// Whether there is a route for public addresses, by IPv4 or IPv6.
    ///
    /// Returns true where that cannot be known. It reads two small files of /proc, which never
    /// block.
    package static func hasDefault() -> Bool {
        hasDefault(
            ipv4: ProcessFiles.content(of: "/proc/self/net/route", bytesMax: tableBytesMax),
            ipv6: ProcessFiles.content(of: "/proc/self/net/ipv6_route", bytesMax: tableBytesMax)
        )
    }

    /// The result of `hasDefault()` for two given tables.
    ///
    /// A machine without IPv6 has no IPv6 table. Without an IPv4 table nothing is known: it exists
    /// unless /proc is hidden from this process.
    /// - Parameters:
    ///   - ipv4: The content of `/proc/net/route`; nil where it cannot be read.
    ///   - ipv6: The content of `/proc/net/ipv6_route`.
    /// - Returns: Whether there is a default route, or may be one.
    package static func hasDefault(ipv4: [UInt8]?, ipv6: [UInt8]?) -> Bool {
        // The table is empty, without its heading, before any network is set up.
        guard let ipv4, ipv4.isEmpty || ipv4.starts(with: "Iface".utf8) else { return true }
        let ipv6 = ipv6 ?? []
        guard max(ipv4.count, ipv6.count) < tableBytesMax else { return true }
        return hasDefault(in: ipv4, by: IPv4Route.init, wanted: IPv4Route.ordinary)
            || hasDefault(in: ipv6, by: IPv6Route.init, wanted: IPv6Route.ordinary)
    }

    /// Whether the usable routes of a table together cover `wanted`.
    ///
    /// VPNs add two or more routes that override the default one (0.0.0.0/1 and 128.0.0.0/1), and
    /// these may be the only routes.
    private static func hasDefault<Route: ListedRoute>(
        in table: [UInt8],
        by read: ([ArraySlice<UInt8>]) -> Route?,
        wanted: UInt16
    ) -> Bool {
        var covered: UInt16 = 0
        for line in table.split(separator: 0x0A) {
            let words = line.split { $0 == 0x20 || $0 == 0x09 }
            guard let route = read(words), route.isUsable else { continue }
            covered |= sixteenths(of: route.firstByte, length: route.prefixLength)
            if covered & wanted == wanted { return true }
        }
        return false
    }

    /// The sixteenths of the address space that a prefix covers, one bit each; none for a smaller
    /// prefix.
    private static func sixteenths(of firstByte: UInt8, length: Int) -> UInt16 {
        guard (0...4).contains(length) else { return 0 }
        let width = 16 >> length
        let first = Int(firstByte >> 4) & ~(width - 1)
        return UInt16(truncatingIfNeeded: ((1 << width) - 1) << first)
    }
}

/// A line of a routing table.
private protocol ListedRoute {
    var interface: ArraySlice<UInt8> { get }
    var flags: UInt32 { get }
    /// The first byte of the destination; the others are irrelevant for a short prefix.
    var firstByte: UInt8 { get }
    var prefixLength: Int { get }
}

extension ListedRoute {
    /// Whether it leads anywhere: routes that refuse packets have `lo` or no interface.
    fileprivate var isUsable: Bool {
        let (up, reject): (UInt32, UInt32) = (0x0001, 0x0200)
        return flags & up != 0 && flags & reject == 0
            && !interface.elementsEqual("lo".utf8) && !interface.elementsEqual("*".utf8)
    }
}

/// Interface, destination, gateway, flags, three counters, mask.
///
/// The numbers have 32 bits and show memory content, so they are in the machine's byte order.
private struct IPv4Route: ListedRoute {
    /// 0.0.0.0 to 223.255.255.255: multicast and reserved addresses lie above.
    static let ordinary: UInt16 = 0x3FFF

    let interface: ArraySlice<UInt8>
    let flags: UInt32
    let firstByte: UInt8
    let prefixLength: Int

    init?(_ words: [ArraySlice<UInt8>]) {
        guard words.count >= 8, words[1].count == 8, words[7].count == 8,
            let destination = number(words[1]), let flags = number(words[3]),
            let mask = number(words[7])
        else { return nil }
        interface = words[0]
        self.flags = flags
        firstByte = UInt8(truncatingIfNeeded: UInt32(bigEndian: destination) >> 24)
        prefixLength = (~UInt32(bigEndian: mask)).leadingZeroBitCount
    }
}

/// Destination and length, source and length, gateway, metric, two counters, flags, interface.
///
/// All numbers are hexadecimal, addresses in written order.
///
/// A default route for some source addresses counts: a socket with such an address can send.
private struct IPv6Route: ListedRoute {
    /// 2000::/3, the global unicast addresses (RFC 4291 §2.4 and its registry).
    static let ordinary: UInt16 = 0x000C

    let interface: ArraySlice<UInt8>
    let flags: UInt32
    let firstByte: UInt8
    let prefixLength: Int

    init?(_ words: [ArraySlice<UInt8>]) {
        guard words.count >= 10, words[0].count == 32,
            let first = number(words[0].prefix(2)),
            let length = number(words[1]), let flags = number(words[8])
        else { return nil }
        interface = words[9]
        self.flags = flags
        firstByte = UInt8(truncatingIfNeeded: first)
        // Bounded: by 32 bits.
        prefixLength = Int(length)
    }
}

/// A hexadecimal number of up to 32 bits.
private func number(_ digits: ArraySlice<UInt8>) -> UInt32? {
    guard digits.count <= 8 else { return nil }
    return NumberReader.hexadecimal(digits.span).map { UInt32(truncatingIfNeeded: $0) }
}
