// The chains that origins showed are kept by their leaf, and not more of them than there is room.
import LupinCore
import LupinUpstream
import Testing

struct ShownChainsTests {
    private func facts(_ number: Int, subject: String = "CN=a") -> CertificateFacts {
        var digest = [UInt8](repeating: 0, count: 32)
        (digest[0], digest[1]) = (UInt8(number / 256), UInt8(number % 256))
        return CertificateFacts(
            encoding: [],
            keyDigest: digest,
            subject: subject,
            issuer: "CN=authority",
            notBefore: 1_700_000_000,
            notAfter: 1_795_214_467
        )
    }

    private func chain(_ chains: ShownChains, of number: Int) -> [ShownChains.Link]? {
        let pin = PinText.text(facts(number).keyDigest)
        return chains.chain(ShownChains.Key(pin: pin, notAfter: "2026-11-20T22:41:07.000000Z"))
    }

    @Test func `a chain is found by the pin and the end of its leaf`() throws {
        let chains = ShownChains()
        chains.note([])
        chains.note([facts(1), facts(2, subject: "CN=between")])
        let links = try #require(chain(chains, of: 1))
        #expect(links.map(\.subject) == ["CN=a", "CN=between"])
        #expect(links[0].issuer == "CN=authority")
        #expect(links[0].notBefore == "2023-11-14T22:13:20.000000Z")
        #expect(links[1].pin == PinText.text(facts(2).keyDigest))
        #expect(chain(chains, of: 2) == nil)
        let other = ShownChains.Key(pin: links[0].pin, notAfter: "2027-11-20T22:41:07.000000Z")
        #expect(chains.chain(other) == nil)
    }

    @Test func `the oldest chain goes where there are 256, and a known one moves nothing`() {
        let chains = ShownChains()
        for number in 0..<256 { chains.note([facts(number)]) }
        for _ in 0..<1000 { chains.note([facts(0)]) }
        #expect((0..<256).allSatisfy { chain(chains, of: $0) != nil })
        for number in 256..<300 { chains.note([facts(number)]) }
        #expect((0..<44).allSatisfy { chain(chains, of: $0) == nil })
        #expect((44..<300).allSatisfy { chain(chains, of: $0) != nil })
    }

    @Test func `names of any length take little room`() {
        let chains = ShownChains()
        chains.note([facts(1, subject: String(repeating: "n", count: 100_000))])
        #expect(chain(chains, of: 1)?.first?.subject.count == 256)
    }
}
