// That two sides agree, that bytes arrive whole however they are cut, and how connections end.

import LupinCore
import LupinTLS
import Testing

struct TLSSessionTests {
    private static let ways = [TLSVersion.tls12, .tls13].flatMap { version in
        [1, 7, Int.max].map { (version: version, feedMax: $0) }
    }

    @Test(arguments: ways)
    func `both sides agree and exchange bytes, however they are fed`(
        way: (version: TLSVersion, feedMax: Int)
    ) throws {
        let pair = try JoinedPair.connected(PairOptions(way.version), feedMax: way.feedMax)
        #expect(pair.isComplete == [.client: true, .server: true])
        try pair.send(Array("ping".utf8), from: .client)
        try pair.send(Array("pong".utf8), from: .server)
        pair.run()
        #expect(pair.plain[.server] == Array("ping".utf8))
        #expect(pair.plain[.client] == Array("pong".utf8))
        for side in [pair.client, pair.server] {
            #expect(side.version == way.version)
            #expect(side.cipherName?.isEmpty == false)
            #expect(side.chosenProtocol == nil)
            #expect(!side.isResumed)
            #expect(side.requestedServerName == "example.com")
        }
        #expect(pair.server.peerCertificates == nil)
    }

    @Test func `default ciphers of TLS 1.2 are ECDHE with AEAD`() throws {
        let pair = try JoinedPair.connected(PairOptions(.tls12))
        #expect(pair.client.cipherName?.hasPrefix("ECDHE-ECDSA-AES") == true)
    }

    @Test(arguments: ["127.0.0.1", "::1"])
    func `no name is asked for where the host is an address`(host: String) throws {
        var options = PairOptions()
        options.host = Host(host)
        let pair = try JoinedPair.connected(options)
        #expect(pair.server.requestedServerName == nil)
    }

    @Test(
        arguments: [
            (["h2", "http/1.1"], ["http/1.1", "h2"], "http/1.1"),
            (["h2", "http/1.1"], ["h2"], "h2"), (["http/1.1"], ["h2", "http/1.1"], "http/1.1"),
            ([], ["h2"], nil), (["spdy/1"], ["h2"], nil), (["spdy/1", "h2"], [], nil),
        ] as [([String], [String], String?)]
    )
    func `the server's order decides what ALPN chooses`(
        sample: (offer: [String], choice: [String], chosen: String?)
    ) throws {
        var options = PairOptions()
        options.client.protocols = sample.offer
        options.serverProtocols = sample.choice
        let pair = try JoinedPair.connected(options)
        #expect(pair.client.chosenProtocol == sample.chosen)
        #expect(pair.server.chosenProtocol == sample.chosen)
    }

    @Test func `one connection may offer other protocols than its context`() throws {
        var options = PairOptions()
        options.client.protocols = ["h2", "http/1.1"]
        options.clientProtocols = ["http/1.1"]
        options.serverProtocols = ["h2", "http/1.1"]
        #expect(try JoinedPair.connected(options).client.chosenProtocol == "http/1.1")
    }

    @Test func `a server may refuse a client that offers other protocols only`() throws {
        var options = PairOptions()
        options.client.protocols = ["spdy/1"]
        options.serverProtocols = ["h2"]
        options.refusesOtherProtocols = true
        let pair = try JoinedPair(options, identity: MintedIdentity().identity)
        pair.run()
        #expect(pair.failures[.server]?.kind == .noSharedProtocol)
        #expect(pair.failures[.client]?.kind == .noSharedProtocol)
    }

    @Test func `a client below the server's lowest version is told so`() throws {
        var options = PairOptions(.tls12)
        options.server.minimum = .tls13
        let pair = try JoinedPair(options, identity: MintedIdentity().identity)
        pair.run()
        #expect(pair.failures[.server]?.kind == .unsupportedVersion)
        #expect(pair.failures[.client]?.kind == .unsupportedVersion)
    }

    @Test func `sides without a cipher in common break off with an alert`() throws {
        var options = PairOptions(.tls12)
        options.client.ciphers = "ECDHE-ECDSA-AES128-GCM-SHA256"
        options.server.ciphers = "ECDHE-ECDSA-AES256-GCM-SHA384"
        let pair = try JoinedPair(options, identity: MintedIdentity().identity)
        pair.run()
        #expect(pair.failures[.server]?.kind == .protocolError)
        #expect(pair.failures[.client]?.kind == .alertReceived(.handshakeFailure))
        #expect(pair.failures[.client]?.description.contains("handshake_failure") == true)
    }

