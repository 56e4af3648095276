// Whom it is asked whether a certificate was withdrawn, in which order, and for how long.

import LupinCore
import LupinTLS
import LupinTestKit
import Testing

struct RevocationTests {
    @Test func `a stapled response spares every question`() throws {
        var server = try RevocableServer()
        server.sample.stapledResponse = try server.response.encoding()
        let result = try server.finding()
        #expect(result.0 == .good && result.asked.isEmpty)
    }

    @Test func `the responder is asked first, the list only if that is no use`() throws {
        let server = try RevocableServer()
        let good = try server.finding(ocsp: server.response.encoding())
        #expect(good.0 == .good && good.asked.map(\.kind) == [.ocsp])
        let list = try server.finding(ocsp: nil, list: server.list.encoding())
        #expect(list.0 == .good && list.asked.map(\.kind) == [.ocsp, .crl])
        let nothing = try server.finding()
        #expect(
            nothing.0
                == .unknown("http://ocsp.example/ is away; http://crl.example/1.crl is away")
        )
    }

    @Test func `a stapled response that is no use does not end the search`() throws {
        var server = try RevocableServer()
        var stale = server.response
        stale.nextUpdate = trustNow - 400
        server.sample.stapledResponse = try stale.encoding()
        var revoked = server.response
        revoked.status = .revoked
        #expect(try server.finding(ocsp: revoked.encoding()).0.outline == "revoked revoked")
    }

    @Test func `without network only the staple counts`() throws {
        let server = try RevocableServer()
        var demand = RevocationDemand()
        demand.usesNetwork = false
        let result = try server.finding(demand, ocsp: server.response.encoding())
        #expect(result.0 == .unknown("the server stapled no OCSP response"))
        #expect(result.asked.isEmpty)
    }

    @Test func `a certificate that names nobody to ask is unknown`() throws {
        let server = try RevocableServer(ocsp: false, list: false)
        for (method, services) in [
            (.any, "neither an OCSP server nor a list of revoked certificates"),
            (.ocsp, "no OCSP server"), (.crl, "no list of revoked certificates"),
        ] as [(RevocationDemand.Method, String)] {
            var demand = RevocationDemand()
            demand.method = method
            guard case .unknown(let reason) = try server.finding(demand).0 else {
                Issue.record("it is known")
                continue
            }
            #expect(
                reason.hasPrefix("the certificate “") && reason.hasSuffix("” names \(services)")
            )
        }
    }

    /// RFC 9608 §3: a certificate of an authority must not contain the extension.
    @Test func `of an authority something can always be said`() throws {
        let root = try MintedAuthority.root(now: trustNow)
        let intermediate = try root.intermediate { $0.add("2.5.29.56", [5, 0]) }
        let leaf = try intermediate.leaf("www.example.com") { $0.add("2.5.29.56", [5, 0]) }
        let trust = try TrustSample(leaf, root).trust()
        let finding = trust.revocation(RevocationDemand(), along: [.configured])
        guard case .unknown(let reason) = finding else {
            Issue.record("\(finding)")
            return
        }
        #expect(reason.contains("” names neither an OCSP server nor a list"))
    }

    @Test func `a certificate of which nothing is ever said is good`() throws {
        let root = try MintedAuthority.root(now: trustNow)
        let leaf = try root.leaf("www.example.com") {
            $0.extensions = [.init(identifier: "2.5.29.56", der: [5, 0])]
        }
        let trust = try TrustSample(leaf, root).trust()
        #expect(trust.revocation(RevocationDemand(), along: [.configured]) == .good)
    }

    @Test(arguments: [
        "https://ocsp.example/", "ldap://ocsp.example/", "http://a\nb/", "http://a b",
    ])
    func `only http is asked`(url: String) throws {
        let root = try MintedAuthority.root(now: trustNow)
        let leaf = try root.leaf("www.example.com") { $0.ocspURL = url }
        let trust = try TrustSample(leaf, root).trust()
        let finding = trust.revocation(RevocationDemand(), along: [.configured])
        guard case .unknown(let reason) = finding else {
            Issue.record("\(finding)")
            return
        }
        #expect(reason.contains("” names neither an OCSP server nor a list"))
    }

    @Test func `a withdrawn intermediate is found`() throws {
        let root = try MintedAuthority.root(now: trustNow)
        let intermediate = try root.intermediate {
            $0.revocationListURL = RevocableServer.listURL
        }
        let leaf = try intermediate.leaf("www.example.com") {
            $0.ocspURL = RevocableServer.ocspURL
        }
        var sample = TrustSample(leaf, root)
        sample.stapledResponse = try MintedOCSPResponse(
            leaf.certificate,
            issuer: intermediate,
            now: trustNow
        ).encoding()
        var list = MintedRevocationList(root, now: trustNow)
        list.revoked = [intermediate.certificate]
        let query = RevocationQuery(kind: .crl, url: RevocableServer.listURL)
        let demand = RevocationDemand()
        #expect(
            try sample.trust().revocation(demand, along: [.configured]) == .pending([query])
        )
        sample.evidence.answers[query] = RevocationAnswer(encoding: try list.encoding())
        let finding = try sample.trust().revocation(demand, along: [.configured])
        #expect(finding.outline == "revoked revoked")
    }

    @Test func `without a path nothing can be asked, and the next anchors are tried`() throws {
        var server = try RevocableServer()
        server.sample.stapledResponse = try server.response.encoding()
        let own = TrustPathDemand(.only([server.root.certificate.der]))
        server.sample.roots = [try MintedAuthority.root("Other", now: trustNow).certificate]
        let demand = RevocationDemand()
        let trust = try server.sample.trust()
        #expect(trust.revocation(demand, along: [.configured]).outline == "no path chain")
        #expect(trust.revocation(demand, along: [.configured, own]) == .good)
    }

    @Test func `answers are kept until they end, but an hour at most`() throws {
        let server = try RevocableServer()
        var response = server.response
        var list = server.list
        for (end, kept) in [
            (trustNow + 600, trustNow + 600), (trustNow + 86_400, trustNow + 3600),
            (trustNow, nil), (trustNow - 60, nil),
        ] {
            response.nextUpdate = end
            list.nextUpdate = end
            let ocsp = try response.encoding()
            #expect(RevocationCheck.validUntil(ocsp, .ocsp, now: trustNow) == kept)
            let crl = try list.encoding()
            #expect(RevocationCheck.validUntil(crl, .crl, now: trustNow) == kept)
        }
        response.nextUpdate = nil
        #expect(RevocationCheck.validUntil(try response.encoding(), .ocsp, now: trustNow) == nil)
        #expect(RevocationCheck.validUntil([1, 2], .crl, now: trustNow) == nil)
        #expect(RevocationCheck.validUntil([], .ocsp, now: trustNow) == nil)
    }
}
