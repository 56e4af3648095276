// Lists of hosts: they match what their patterns match one by one, however many there are.

import LupinCore
import LupinPolicy
import Testing

@Suite struct HostListTests {
    private static func list(_ patterns: String...) throws -> HostList {
        HostList(try patterns.map { try HostPattern($0) })
    }

    private static func contains(_ list: HostList, _ host: String) throws -> Bool {
        list.contains(try #require(Host(host)))
    }

    @Test func `a list takes in what its patterns do`() throws {
        let list = try Self.list(
            "ads.example",
            "*.tracker.example",
            "**.spy.example",
            "metrics-*.example",
            "10.0.0.1",
            "::1"
        )
        #expect(list.count == 6)
        for host in [
            "ads.example", "a.tracker.example", "spy.example", "a.b.spy.example",
            "metrics-eu.example", "10.0.0.1", "[::1]", "ADS.example.",
        ] {
            #expect(try Self.contains(list, host), "\(host)")
        }
        for host in [
            "www.ads.example", "tracker.example", "a.b.tracker.example", "aspy.example", "example",
            "metrics.example", "10.0.0.2", "[::2]", "s.example",
        ] {
            #expect(try !Self.contains(list, host), "\(host)")
        }
    }

    @Test func `a name may be there in several ways, each once`() throws {
        let list = try Self.list("x.example", "*.x.example", "x.example", "**.x.example")
        #expect(list.count == 3)
        #expect(try Self.contains(list, "x.example"))
        #expect(try Self.contains(list, "a.b.x.example"))
    }

    @Test func `an empty list takes in nothing`() throws {
        let list = try Self.list()
        #expect(list.count == 0)
        #expect(try !Self.contains(list, "a.example"))
    }

    @Test func `every one of many is found, and nothing else`() throws {
        let hosts = (0..<5000).map { "host-\($0).list.example" }
        let list = HostList(try hosts.map { try HostPattern($0) })
        #expect(list.count == 5000)
        #expect(try hosts.allSatisfy { try Self.contains(list, $0) })
        for i in 5000..<10_000 { #expect(try !Self.contains(list, "host-\(i).list.example")) }
    }

    @Test func `rules with a list are asked about its hosts alone`() throws {
        let list = HostPattern(try Self.list("ads.example", "**.spy.example"), source: "{file: x}")
        let match = try Match.with { $0.hosts = [list, try HostPattern("own.example")] }
        let rules = RuleSet([.named("everyone"), .named("blocked", match)])
        func names(_ host: String) throws -> [Int] {
            rules.matching(try #require(SampleRequest(host: host)).subject)
        }
        #expect(try names("ads.example") == [0, 1])
        #expect(try names("a.spy.example") == [0, 1])
        #expect(try names("own.example") == [0, 1])
        #expect(try names("other.example") == [0])
    }
}
