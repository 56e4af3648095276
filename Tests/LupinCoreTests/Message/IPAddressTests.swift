// How addresses are read and written, and which of them lead where no client should get.

import LupinCore
import Testing

struct IPAddressTests {
    @Test(arguments: [
        ("127.0.0.1", 0x7F00_0001 as UInt32), ("0.0.0.0", 0), ("255.255.255.255", .max),
        ("192.0.2.10", 0xC000_020A),
    ])
    func `a dotted quad is read in host byte order and written back`(text: String, value: UInt32) {
        #expect(IPAddress(text) == .v4(value))
        #expect(IPAddress.v4(value).text == text)
    }

    @Test(arguments: [
        "", "1", "1.2.3", "1.2.3.4.5", "1.2.3.", ".1.2.3", "1..2.3", "256.0.0.1", "1.2.3.999",
        "01.2.3.4", "1.2.3.00", "0x7f.0.0.1", "1.2.3.4 ", " 1.2.3.4", "1.2.3.4.", "+1.2.3.4",
        "1.2.3.-4", "1.2.3.a", "2130706433", "1.2.3.4/8", "١.2.3.4",
    ])
    func `nothing but a strict dotted quad is IPv4`(text: String) {
        #expect(IPAddress(text) == nil)
    }

    @Test(arguments: [
        ("::", 0 as UInt64, 0 as UInt64),
        ("::1", 0, 1),
        ("1::", 0x0001_0000_0000_0000, 0),
        ("1:2:3:4:5:6:7:8", 0x0001_0002_0003_0004, 0x0005_0006_0007_0008),
        ("2001:db8::1", 0x2001_0DB8_0000_0000, 1),
        ("fe80::a:b", 0xFE80_0000_0000_0000, 0x000A_000B),
        ("::2:3:4:5:6:7:8", 0x0000_0002_0003_0004, 0x0005_0006_0007_0008),
        ("1:2:3:4:5:6:7::", 0x0001_0002_0003_0004, 0x0005_0006_0007_0000),
        ("::ffff:192.0.2.1", 0, 0xFFFF_C000_0201),
        ("64:ff9b::192.0.2.1", 0x0064_FF9B_0000_0000, 0xC000_0201),
        ("1:2:3:4:5:6:1.2.3.4", 0x0001_0002_0003_0004, 0x0005_0006_0102_0304),
        ("2001:DB8:0000::000A", 0x2001_0DB8_0000_0000, 10),
    ])
    func `all three forms of IPv6 are read`(text: String, high: UInt64, low: UInt64) {
        #expect(IPAddress(text) == .v6(high: high, low: low))
    }

    @Test(arguments: [
        ":", ":::", "1", "1:", ":1", "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9", "1:2:3:4:5:6:7:8:",
        "1::2::3", "1:::2", "::12345", "::g", "[::1]", "fe80::1%eth0", "fe80::1%25eth0",
        "1:2:3:4:5:6:7:1.2.3.4", "::1.2.3", "::1.2.3.4:5", "::01.2.3.4", "::1.2.3.256",
        "1:2:3:4::5:6:7:8", "::1 ", "::1/128", "::ffff:1.2.3.4.", ":1::", "1:2:3:4:5:6:7:8::",
    ])
    func `anything else with colons is refused`(text: String) {
        #expect(IPAddress(text) == nil)
    }

    @Test(arguments: [
        ("0:0:0:0:0:0:0:0", "::"),
        ("0:0:0:0:0:0:0:1", "::1"),
        ("2001:0DB8::0001", "2001:db8::1"),
        ("2001:db8:0:0:1:0:0:1", "2001:db8::1:0:0:1"),
        ("2001:0:0:1:0:0:0:1", "2001:0:0:1::1"),
        ("2001:db8:0:1:1:1:1:1", "2001:db8:0:1:1:1:1:1"),
        ("1:0:0:0:0:0:0:0", "1::"),
        ("0:0:1:0:0:0:0:0", "0:0:1::"),
        ("::ffff:c000:201", "::ffff:192.0.2.1"),
        ("::c000:201", "::c000:201"),
        ("0:0:0:1:2:3:4:5", "::1:2:3:4:5"),
        ("1:2:3:4:5:6:0:0", "1:2:3:4:5:6::"),
    ])
    func `IPv6 is written as RFC 5952 has it`(text: String, canonical: String) throws {
        let address = try #require(IPAddress(text))
        #expect(address.text == canonical)
        #expect(IPAddress(canonical) == address)
    }

    @Test(arguments: [
        ("::ffff:10.1.2.3", "10.1.2.3" as String?), ("::10.1.2.3", "10.1.2.3"),
        ("64:ff9b::a01:203", "10.1.2.3"), ("64:ff9b:1::a01:203", "10.1.2.3"),
        ("64:ff9b:1:ffff::a01:203", "10.1.2.3"), ("2002:a01:203::1", "10.1.2.3"),
        ("::", nil), ("::1", nil), ("64:ff9b:2::a01:203", nil), ("2003:a01:203::1", nil),
        ("64:ff9b:0:1::a01:203", nil), ("::1:0:a01:203", nil), ("10.1.2.3", nil),
    ])
    func `the IPv4 address inside is found`(text: String, inside: String?) {
        #expect(IPAddress(text)?.embedded?.text == inside)
    }

    /// l loopback, u unspecified, k link-local, p private, m metadata.
    @Test(arguments: [
        ("127.0.0.1", "l"), ("127.255.255.255", "l"), ("128.0.0.1", ""), ("126.255.255.255", ""),
        ("::1", "l"), ("::2", "u"), ("0.0.0.0", "u"), ("0.1.2.3", "u"), ("1.0.0.0", ""),
        ("::", "u"), ("169.254.0.1", "k"), ("169.253.0.1", ""), ("169.254.169.254", "km"),
        ("fe80::1", "k"), ("febf::1", "k"), ("fec0::1", ""), ("fe7f::1", ""),
        ("10.0.0.1", "p"), ("11.0.0.1", ""), ("172.15.255.255", ""), ("172.16.0.1", "p"),
        ("172.31.255.255", "p"), ("172.32.0.1", ""), ("192.168.1.1", "p"), ("192.169.0.1", ""),
        ("100.63.255.255", ""), ("100.64.0.1", "p"), ("100.127.255.255", "p"),
        ("100.128.0.1", ""), ("100.100.100.200", "pm"), ("fc00::1", "p"), ("fdff::1", "p"),
        ("fe00::1", ""), ("fd00:ec2::254", "pm"), ("fd00:ec2::253", "p"), ("8.8.8.8", ""),
        ("2606:4700::1111", ""), ("::ffff:127.0.0.1", "l"), ("::127.0.0.1", "l"),
        ("64:ff9b::127.0.0.1", "l"), ("2002:7f00:1::", "l"), ("::ffff:0.0.0.0", "u"),
        ("::ffff:169.254.169.254", "km"), ("64:ff9b::a9fe:a9fe", "km"),
        ("64:ff9b:1::6464:64c8", "pm"), ("2002:c0a8:101::5", "p"), ("::ffff:8.8.8.8", ""),
    ])
    func `each address has exactly these natures`(text: String, natures: String) throws {
        let address = try #require(IPAddress(text))
        var found = ""
        if address.isLoopback { found += "l" }
        if address.isUnspecified { found += "u" }
        if address.isLinkLocal { found += "k" }
        if address.isPrivate { found += "p" }
        if address.isMetadata { found += "m" }
        #expect(found == natures)
        #expect(address.reachesLoopback == (natures.contains("l") || natures.contains("u")))
    }
}
