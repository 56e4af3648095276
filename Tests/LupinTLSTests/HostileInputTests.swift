// That nothing a peer sends stops the process or is taken for good data.

import LupinCore
import LupinTLS
import Testing

struct HostileInputTests {
    /// Bytes for either side of a handshake, and whether the failure calls them no TLS.
    @Test(
        arguments: [
            (Array("GET / HTTP/1.1\r\nHost: a\r\n\r\n".utf8), true),
            (Array("HTTP/1.1 400 Bad Request\r\n\r\n".utf8), true),
            (Array("SSH-2.0-OpenSSH_9.2\r\n".utf8), true),
            ([UInt8](repeating: 0, count: 100), true), ([UInt8](repeating: 0xFF, count: 100), true),
            ([22, 3, 1, 0, 4, 99, 0, 0, 0], false),
            ([23, 3, 3, 0, 20] + [UInt8](repeating: 5, count: 20), false),
            ([22, 3, 3, 0xFF, 0xFF] + [UInt8](repeating: 1, count: 200), false),
        ] as [([UInt8], Bool)]
    )
    func `bytes that open no handshake fail it`(sample: (bytes: [UInt8], isOther: Bool)) throws {
        for side in [JoinedPair.Side.client, .server] {
            let pair = try JoinedPair(PairOptions(), identity: MintedIdentity().identity)
            let session = side == .client ? pair.client : pair.server
            var output: [UInt8] = []
            if side == .client { _ = try session.handshake(Span(), output: &output) }
            let failure = #expect(throws: TLSFailure.self) {
                _ = try session.handshake(sample.bytes.span, output: &output)
            }
            if sample.isOther { #expect(failure?.kind == .notTLS, "\(side)") }
            if !sample.isOther { #expect(failure?.kind != .notTLS, "\(side)") }
        }
    }

    @Test func `a record of another version of TLS is told from no TLS`() throws {
        let pair = try JoinedPair(PairOptions(), identity: MintedIdentity().identity)
        var output: [UInt8] = []
        let bytes: [UInt8] = [22, 2, 0, 0, 4, 1, 0, 0, 0]
        let failure = #expect(throws: TLSFailure.self) {
            _ = try pair.server.handshake(bytes.span, output: &output)
        }
        #expect(failure?.kind == .unsupportedVersion)
    }

    @Test(arguments: [TLSVersion.tls12, .tls13])
    func `a mutated handshake fails or completes, and never stops the process`(
        version: TLSVersion
    ) throws {
        let identity = try MintedIdentity()
        for seed in 0..<40 as Range<UInt64> {
            var random = SeededGenerator(seed: seed)
            let pair = try JoinedPair(PairOptions(version), identity: identity.identity)
            let turn = Int.random(in: 0..<3, using: &random)
            var turns = 0
            pair.run { side, bytes in
                defer { turns += 1 }
                guard turns == turn, !bytes.isEmpty else { return }
                let index = Int.random(in: 0..<bytes.count, using: &random)
                bytes[index] ^= 1 << UInt8.random(in: 0..<8, using: &random)
            }
            // A changed handshake must not pass for a good one: both sides hash all of it. What
            // stands outside, such as a record's version, may change.
            if pair.isComplete == [.client: true, .server: true] {
                try pair.send([1], from: .client)
                pair.run()
                #expect(pair.plain[.server] == [1] || !pair.failures.isEmpty)
            }
        }
    }

    @Test(arguments: [TLSVersion.tls12, .tls13])
    func `mutated records give no plain text`(version: TLSVersion) throws {
        for seed in 0..<30 as Range<UInt64> {
            var random = SeededGenerator(seed: seed)
            let pair = try JoinedPair.connected(PairOptions(version))
            pair.run()
            let before = pair.plain[.server]
            try pair.send([UInt8](repeating: 3, count: 50), from: .client)
            pair.tamper(from: .client) { bytes in
                // Behind the header: changes in there can make a record wait for more.
                let index = Int.random(in: 5..<bytes.count, using: &random)
                bytes[index] ^= 1 << UInt8.random(in: 0..<8, using: &random)
            }
            pair.run()
            #expect(pair.plain[.server] == before)
            #expect(pair.failures[.server]?.kind == .protocolError)
        }
    }

    @Test func `a record that is replayed is refused`() throws {
        let pair = try JoinedPair.connected()
        pair.run()
        try pair.send([1], from: .client)
        pair.tamper(from: .client) { $0 += $0 }
        pair.run()
        #expect(pair.plain[.server] == [1])
        #expect(pair.failures[.server]?.kind == .protocolError)
    }
}
