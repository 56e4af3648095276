// That pins and pinned certificates are judged by the path that was verified.

import LupinCore
import LupinTLS
import LupinTestKit
import Testing

/// A server below an intermediate, with a stranger's certificate thrown in.
private struct PinnedServer {
    let root: MintedAuthority
    let intermediate: MintedAuthority
    let leaf: MintedLeaf
    let stranger: MintedAuthority
    var sample: TrustSample

    init() throws {
        root = try MintedAuthority.root(now: trustNow)
        intermediate = try root.intermediate()
        leaf = try intermediate.leaf("www.example.com")
        stranger = try MintedAuthority.root("Stranger", now: trustNow)
        sample = TrustSample(leaf, root)
        sample.presented.append(stranger.certificate.der)
    }

    func verdict(_ policy: TrustPolicy) throws -> TrustVerdict {
        policy.evaluate(try sample.trust())
    }

    /// Pins of keys.
    func pins(_ keys: PrivateKey..., chain: Bool = true) -> TrustPolicy {
        var pinned = PinnedKeys(keys.map(\.publicKeyDigest))
        pinned.demandsChain = chain
        return .pins(pinned)
    }

    func certificates(
        _ certificates: Certificate...,
        chain: Bool = true,
        areAnchors: Bool = false
    ) -> TrustPolicy {
        var pinned = PinnedCertificates(certificates.map(\.der))
        pinned.demandsChain = chain
        pinned.areAnchors = areAnchors
        return .certificates(pinned)
    }
}

struct PinningTests {
    @Test func `a pin may be the leaf's, the intermediate's, the root's, or a backup beside it`()
        throws
    {
        let server = try PinnedServer()
        let backup = try PrivateKey.generate(.p256)
        for key in [server.leaf.key, server.intermediate.key, server.root.key] {
            let verdict = try server.verdict(server.pins(backup, key))
            #expect(verdict.passed)
            #expect(verdict.checks.first?.match == PinText.text(key.publicKeyDigest))
        }
    }

    @Test(arguments: [true, false])
    func `a pin of a certificate that was merely sent along matches nothing`(chain: Bool) throws {
        let server = try PinnedServer()
        let pins = try server.verdict(server.pins(server.stranger.key, chain: chain))
        #expect(pins.problem?.kind == .pin)
        let certificates = try server.verdict(
            server.certificates(server.stranger.certificate, chain: chain)
        )
        #expect(certificates.problem?.kind == .pin)
    }

    @Test func `without a demand for a chain an unknown root is no obstacle`() throws {
        var server = try PinnedServer()
        server.sample.roots = [server.stranger.certificate]
        #expect(try server.verdict(server.pins(server.leaf.key)).problem?.kind == .chain)
        #expect(try server.verdict(server.pins(server.leaf.key, chain: false)).passed)
        #expect(try server.verdict(server.pins(server.intermediate.key, chain: false)).passed)
        let pinned = server.certificates(server.intermediate.certificate, chain: false)
        #expect(try server.verdict(pinned).passed)
    }

    @Test func `an intermediate that did not sign the leaf matches nothing without chain`() throws {
        var server = try PinnedServer()
        let twin = try server.root.intermediate()
        server.sample.presented = [server.leaf.certificate.der, twin.certificate.der]
        let verdict = try server.verdict(server.pins(twin.key, chain: false))
        #expect(verdict.problem?.kind == .pin)
    }

    @Test func `pinned certificates are found in the verified path`() throws {
        let server = try PinnedServer()
        for certificate in [server.leaf.certificate, server.intermediate.certificate] {
            #expect(try server.verdict(server.certificates(certificate)).passed)
        }
        let twin = try server.intermediate.leaf("www.example.com").certificate
        #expect(try server.verdict(server.certificates(twin)).problem?.kind == .pin)
    }

