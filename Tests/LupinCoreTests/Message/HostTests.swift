// Every spelling of a host and the one text that rules, keys, pins and deny lists compare.

import LupinCore
import Testing

struct HostTests {
    private func problem(_ bytes: [UInt8]) -> Host.Problem? {
        do throws(Host.Problem) {
            _ = try Host(parsing: bytes.span)
            return nil
        } catch {
            return error
        }
    }

    private func text(_ host: String) -> String? {
        try? Host(parsing: Array(host.utf8).span).text
    }

    @Test(arguments: [
        ("example.com", "example.com"), ("EXAMPLE.Com", "example.com"),
        ("example.com.", "example.com"), ("localhost", "localhost"), ("a_b.example", "a_b.example"),
        ("_dmarc.example", "_dmarc.example"), ("-a-.example", "-a-.example"),
        ("r3---sn.example", "r3---sn.example"), ("1.example", "1.example"),
        ("1e100.net", "1e100.net"), ("xn--BCHER-kva.example", "xn--bcher-kva.example"),
        ("xn--broken\u{2D}\u{2D}.example", "xn--broken--.example"),
        ("%65xample%2ECOM", "example.com"), ("ex%41mple.com%2e", "example.com"),
        ("bücher.example", "xn--bcher-kva.example"), ("BÜCHER.Example", "xn--bcher-kva.example"),
        ("b%C3%BCcher.example", "xn--bcher-kva.example"),
        ("b%c3%9ccher.example.", "xn--bcher-kva.example"),
        ("bu\u{308}cher.example", "xn--bcher-kva.example"), ("\u{212A}ey.example", "key.example"),
        ("пример.испытание", "xn--e1afmkfd.xn--80akhbyknj4f"),
        ("0xg.example.0xg", "0xg.example.0xg"),
        ("a.1x", "a.1x"), ("a.b1", "a.b1"),
    ])
    func `a name has one canonical form`(spelling: String, canonical: String) throws {
        let host = try Host(parsing: Array(spelling.utf8).span)
        #expect(host.text == canonical)
        #expect(host.uriText == canonical)
        #expect(host.address == nil)
        #expect(Host(canonical) == host)
    }

    @Test(arguments: [
        "127.0.0.1", "127.0.0.1.", "127.1", "127.0.1", "0x7f.1", "0X7F.1", "0177.0.0.1",
        "2130706433", "0x7f000001", "017700000001", "0x7f.0x0.0x0.0x1", "127.0.0.0x1",
        "%3127.0.0.1", "127%2E0.0.1", "127.0.0.01", "[::ffff:127.0.0.1]", "[::FFFF:7f00:1]",
        "000000000000000000000177.1",
    ])
    func `every spelling of 127_0_0_1 is that address`(spelling: String) throws {
        let host = try Host(parsing: Array(spelling.utf8).span)
        #expect(host.text == "127.0.0.1")
        #expect(host.address == .v4(0x7F00_0001))
        #expect(host.uriText == "127.0.0.1")
    }

    @Test(arguments: [
        ("0", "0.0.0.0"), ("0x", "0.0.0.0"), ("4294967295", "255.255.255.255"),
        ("1.16777215", "1.255.255.255"), ("1.2.65535", "1.2.255.255"), ("192.0.2.10", "192.0.2.10"),
        ("0xc0.0.02.012", "192.0.2.10"),
    ])
    func `the last number fills what the others leave`(spelling: String, canonical: String) {
        #expect(text(spelling) == canonical)
    }

    @Test(arguments: [
        ("[::1]", "::1"), ("[0:0:0:0:0:0:0:1]", "::1"), ("[2001:DB8::000A]", "2001:db8::a"),
        ("[64:ff9b::1.2.3.4]", "64:ff9b::102:304"), ("[::]", "::"),
    ])
    func `IPv6 stands in brackets in a URI and without them in text`(
        spelling: String,
        canonical: String
    ) throws {
        let host = try Host(parsing: Array(spelling.utf8).span)
        #expect(host.text == canonical)
        #expect(host.uriText == "[" + canonical + "]")
        #expect(host.address == IPAddress(canonical))
        #expect(Host(canonical) == host)
    }

