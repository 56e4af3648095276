// That OCSP responses are read right, and that those which prove nothing say nothing.

import LupinCore
import LupinTLS
import LupinTestKit
import Testing

struct OCSPResponseTests {
    @Test func `a good response is good`() throws {
        let server = try RevocableServer()
        #expect(try server.finding(server.response) == .good)
    }

    @Test func `a revoked certificate is told with the day`() throws {
        let server = try RevocableServer()
        var response = server.response
        response.status = .revoked
        guard case .revoked(let problem) = try server.finding(response) else {
            Issue.record("it is not revoked")
            return
        }
        #expect(problem.kind == .revoked)
        #expect(
            problem.sentence == "The certificate “CN=www.example.com” was withdrawn by its issuer"
                + " on 2026-09-21."
        )
    }

    @Test func `certificates may be named by SHA-256 too`() throws {
        let server = try RevocableServer()
        var response = server.response
        response.usesSHA256 = true
        #expect(try server.finding(response) == .good)
    }

    @Test func `a response may do without its signer's certificate`() throws {
        let server = try RevocableServer()
        var response = server.response
        response.holdsSigner = false
        #expect(try server.finding(response) == .good)
    }

    @Test func `a delegate that the issuer appointed may sign`() throws {
        let server = try RevocableServer()
        let delegate = try server.root.leaf("Delegate") {
            $0.purposes = [CertificateBuilder.Purpose.ocspSigning]
        }
        var response = server.response
        response.signer = delegate.certificate
        response.signerKey = delegate.key
        #expect(try server.finding(response) == .good)
        response.status = .revoked
        #expect(try server.finding(response).outline == "revoked revoked")
    }

    private static let useless: [(String, @Sendable (inout MintedOCSPResponse) throws -> Void)] = [
        ("unknown", { $0.status = .unknown }),
        ("stale", { $0.nextUpdate = trustNow - 301 }),
        (
            "stale and revoked",
            {
                $0.status = .revoked; $0.nextUpdate = trustNow - 301
            }
        ),
        (
            "of the future",
            {
                $0.thisUpdate = trustNow + 301
                $0.nextUpdate = trustNow + 900
            }
        ),
        (
            "without end, of the day before yesterday",
            {
                $0.thisUpdate = trustNow - 86_400 * 2
                $0.nextUpdate = nil
            }
        ),
        ("signed over SHA-1", { $0.isWeak = true }),
        (
            "signed by a stranger",
            {
                let stranger = try MintedAuthority.root("Stranger", now: trustNow)
                $0.signer = stranger.certificate
                $0.signerKey = stranger.key
            }
        ),
        (
            "signed by a stranger of the issuer's name",
            {
                let stranger = try MintedAuthority.root(now: trustNow)
                $0.signer = stranger.certificate
                $0.signerKey = stranger.key
            }
        ),
        (
            "about another certificate",
            {
                let other = try MintedAuthority.root(now: trustNow).leaf("www.example.com")
                $0.certificate = other.certificate
            }
        ),
    ]

    @Test(arguments: useless.indices)
    func `a response that proves nothing says nothing`(index: Int) throws {
        let (name, spoil) = Self.useless[index]
        let server = try RevocableServer()
        var response = server.response
        try spoil(&response)
        let finding = try server.finding(response)
        #expect(finding.outline == "unknown", "\(name)")
    }

    @Test func `a server's certificate of the issuer may not sign responses`() throws {
        let server = try RevocableServer()
        let other = try server.root.leaf("other.example.com")
        var response = server.response
        response.signer = other.certificate
        response.signerKey = other.key
        #expect(try server.finding(response).outline == "unknown")
    }

    @Test func `a delegate's time is that of the judgement`() throws {
        let server = try RevocableServer()
        let delegate = try server.root.leaf("Delegate") {
            $0.purposes = [CertificateBuilder.Purpose.ocspSigning]
            $0.notAfter = trustNow - 1
        }
        var response = server.response
        response.signer = delegate.certificate
        response.signerKey = delegate.key
        #expect(try server.finding(response).outline == "unknown")
    }

    @Test func `clocks may be five minutes off`() throws {
        let server = try RevocableServer()
        var response = server.response
        response.nextUpdate = trustNow - 299
        #expect(try server.finding(response) == .good)
        response.thisUpdate = trustNow + 299
        response.nextUpdate = trustNow + 900
        #expect(try server.finding(response) == .good)
    }

    @Test func `garbage, cut off and mutated responses say nothing and do no harm`() throws {
        let server = try RevocableServer()
        var response = server.response
        response.status = .revoked
        let good = try response.encoding()
        var demand = RevocationDemand()
        demand.method = .ocsp
        var samples = [[], [0x30], try MintedOCSPResponse.tryLater(), good + [0]]
        samples += stride(from: 1, to: good.count, by: 13).map { Array(good.prefix($0)) }
        for i in stride(from: 0, to: good.count, by: 9) {
            var mutated = good
            mutated[i] ^= 0x41
            samples.append(mutated)
        }
        for sample in samples {
            let finding = try server.finding(demand, ocsp: sample).0
            #expect(finding.outline == "unknown" || finding.outline == "revoked revoked")
        }
    }
}
