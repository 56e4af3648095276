// Which routing tables say that there is a way out.
import LupinIO
import Testing

struct NetworkRoutesTests {
    private static let heading =
        "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n"

    /// A table as Linux writes it: lines of 127 columns.
    static func ipv4(_ lines: [String]) -> [UInt8] {
        let padded = lines.map { $0 + String(repeating: " ", count: max(0, 127 - $0.count)) + "\n" }
        // Numbers lie in memory as the machine has them; the tables below are of a little-endian
        // one, as all are that lupin runs on.
        return Array((heading + padded.joined()).utf8)
    }

    static func ipv6(_ lines: [String]) -> [UInt8] {
        Array(lines.map { $0 + "\n" }.joined().utf8)
    }

    private static let gateway = "wlp3s0\t00000000\t0101A8C0\t0003\t0\t0\t600\t00000000\t0\t0\t0"
    private static let neighbours =
        "wlp3s0\t0001A8C0\t00000000\t0001\t0\t0\t600\t00FFFFFF\t0\t0\t0"
    private static let docker = "docker0\t000011AC\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0"

    /// What may stand in `/proc/net/route`, and whether it is a way out.
    struct Table: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let lines: [String]
        let isWayOut: Bool

        init(_ name: String, _ isWayOut: Bool, _ lines: String...) {
            (testDescription, self.isWayOut, self.lines) = (name, isWayOut, lines)
        }
    }

    static let ipv4Tables = [
        Table("a router", true, gateway, neighbours, docker),
        Table("a router at the end", true, docker, neighbours, gateway),
        Table(
            "a tunnel without a router",
            true,
            "tun0\t00000000\t00000000\t0001\t0\t0\t0\t00000000"
        ),
        Table("no routes", false),
        Table("neighbours only", false, neighbours, docker),
        Table("no longer up", false, "eth0\t00000000\t0101A8C0\t0002\t0\t0\t0\t00000000\t0\t0\t0"),
        Table("refused", false, "*\t00000000\t00000000\t0201\t0\t0\t0\t00000000\t0\t0\t0"),
        Table("swallowed", false, "*\t00000000\t00000000\t0001\t0\t0\t0\t00000000\t0\t0\t0"),
        Table("to itself", false, "lo\t00000000\t00000000\t0001\t0\t0\t0\t00000000\t0\t0\t0"),
        Table(
            "a name that begins like lo",
            true,
            "lo1\t00000000\t00000000\t0001\t0\t0\t0\t00000000"
        ),
        Table(
            "both halves, as VPNs have them",
            true,
            "tun0\t00000000\t0100080A\t0003\t0\t0\t0\t00000080\t0\t0\t0",
            "tun0\t00000080\t0100080A\t0003\t0\t0\t0\t00000080\t0\t0\t0"
        ),
        Table("one half", false, "tun0\t00000000\t0100080A\t0003\t0\t0\t0\t00000080\t0\t0\t0"),
        Table("multicast", false, "eth0\t000000E0\t00000000\t0001\t0\t0\t0\t000000F0\t0\t0\t0"),
        Table("0.0.0.0 alone", false, "eth0\t00000000\t00000000\t0005\t0\t0\t0\tFFFFFFFF\t0\t0\t0"),
        Table("cut short", false, "eth0\t00000000\t0101A8C0\t0003\t0\t0\t0"),
        Table("no numbers", false, "eth0\tdefault\t0101A8C0\t0003\t0\t0\t0\t0.0.0.0\t0\t0\t0"),
        Table("numbers too long", false, "eth0\t000000000\t0101A8C0\t0003\t0\t0\t0\t00000000"),
    ]

    @Test(arguments: ipv4Tables)
    func `IPv4 has a way out where its table says so`(table: Table) {
        #expect(
            NetworkRoutes.hasDefault(ipv4: Self.ipv4(table.lines), ipv6: nil) == table.isWayOut
        )
    }

    private static let zeros = String(repeating: "0", count: 32)

    /// A line of `/proc/net/ipv6_route`.
    private static func line(
        _ beginning: String,
        _ length: String,
        source: String = "00",
        flags: String = "00000003",
        on interface: String = "   wlp3s0"
    ) -> String {
        let address = beginning + zeros.dropFirst(beginning.count)
        return "\(address) \(length) \(zeros) \(source) fe8000000000000002005efffe000101 "
            + "00000258 00000002 00000000 \(flags) \(interface)"
    }

    static let ipv6Tables = [
        Table(
            "a router",
            true,
            line("20010db8", "40", flags: "00000001"),
            line("fe80", "40", flags: "00000001"),
            line("", "00"),
            line("ff", "08", flags: "00000001")
        ),
        Table("a router that said so itself", true, line("", "00", flags: "00450003")),
        Table("for some sources only", true, line("", "00", source: "38")),
        Table("no routes", false),
        Table(
            "links only",
            false,
            line("fe80", "40", flags: "00000001"),
            line("ff", "08", flags: "00000001"),
            "\(zeros) 00 \(zeros) 00 \(zeros) ffffffff 00000001 00000000 00200200       lo"
        ),
        Table("refused", false, line("", "00", flags: "00200200", on: "      lo")),
        Table("refused on a link", false, line("", "00", flags: "00000201")),
        Table("not up", false, line("", "00", flags: "00000002")),
        Table("to itself", false, line("", "00", flags: "00000001", on: "      lo")),
        Table("all global addresses", true, line("2", "03")),
        Table("all of them in two halves", true, line("2", "04"), line("3", "04")),
        Table("one half of them", false, line("2", "04"), line("fc", "07")),
        Table("one address", false, line("", "80")),
        Table("no length", false, line("", "zz")),
        Table("a length beyond all", false, line("", "ffffffff")),
        Table("cut short", false, String(line("", "00").prefix(130))),
    ]

    @Test(arguments: ipv6Tables)
    func `IPv6 has a way out where its table says so`(table: Table) {
        let verdict = NetworkRoutes.hasDefault(ipv4: Self.ipv4([]), ipv6: Self.ipv6(table.lines))
        #expect(verdict == table.isWayOut)
    }

    @Test func `one of the two is enough`() {
        let (none, some) = (Self.ipv4([Self.docker]), Self.ipv6([Self.line("", "00")]))
        #expect(NetworkRoutes.hasDefault(ipv4: none, ipv6: some))
        #expect(NetworkRoutes.hasDefault(ipv4: Self.ipv4([Self.gateway]), ipv6: []))
    }

    @Test func `a machine whose network was never set up has empty tables`() {
        #expect(!NetworkRoutes.hasDefault(ipv4: [], ipv6: []))
        #expect(!NetworkRoutes.hasDefault(ipv4: [], ipv6: nil))
    }

    @Test func `two halves of different kinds are no way out`() {
        let half = Self.ipv4(["tun0\t00000000\t0100080A\t0003\t0\t0\t0\t00000080\t0\t0\t0"])
        #expect(!NetworkRoutes.hasDefault(ipv4: half, ipv6: Self.ipv6([Self.line("8", "01")])))
    }

    @Test func `nobody is called offline for what cannot be known`() {
        let link = Self.ipv6([Self.line("fe80", "40")])
        #expect(NetworkRoutes.hasDefault(ipv4: nil, ipv6: nil))
        #expect(NetworkRoutes.hasDefault(ipv4: nil, ipv6: link))
        // Something else was mounted in its place.
        #expect(NetworkRoutes.hasDefault(ipv4: Array("nothing\n".utf8), ipv6: link))
        let long = [UInt8](repeating: 0x0A, count: NetworkRoutes.tableBytesMax)
        #expect(NetworkRoutes.hasDefault(ipv4: Self.ipv4([]), ipv6: long))
    }

    @Test func `a table may end anywhere`() {
        let lines = Self.ipv4Tables.flatMap(\.lines) + Self.ipv6Tables.flatMap(\.lines)
        let (four, six) = (Self.ipv4(lines), Self.ipv6(lines))
        for end in stride(from: 0, to: max(four.count, six.count), by: 37) {
            _ = NetworkRoutes.hasDefault(
                ipv4: Array(four.prefix(end)),
                ipv6: Array(six.prefix(end))
            )
        }
        // Until the line that is the way out says its mask it is none.
        let heading = Self.ipv4([])
        let whole = heading + Array(Self.gateway.utf8)
        for end in heading.count..<(heading.count + 46) {
            #expect(!NetworkRoutes.hasDefault(ipv4: Array(whole.prefix(end)), ipv6: nil))
        }
        #expect(NetworkRoutes.hasDefault(ipv4: whole, ipv6: nil))
    }

    @Test func `the tables of this machine can be asked`() {
        // Whatever they say: it must be the same twice.
        #expect(NetworkRoutes.hasDefault() == NetworkRoutes.hasDefault())
    }
}