    @Test func `pinned anchors are the only ones, and the system's count no more`() throws {
        var server = try PinnedServer()
        let other = server.certificates(server.stranger.certificate, areAnchors: true)
        #expect(try server.verdict(other).problem?.kind == .chain)
        server.sample.roots = [server.stranger.certificate]
        for certificate in [
            server.root.certificate, server.intermediate.certificate, server.leaf.certificate,
        ] {
            let policy = server.certificates(certificate, areAnchors: true)
            #expect(try server.verdict(policy).passed)
            #expect(try server.verdict(.all([policy, .system(host: true)])).passed == false)
            #expect(try server.verdict(.any([.system(host: true), policy])).passed)
        }
    }

    @Test func `a CA that is pinned and no anchor is told how to become one`() throws {
        var server = try PinnedServer()
        server.sample.roots = [server.stranger.certificate]
        let advice = "To trust the policy's certificates as CAs, add self_signed: true."
        let pinned = try server.verdict(server.certificates(server.root.certificate))
        #expect(pinned.problem?.kind == .chain)
        #expect(pinned.problem?.sentence.hasSuffix(advice) == true)
        let other = try server.verdict(server.certificates(server.stranger.certificate))
        #expect(other.problem?.sentence.contains(advice) == false)
        server.sample.now = trustNow + 1_000_000_000
        let late = try server.verdict(server.certificates(server.root.certificate))
        #expect(late.problem?.sentence.contains(advice) == false)
    }

    @Test func `a self-signed server that is pinned needs no form, but its name and time`() throws {
        let root = try MintedAuthority.root(now: trustNow)
        let key = try PrivateKey.generate(.p256)
        var builder = CertificateBuilder(key: key, commonName: "My box", now: trustNow)
        builder.basicConstraints = .init(isAuthority: true)
        builder.alternativeNames = [.dns("www.example.com")]
        let own = try builder.build()
        var sample = TrustSample(MintedLeaf(certificate: own, key: key, chain: []), root)
        var pinned = PinnedCertificates([own.der])
        #expect(TrustPolicy.certificates(pinned).evaluate(try sample.trust()).passed == false)
        pinned.areAnchors = true
        let policy = TrustPolicy.certificates(pinned)
        #expect(policy.evaluate(try sample.trust()).passed)
        sample.host = "other.example.com"
        #expect(policy.evaluate(try sample.trust()).problem?.kind == .host)
        sample.host = "www.example.com"
        sample.now = builder.notAfter + 1
        #expect(policy.evaluate(try sample.trust()).problem?.kind == .expired)
    }

    @Test func `what people sign with pinned authorities of theirs needs no form of the Web`()
        throws
    {
        let root = try MintedAuthority.root(now: trustNow) {
            $0.keyUsage = nil
            $0.basicConstraints = .init(isAuthority: true, isCritical: false)
        }
        let leaf = try root.leaf("www.example.com") {
            $0.purposes = []
            $0.hasAuthorityKeyIdentifier = false
            $0.hasSubjectKeyIdentifier = false
        }
        let sample = TrustSample(leaf, root)
        #expect(try sample.path().problem?.kind == .malformed)
        var pinned = PinnedCertificates([root.certificate.der])
        pinned.areAnchors = true
        #expect(TrustPolicy.certificates(pinned).evaluate(try sample.trust()).passed)
        // What protects is demanded still.
        let weak = try root.leaf("www.example.com", algorithm: .rsa(bits: 1024))
        let verdict = TrustPolicy.certificates(pinned).evaluate(
            try TrustSample(weak, root).trust()
        )
        #expect(verdict.problem?.kind == .weak)
    }

    @Test func `a server is told why it was refused`() {
        let refusals = TrustProblem.Kind.allCases.map { TrustProblem($0, "").refusal }
        #expect(
            refusals == [
                .unknownAuthority, .badName, .expired, .notYetValid, .unknownAuthority,
                .badCertificate, .revoked, .badCertificate, .badCertificate, .badPurpose,
                .badCertificate,
            ]
        )
    }
}
