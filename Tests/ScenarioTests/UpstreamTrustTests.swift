// Whom lupin takes for an origin: certificates are judged before a byte of the request is sent.
import LupinCore
import LupinTLS
import LupinTestKit
import Testing

struct UpstreamTrustTests {
    /// What is wrong with an origin's certificate.
    enum Flaw: CaseIterable {
        case strangeRoot, otherHost, expired, notYetValid, noServer, selfSigned
    }

    private func identity(_ flaw: Flaw, _ authority: TestAuthority) throws -> TLSIdentity {
        let now = TestAuthority.now
        return switch flaw {
        case .strangeRoot: try TestAuthority().identity("origin.test")
        case .otherHost: try authority.identity("other.test")
        case .expired: try authority.identity("origin.test") { $0.notAfter = now - 60 }
        case .notYetValid: try authority.identity("origin.test") { $0.notBefore = now + 3600 }
        case .noServer:
            try authority.identity("origin.test") {
                $0.purposes = [CertificateBuilder.Purpose.client]
            }
        case .selfSigned: try authority.identity("origin.test") { $0.issuer = .itself }
        }
    }

    @Test(arguments: Flaw.allCases)
    func `a certificate that does not hold is a 502 over TLS, and nothing is sent`(
        flaw: Flaw
    ) async throws {
        try await Inside.run { inside in
            try inside.send("GET", "/secret")
            let far = try inside.origin.accept()
            let server = SecureSocket.Server(try identity(flaw, inside.proxy.authority))
            // In TLS 1.3 too the refusal comes before the handshake is complete on either side.
            let failure = #expect(throws: TLSFailure.self) { try far.secure(server) }
            if case .peerRejectedOurCertificate? = failure?.kind {
            } else {
                Issue.record("the origin was not told why: \(String(describing: failure))")
            }
            let response = try inside.client.response()
            #expect(response.status == 502)
            #expect(response["Proxy-Status"]?.contains("error=tls_certificate_error") == true)
            #expect(response.bodyText.contains("origin.test"))
            let record = try inside.proxy.record()
            #expect(record["error.type"] == "tls_certificate_error")
            #expect(record["trust.verdict"] == "fail")
            #expect(record["attempts.0.reason"] == "tls_certificate_error is not retried")
            #expect(!inside.origin.hasWaiting)
        }
    }

    @Test func `what one policy accepted serves no other`() async throws {
        let rules = """
            rules:
              - {match: {host: origin.test, path: /lax}, trust: disabled}
              - {match: {host: origin.test, path: /strict}, request: [{remove: [X-Gone]}]}
            """
        try await ProxyFixture.run(rules, resolve: ProxyFixture.here) { proxy in
            let strange = SecureSocket.Server(try TestAuthority().identity("origin.test"))
            let origin = try proxy.origin(security: strange) { connection in
                while try connection.nextRequest() != nil { try connection.reply(204) }
            }
            let url = "https://\(origin.authority("origin.test"))"
            let client = try proxy.client()
            #expect(try client.get("\(url)/lax").status == 204)
            // Neither the pooled connection nor its ticket gets around the check.
            #expect(try client.get("\(url)/strict").status == 502)
            #expect(try client.get("\(url)/lax").status == 204)
            #expect(origin.connections.count == 1)
            let records = try proxy.records(3)
            #expect(records.map { $0["trust.verdict"] } == ["disabled", "fail", "disabled"])
        }
    }

    @Test(arguments: [true, false])
    func `a pin decides who is let in`(isRight: Bool) async throws {
        let pinned = try PrivateKey.generate(.p256)
        let other = try PrivateKey.generate(.p256)
        let pin = PinText.text(pinned.publicKeyDigest)
        let rules = """
            rules:
              - match: {host: origin.test}
                trust: {all: [{pins: ["\(pin)"], chain: true, host: true}]}
            """
        try await ProxyFixture.run(rules, resolve: ProxyFixture.here) { proxy in
            let identity = try proxy.authority.identity(
                "origin.test",
                key: isRight ? pinned : other
            )
            let origin = try proxy.origin(security: SecureSocket.Server(identity)) {
                try $0.request()
                try $0.reply(204)
            }
            let url = "https://\(origin.authority("origin.test"))/"
            let response = try proxy.client().get(url)
            #expect(response.status == (isRight ? 204 : 502))
            let record = try proxy.record()
            #expect(record["trust.verdict"] == (isRight ? "pass" : "fail"))
            #expect(record["trust.checks.0.is"] == "pins")
            #expect(record["trust.checks.0.match"] == (isRight ? pin : nil))
            if !isRight { #expect(response["Proxy-Status"]?.contains("pin") == true) }
        }
    }
}