    @Test(arguments: [TLSVersion.tls12, .tls13])
    func `a large transfer arrives whole through small room and odd pieces`(
        version: TLSVersion
    ) throws {
        let pair = try JoinedPair.connected(PairOptions(version), feedMax: 10_007)
        let bytes = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }
        try pair.send(bytes, from: .server)
        try pair.send(bytes, from: .client)
        pair.run(roomMax: 4099)
        #expect(pair.plain[.client] == bytes)
        #expect(pair.plain[.server] == bytes)
        #expect(!pair.client.holdsPlaintext)
    }

    @Test func `a record larger than the room says that there is more`() throws {
        let pair = try JoinedPair.connected()
        var output: [UInt8] = []
        try pair.server.encrypt([UInt8](repeating: 7, count: 1000).span, output: &output)
        var room = [UInt8](repeating: 0, count: 600)
        var span = room.mutableSpan
        var answer: [UInt8] = []
        // What came before: the ticket.
        pair.run()
        let first = try pair.client.decrypt(output.span, into: &span, output: &answer)
        #expect(first.produced == 600 && first.consumed == output.count)
        #expect(pair.client.holdsPlaintext)
        let second = try pair.client.decrypt(Span(), into: &span, output: &answer)
        #expect(second.produced == 400 && !pair.client.holdsPlaintext)
    }

    @Test func `input behind the room is left where it is`() throws {
        let pair = try JoinedPair.connected()
        pair.run()
        var output: [UInt8] = []
        try pair.server.encrypt([UInt8](repeating: 7, count: 100).span, output: &output)
        let first = output.count
        try pair.server.encrypt([UInt8](repeating: 8, count: 100).span, output: &output)
        var room = [UInt8](repeating: 0, count: 100)
        var span = room.mutableSpan
        var answer: [UInt8] = []
        let reading = try pair.client.decrypt(output.span, into: &span, output: &answer)
        #expect(reading.consumed == first && reading.produced == 100)
        #expect(room.allSatisfy { $0 == 7 })
    }

    @Test(arguments: [JoinedPair.Side.client, .server])
    func `keys can be changed on the way and the peer changes its own`(
        side: JoinedPair.Side
    ) throws {
        let pair = try JoinedPair.connected()
        let asking = side == .client ? pair.client : pair.server
        let other: JoinedPair.Side = side == .client ? .server : .client
        for round in 0..<3 as Range<UInt8> {
            asking.updateKeys(asksPeer: true)
            try pair.send([round], from: side)
            // The KeyUpdate, and what was sent under the new key.
            #expect(recordCount(pair.outputs[side] ?? []) == 2)
            // Data of the peer under its old key crosses the request.
            try pair.send([round], from: other)
            pair.run()
            try pair.send([round], from: other)
            pair.run()
        }
        #expect(pair.failures.isEmpty)
        #expect(pair.plain[other] == [0, 1, 2])
        #expect(pair.plain[side] == [0, 0, 1, 1, 2, 2])
    }

    @Test func `a key is changed before it has sealed too many records`() throws {
        let pair = try JoinedPair.connected()
        pair.run()
        pair.client.recordsPerKeyMax = 3
        for count in [1, 1, 1, 2, 1, 1, 2] {
            try pair.send([9], from: .client)
            #expect(recordCount(pair.outputs[.client] ?? []) == count)
            pair.run()
        }
        #expect(pair.plain[.server] == [9, 9, 9, 9, 9, 9, 9])
    }

    /// How many records `bytes` are.
    private func recordCount(_ bytes: [UInt8]) -> Int {
        var count = 0
        var rest = bytes[...]
        while rest.count >= 5 {
            let header = Array(rest.prefix(5))
            rest = rest.dropFirst(5 + Int(header[3]) << 8 + Int(header[4]))
            count += 1
        }
        return count
    }

    @Test func `TLS 1.2 has no keys to change`() throws {
        let pair = try JoinedPair.connected(PairOptions(.tls12))
        pair.client.updateKeys(asksPeer: true)
        try pair.send([1], from: .client)
        pair.run()
        #expect(pair.plain[.server] == [1])
    }
}
