// Which networks a text names and which addresses lie in them.

import LupinCore
import Testing

struct CIDRTests {
    @Test(arguments: [
        ("127.0.0.0/8", "127.0.0.0/8"), ("127.1.2.3/8", "127.0.0.0/8"), ("::1", "::1/128"),
        ("10.0.0.1", "10.0.0.1/32"), ("0.0.0.0/0", "0.0.0.0/0"), ("1.2.3.4/0", "0.0.0.0/0"),
        ("2001:db8:ffff::/33", "2001:db8:8000::/33"), ("::/0", "::/0"),
        ("2001:db8::1:2:3:4/64", "2001:db8::/64"),
        ("2001:db8::8001:2:3:4/65", "2001:db8:0:0:8000::/65"),
        ("::ffff:10.1.2.3/104", "10.0.0.0/8"), ("::ffff:10.1.2.3", "10.1.2.3/32"),
    ])
    func `a network is written with its bits masked`(text: String, canonical: String) {
        #expect(CIDR(text)?.text == canonical)
    }

    @Test(arguments: [
        "", "/", "/8", "10.0.0.0/", "10.0.0.0/33", "::/129", "10.0.0.0/-1", "10.0.0.0/+8",
        "10.0.0.0/08", "10.0.0.0/8/8", "10.0.0.0/ 8", "10.0.0/8", "[::1]/128", "::1/",
        "10.0.0.0/99999999999999999999", "fe80::1%eth0/64", "localhost/8", "10.0.0.0/٨",
    ])
    func `what is no network is refused`(text: String) {
        #expect(CIDR(text) == nil)
    }

    @Test(arguments: [
        ("127.0.0.0/8", "127.255.0.1", true), ("127.0.0.0/8", "128.0.0.1", false),
        ("10.1.2.3", "10.1.2.3", true), ("10.1.2.3", "10.1.2.2", false),
        ("0.0.0.0/0", "255.1.2.3", true), ("0.0.0.0/0", "::1", false),
        ("::/0", "2001:db8::1", true), ("::/0", "1.2.3.4", false),
        ("2001:db8::/32", "2001:db8:ffff::1", true), ("2001:db8::/32", "2001:db9::1", false),
        ("2001:db8::/65", "2001:db8::7fff:0:0:1", true),
        ("2001:db8::/65", "2001:db8::8000:0:0:1", false),
        ("::1", "::1", true), ("::1", "::2", false), ("::1", "127.0.0.1", false),
        ("127.0.0.0/8", "::ffff:127.0.0.1", true), ("::ffff:127.0.0.0/104", "127.0.0.1", true),
        ("::ffff:127.0.0.1", "::ffff:127.0.0.1", true),
        ("127.0.0.0/8", "2002:7f00:1::", false), ("127.0.0.0/8", "::127.0.0.1", false),
    ])
    func `an address lies in a network or not`(network: String, address: String, lies: Bool) throws
    {
        let network = try #require(CIDR(network))
        #expect(network.contains(try #require(IPAddress(address))) == lies)
    }

    @Test(arguments: [(Int.min, 0), (-1, 0), (0, 0), (8, 8), (32, 32), (33, 32), (Int.max, 32)])
    func `a prefix out of range becomes the nearest`(prefix: Int, nearest: Int) {
        #expect(CIDR(.v4(0x0A01_0203), prefix: prefix).prefix == nearest)
        let wide = CIDR(.v6(high: 1, low: 1), prefix: prefix).prefix
        #expect(wide == min(max(prefix, 0), 128))
    }
}