    @Test(
        arguments: [
            ("", .empty), (".", .empty), ("..", .badLabel), ("a..b", .badLabel), (".a", .badLabel),
            ("a..", .badLabel), (".ü", .badLabel), ("ü..a", .badLabel), ("%2e", .empty),
            ("::1", .badCharacter(0x3A)), ("host:80", .badCharacter(0x3A)),
            ("a b", .badCharacter(0x20)), ("a%20b", .badCharacter(0x20)),
            ("a\tb", .badCharacter(9)),
            ("a%00b", .badCharacter(0)), ("a%0d%0ab", .badCharacter(13)),
            ("a/b", .badCharacter(0x2F)),
            ("a%2Fb", .badCharacter(0x2F)), ("u@h", .badCharacter(0x40)),
            ("a%40b", .badCharacter(0x40)),
            ("a?b", .badCharacter(0x3F)), ("a#b", .badCharacter(0x23)),
            ("a%25b", .badCharacter(0x25)),
            ("*.example", .badCharacter(0x2A)), ("a,b", .badCharacter(0x2C)),
            ("a\u{7F}", .badCharacter(0x7F)),
            ("%5B::1%5D", .badCharacter(0x5B)), ("a[", .badCharacter(0x5B)),
            ("a%", .badPercent), ("a%4", .badPercent), ("a%4g", .badPercent), ("%%41", .badPercent),
            ("[", .badIPv6), ("[]", .badIPv6), ("[::1", .badIPv6), ("[::1]x", .badIPv6),
            ("[1.2.3.4]", .badIPv6), ("[v1.x]", .badIPv6), ("[::1]]", .badIPv6),
            ("[[::1]]", .badIPv6),
            ("[fe80::1%25eth0]", .zone), ("[fe80::1%eth0]", .zone),
            ("256.1.1.1", .badIPv4), ("1.2.3.4.5", .badIPv4), ("1.2.3.08", .badIPv4),
            ("4294967296", .badIPv4), ("99999999999999999999999999", .badIPv4), ("foo.1", .badIPv4),
            ("foo.0x4", .badIPv4), ("1.16777216", .badIPv4), ("1.256.1", .badIPv4),
            ("09", .badIPv4),
            ("☃.example", .badIDN), ("a。b", .badIDN), ("a.\u{301}b.example", .badIDN),
        ] as [(String, Host.Problem)]
    )
    func `what is no host says why`(spelling: String, expected: Host.Problem) {
        #expect(problem(Array(spelling.utf8)) == expected)
        // IPv6 without brackets is a host of its own in text, never in an authority.
        if spelling != "::1" { #expect(Host(spelling) == nil) }
    }

    @Test func `bytes that are not UTF-8 are no host`() {
        #expect(problem([0x61, 0xFF]) == .badIDN)
        #expect(problem([0xC0, 0xAE]) == .badIDN)
        #expect(problem(Array("%ED%A0%80".utf8)) == .badIDN)
    }

    @Test func `labels end at 63 bytes and names at 253`() {
        let label = String(repeating: "a", count: 63)
        #expect(text(label) == label)
        #expect(problem(Array((label + "a").utf8)) == .badLabel)
        #expect(problem(Array((label + "a.example").utf8)) == .badLabel)
        let name = [label, label, label, String(label.dropLast(2))].joined(separator: ".")
        #expect(name.utf8.count == 253)
        #expect(text(name) == name)
        #expect(text(name + ".") == name)
        #expect(problem(Array((name + "a").utf8)) == .tooLong)
        #expect(problem(Array(String(repeating: "%61", count: 5000).utf8)) == .tooLong)
        #expect(problem(Array((String(repeating: "ü", count: 60) + ".example").utf8)) == .badLabel)
    }

    @Test func `two spellings are one key`() {
        let spellings = ["EXAMPLE.com.", "example.com", "ex%61mple.com"]
        #expect(Set(spellings.compactMap { Host($0) }).count == 1)
        #expect(Host("[::1]") == Host(.v6(high: 0, low: 1)))
        #expect(Host(.v6(high: 0, low: 0xFFFF_7F00_0001)) == Host("127.1"))
    }

    @Test func `no two bytes trap`() {
        for first in UInt8.min...UInt8.max {
            for second in [0, 0x25, 0x2E, 0x30, 0x3A, 0x5B, 0x5D, 0x61, 0x78, 0x80, 0xFF] as [UInt8]
            {
                _ = problem([first, second])
                _ = problem([second, first, second])
                _ = problem([0x5B, first, second, 0x5D])
                _ = IPAddress(parsing: [second, first].span)
            }
        }
    }
}
