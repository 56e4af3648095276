// How connections fare with a peer that renegotiates or staples, as other programs do.

import LupinCore
import LupinTLS
import Testing

struct RawPeerTests {
    private func handshake(_ session: TLSSession, with peer: RawPeer) throws -> [UInt8] {
        var input: [UInt8] = []
        for _ in 0..<10 {
            var output: [UInt8] = []
            let (consumed, state) = try session.handshake(input.span, output: &output)
            let rest = Array(input.dropFirst(consumed))
            input = rest + peer.turn(output)
            if state == .complete { return input }
        }
        Issue.record("the handshake takes too many turns")
        return []
    }

    /// What `session` reads from `bytes`, and what it answers.
    private func decrypt(
        _ session: TLSSession,
        _ bytes: [UInt8]
    ) throws -> (plain: [UInt8], answer: [UInt8]) {
        var room = [UInt8](repeating: 0, count: 4096)
        var span = room.mutableSpan
        var answer: [UInt8] = []
        let reading = try session.decrypt(bytes.span, into: &span, output: &answer)
        #expect(reading.consumed == bytes.count)
        return (Array(room.prefix(reading.produced)), answer)
    }

    private func client(
        check: @escaping CertificateCheck = { _ in .accepted }
    ) throws -> TLSSession {
        try .client(
            TLSContext.client(ClientTLSConfiguration()),
            serverName: Host("example.com"),
            check: check
        )
    }

    @Test func `a server that wants to renegotiate is refused, and the connection goes on`() throws
    {
        let peer = try #require(RawPeer(isTLS12: true, texts: MintedIdentity().texts))
        let session = try client()
        let rest = try handshake(session, with: peer)
        if !rest.isEmpty { _ = try decrypt(session, rest) }
        let (plain, answer) = try decrypt(session, peer.renegotiate())
        #expect(plain == [])
        // A warning alert in one record (RFC 5246 §7.2.2), and no ClientHello.
        #expect(answer.first == 21)
        var output: [UInt8] = []
        try session.encrypt([5].span, output: &output)
        #expect(output.first == 23)
        #expect(session.version == .tls12)
    }

    @Test func `a client that wants to renegotiate is refused, and the connection goes on`() throws
    {
        let peer = try #require(RawPeer(isTLS12: true))
        let session = try TLSSession.server(
            TLSContext.server(ServerTLSConfiguration(ticketKeys: freshTicketKeys())),
            identity: MintedIdentity().identity,
            scope: [1]
        )
        _ = try handshake(session, with: peer)
        #expect(try decrypt(session, peer.send([7])).plain == [7])
        let (plain, answer) = try decrypt(session, peer.renegotiate())
        #expect(plain == [])
        #expect(answer.first == 21)
        var output: [UInt8] = []
        try session.encrypt([5].span, output: &output)
        #expect(output.first == 23)
    }

    @Test func `a stapled response is there when TLS 1.3 asks for the verdict`() throws {
        let peer = try #require(RawPeer(isTLS12: false, texts: MintedIdentity().texts))
        var seen: [[UInt8]?] = []
        let session = try client { certificates in
            seen.append(certificates.stapledResponse)
            #expect(!certificates.mayBeStapledLater)
            return .accepted
        }
        _ = try handshake(session, with: peer)
        #expect(seen == [RawPeer.stapled])
        #expect(session.stapledResponse == RawPeer.stapled)
        #expect(session.peerCertificates?.stapledResponse == RawPeer.stapled)
    }

    @Test(arguments: [CertificateVerdict.accepted, .refused(.revoked), .undecided, .awaitsStaple])
    func `a stapled response of TLS 1.2 can be awaited`(verdict: CertificateVerdict) throws {
        let peer = try #require(RawPeer(isTLS12: true, texts: MintedIdentity().texts))
        var seen: [[UInt8]?] = []
        let session = try client { certificates in
            seen.append(certificates.stapledResponse)
            #expect(certificates.mayBeStapledLater == (seen.count == 1))
            return seen.count == 1 ? .awaitsStaple : verdict
        }
        if verdict == .accepted {
            _ = try handshake(session, with: peer)
        } else {
            let failure = #expect(throws: TLSFailure.self) { try handshake(session, with: peer) }
            let refusal: CertificateRefusal =
                verdict == .refused(.revoked) ? .revoked : .badCertificate
            #expect(failure?.kind == .certificateRefused(refusal))
        }
        #expect(seen == [nil, RawPeer.stapled])
    }

    @Test func `a server without staple is judged without one in the end`() throws {
        var asked = 0
        var options = PairOptions(.tls12)
        options.clientCheck = { certificates in
            asked += 1
            #expect(certificates.stapledResponse == nil)
            return certificates.mayBeStapledLater ? .awaitsStaple : .accepted
        }
        #expect(try JoinedPair.connected(options).isComplete[.client] == true)
        #expect(asked == 2)
    }
}
