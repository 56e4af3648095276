// That a leaf is about the asked host alone, lives shortly, and is made no more often than needed.

import LupinCore
import LupinTLS
import Testing

struct LeafCertificatesTests {
    private let now: Int64 = 1_790_000_000
    private let week: Int64 = 7 * 86_400
    private let key: PrivateKey
    private let authority: CertificateAuthority

    init() throws {
        key = try PrivateKey.generate(.p256)
        authority = try CertificateAuthority.make(key: key, owner: "me@host", now: now)
    }

    private func leaves(countMax: Int = 1024) throws -> LeafCertificates {
        try LeafCertificates(authority, lifetime: .seconds(week), countMax: countMax)
    }

    private func host(_ text: String) throws -> Host { try #require(Host(text)) }

    @Test(arguments: [
        ("API.Example.COM.", Certificate.AlternativeName.dns("api.example.com")),
        ("bücher.example", .dns("xn--bcher-kva.example")),
        ("127.1", .address(.v4(0x7F00_0001))),
        ("::1", .address(.v6(high: 0, low: 1))),
        ("::ffff:10.0.0.1", .address(.v4(0x0A00_0001))),
    ])
    func `a leaf names the asked host and nothing else, addresses as addresses`(
        sample: (host: String, name: Certificate.AlternativeName)
    ) throws {
        let leaf = try leaves().certificate(for: host(sample.host), now: now)
        #expect(leaf.subjectAlternativeNames == [sample.name])
    }

    @Test func `hosts below one domain get leaves of their own, so no client can coalesce them`()
        throws
    {
        let leaves = try leaves()
        let one = try leaves.certificate(for: host("a.example.com"), now: now)
        let other = try leaves.certificate(for: host("b.example.com"), now: now)
        #expect(one.subjectAlternativeNames == [.dns("a.example.com")])
        #expect(other.subjectAlternativeNames == [.dns("b.example.com")])
    }

    @Test func `a leaf is a server's, signed by the authority, for a week at most`() throws {
        let leaf = try leaves().certificate(for: host("a.example"), now: now)
        #expect(leaf.issuerText == authority.certificate.subjectText)
        #expect(leaf.subjectText == "CN=a.example")
        #expect(!leaf.isAuthority)
        #expect(leaf.notBefore == now - 86_400)
        #expect(leaf.notAfter == now + week)
        #expect(leaf.serial.count == 16)
        #expect(leaf.firstExtension("2.5.29.19")?.der == [0x30, 0])
        #expect(leaf.firstExtension("2.5.29.15")?.der == [3, 2, 7, 0x80])
        #expect(
            leaf.firstExtension("2.5.29.37")?.der
                == [0x30, 10, 6, 8, 0x2B, 6, 1, 5, 5, 7, 3, 1]
        )
        let signer = try #require(authority.certificate.firstExtension("2.5.29.14")).der
        #expect(leaf.firstExtension("2.5.29.35")?.der.suffix(20) == signer.suffix(20))
        #expect(leaf.firstExtension("2.5.29.14") != nil)
    }

    @Test func `a long name stands in the alternative names alone`() throws {
        let label = String(repeating: "a", count: 60)
        let leaf = try leaves().certificate(for: host("\(label).example"), now: now)
        #expect(leaf.subjectText == "")
        #expect(leaf.subjectAlternativeNames == [.dns("\(label).example")])
        #expect(leaf.firstExtension("2.5.29.17")?.isCritical == true)
    }

    @Test func `an RSA leaf may encipher keys`() throws {
        let leaves = try LeafCertificates(
            authority,
            lifetime: .seconds(week),
            keyType: .rsa2048
        )
        let leaf = try leaves.certificate(for: host("a.example"), now: now)
        #expect(leaf.firstExtension("2.5.29.15")?.der == [3, 2, 5, 0xA0])
    }

    @Test func `all leaves have one key and serial numbers of their own`() throws {
        let leaves = try leaves()
        let made = try (0..<20).map { try leaves.certificate(for: host("h\($0).test"), now: now) }
        #expect(Set(made.map(\.publicKeyDigest)).count == 1)
        #expect(Set(made.map(\.serial)).count == 20)
        #expect(made[0].publicKeyDigest != key.publicKeyDigest)
    }

    @Test func `a leaf is shown until a quarter of its life is left`() throws {
        let leaves = try leaves()
        let host = try host("a.example")
        let first = try leaves.certificate(for: host, now: now)
        let limit = now + week - week / 4
        #expect(try leaves.certificate(for: host, now: limit - 1).serial == first.serial)
        #expect(
            try leaves.identity(for: host, now: now) === leaves.identity(for: host, now: limit - 1)
        )
        let second = try leaves.certificate(for: host, now: limit)
        #expect(second.serial != first.serial)
        #expect(second.notAfter == limit + week)
    }

    @Test func `a clock that was set back gets a leaf that is valid then`() throws {
        let leaves = try leaves()
        let host = try host("a.example")
        _ = try leaves.certificate(for: host, now: now + 5 * 86_400)
        let leaf = try leaves.certificate(for: host, now: now)
        #expect(try #require(leaf.notBefore) <= now)
    }

    @Test func `a leaf lives within its authority's time, and not without one`() throws {
        let leaves = try leaves()
        let last = try #require(authority.certificate.notAfter)
        let first = try #require(authority.certificate.notBefore)
        let host = try host("a.example")
        #expect(try leaves.certificate(for: host, now: last - 100).notAfter == last)
        #expect(throws: CertificateFailure.expired(last)) {
            try leaves.certificate(for: host, now: last)
        }
        let early = try self.host("b.example")
        #expect(try leaves.certificate(for: early, now: first).notBefore == first)
        #expect(throws: CertificateFailure.notYetValid(first)) {
            try leaves.certificate(for: self.host("c.example"), now: first - 1)
        }
    }

    @Test func `the leaf that was asked for longest ago gives way`() throws {
        let leaves = try leaves(countMax: 2)
        let (a, b, c) = try (host("a.test"), host("b.test"), host("c.test"))
        let first = try leaves.certificate(for: a, now: now).serial
        let second = try leaves.certificate(for: b, now: now).serial
        #expect(try leaves.certificate(for: a, now: now).serial == first)
        _ = try leaves.certificate(for: c, now: now)
        #expect(try leaves.certificate(for: a, now: now).serial == first)
        #expect(try leaves.certificate(for: b, now: now).serial != second)
    }

    @Test func `threads that ask at once get the same leaf`() async throws {
        let leaves = try leaves()
        let host = try host("a.example")
        let serials = try await withThrowingTaskGroup(of: [UInt8].self) { group in
            for _ in 0..<8 {
                group.addTask { try leaves.certificate(for: host, now: 1_790_000_000).serial }
            }
            return try await group.reduce(into: Set()) { $0.insert($1) }
        }
        #expect(serials.count == 1)
    }
}
