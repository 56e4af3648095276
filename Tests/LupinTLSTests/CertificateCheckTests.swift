// That each side's verdict on the other's certificates counts, and reaches the other as an alert.

import LupinCore
import LupinTLS
import Testing

struct CertificateCheckTests {
    private static let refusals: [(CertificateRefusal, TLSAlert)] = [
        (.badCertificate, .badCertificate), (.badName, .badCertificate),
        (.expired, .certificateExpired), (.notYetValid, .badCertificate),
        (.revoked, .certificateRevoked), (.unknownAuthority, .unknownAuthority),
        (.badPurpose, .unsupportedCertificate),
    ]

    private static let cases = [TLSVersion.tls12, .tls13].flatMap { version in
        refusals.map { (version: version, refusal: $0.0, alert: $0.1) }
    }

    @Test(arguments: cases)
    func `a server whose certificate is refused learns why, and gets no data`(
        sample: (version: TLSVersion, refusal: CertificateRefusal, alert: TLSAlert)
    ) throws {
        var options = PairOptions(sample.version)
        options.clientCheck = { _ in .refused(sample.refusal) }
        let pair = try JoinedPair(options, identity: MintedIdentity().identity)
        pair.run()
        #expect(pair.failures[.client]?.kind == .certificateRefused(sample.refusal))
        #expect(pair.failures[.server]?.kind == .peerRejectedOurCertificate(sample.alert))
        #expect(pair.isComplete == [.client: false, .server: false])
    }

    @Test(arguments: [TLSVersion.tls12, .tls13])
    func `the check sees the chain as it was presented`(version: TLSVersion) throws {
        let identity = try MintedIdentity()
        var seen: [[UInt8]] = []
        var options = PairOptions(version)
        options.clientCheck = {
            seen = $0.encodings
            return .accepted
        }
        let pair = try JoinedPair.connected(options, identity: identity)
        #expect(seen.count == 2 && seen.first == identity.certificate.der)
        #expect(pair.client.peerCertificates?.encodings == seen)
        #expect(pair.client.stapledResponse == nil)
    }

    @Test(arguments: [TLSVersion.tls12, .tls13], [1, Int.max])
    func `a verdict can be awaited in the middle of the handshake`(
        version: TLSVersion,
        feedMax: Int
    ) throws {
        var asked = 0
        var options = PairOptions(version)
        options.clientCheck = { _ in
            asked += 1
            return asked < 3 ? .undecided : .accepted
        }
        let pair = try JoinedPair.connected(options, feedMax: feedMax)
        #expect(asked == 3 && pair.verdictsWanted == 2)
        #expect(pair.isComplete == [.client: true, .server: true])
    }

    @Test func `a verdict that was awaited may be a refusal`() throws {
        var asked = 0
        var options = PairOptions()
        options.clientCheck = { _ in
            asked += 1
            return asked < 2 ? .undecided : .refused(.revoked)
        }
        let pair = try JoinedPair(options, identity: MintedIdentity().identity)
        pair.run()
        #expect(pair.failures[.client]?.kind == .certificateRefused(.revoked))
        #expect(pair.failures[.server]?.kind == .peerRejectedOurCertificate(.certificateRevoked))
    }

    @Test func `a staple that can't come any more is not awaited`() throws {
        var options = PairOptions(.tls13)
        var asked = 0
        options.clientCheck = {
            asked += 1
            return $0.mayBeStapledLater ? .accepted : .awaitsStaple
        }
        let pair = try JoinedPair(options, identity: MintedIdentity().identity)
        pair.run()
        #expect(asked == 1)
        #expect(pair.failures[.client]?.kind == .certificateRefused(.badCertificate))
    }

    @Test(arguments: [TLSVersion.tls12, .tls13])
    func `a client shows its certificate where it is asked for it`(version: TLSVersion) throws {
        let own = try MintedIdentity(host: "client.example")
        var seen: [[UInt8]] = []
        var options = PairOptions(version)
        options.client.identity = own.identity
        options.serverCheck = {
            seen = $0.encodings
            return .accepted
        }
        let pair = try JoinedPair.connected(options)
        #expect(seen.first == own.certificate.der && seen.count == 2)
        #expect(pair.server.peerCertificates?.encodings == seen)
    }

    @Test func `a client without certificate gets in, and the server knows`() throws {
        var options = PairOptions()
        options.serverCheck = { _ in
            Issue.record("there is nothing to judge")
            return .accepted
        }
        #expect(try JoinedPair.connected(options).server.peerCertificates == nil)
    }

    @Test func `a client shows nothing where it isn't asked`() throws {
        var options = PairOptions()
        options.client.identity = try MintedIdentity(host: "client.example").identity
        #expect(try JoinedPair.connected(options).server.peerCertificates == nil)
    }

    @Test func `in TLS 1.3 a client learns after its handshake that it was rejected`() throws {
        var options = PairOptions(.tls13)
        options.client.identity = try MintedIdentity(host: "client.example").identity
        options.serverCheck = { _ in .refused(.unknownAuthority) }
        let pair = try JoinedPair(options, identity: MintedIdentity().identity)
        pair.run()
        #expect(pair.isComplete[.client] == true)
        #expect(pair.failures[.server]?.kind == .certificateRefused(.unknownAuthority))
        #expect(pair.failures[.client]?.kind == .peerRejectedOurCertificate(.unknownAuthority))
    }

    @Test(arguments: [TLSVersion.tls12, .tls13])
    func `a client that was asked for no certificate does not take an alert as its rejection`(
        version: TLSVersion
    ) throws {
        let options = PairOptions(version)
        let context = try TLSContext.client(options.client)
        let session = try TLSSession.client(context, serverName: nil) { _ in .accepted }
        var output: [UInt8] = []
        _ = try session.handshake(Span(), output: &output)
        // Fatal, unknown_ca, in the place of the server's first flight.
        let alert: [UInt8] = [21, 3, 3, 0, 2, 2, 48]
        let failure = #expect(throws: TLSFailure.self) {
            try session.handshake(alert.span, output: &output)
        }
        #expect(failure?.kind == .alertReceived(.unknownAuthority))
        #expect(failure?.description == "the peer refused the connection (alert unknown_ca)")
    }

    @Test func `a server doesn't wait for a verdict on its client`() throws {
        var options = PairOptions(.tls12)
        options.client.identity = try MintedIdentity(host: "client.example").identity
        options.serverCheck = { _ in .undecided }
        let pair = try JoinedPair(options, identity: MintedIdentity().identity)
        pair.run()
        #expect(pair.failures[.server]?.kind == .certificateRefused(.badCertificate))
    }
}
