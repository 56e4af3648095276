// Addresses that stand for names, and what is noted of those who connect there.
import LupinCore
import LupinIO
import LupinProxy
import Testing

struct FakeIPPoolTests {
    @Test func `every name has an address of its own, and keeps it`() {
        let names = FakeIPPool()
        let first = names.address(of: "a.test")
        #expect(first == .v4(0xC612_0001) && names.address(of: "b.test") == .v4(0xC612_0002))
        #expect(names.address(of: "a.test") == first && names.name(of: first) == "a.test")
        #expect(names.name(of: .v4(0xC612_0003)) == nil && names.name(of: .v4(1)) == nil)
        #expect(names.name(of: .v6(high: 0, low: 1)) == nil)
    }

    @Test func `the oldest name goes for a new one`() {
        let names = FakeIPPool()
        for number in 0..<FakeIPPool.countMax { _ = names.address(of: "n\(number).test") }
        let last = names.address(of: "n\(FakeIPPool.countMax - 1).test")
        #expect(last == .v4(0xC612_0000 + UInt32(FakeIPPool.countMax)))
        #expect(names.address(of: "new.test") == .v4(0xC612_0001))
        #expect(names.name(of: .v4(0xC612_0001)) == "new.test")
        // It is a new name again, and the second oldest one makes room.
        #expect(names.address(of: "n0.test") == .v4(0xC612_0002))
    }

    @Test func `targets are named by what was asked for`() {
        let redirected = Redirected([])
        let address = redirected.names.address(of: "a.test")
        #expect(redirected.target(of: SocketAddress(address: address, port: 443)) == "a.test:443")
        let other = SocketAddress(address: .v6(high: 0, low: 7), port: 1)
        #expect(redirected.target(of: other) == "[::7]:1")
        let plain = IPAddress.v4(0x0808_0808)
        for address in [plain, .v6(high: 0, low: 0xFFFF_0808_0808)] {
            let target = redirected.target(of: SocketAddress(address: address, port: 99))
            #expect(target == "8.8.8.8:99")
        }
    }

    @Test func `what is noted is bounded`() {
        let redirected = Redirected([])
        for number in 0..<30 {
            redirected.note(.past, number == 0 ? nil : "p", "t\(number):1")
        }
        redirected.note(.past, "p", "t3:1")
        let seen = redirected.seen(.past)
        #expect(seen.pairs.count == Redirected.Sightings.pairsMax && seen.others == 10)
        #expect(seen.pairs[0].program == nil && seen.pairs[1].program == "p")
    }
}
