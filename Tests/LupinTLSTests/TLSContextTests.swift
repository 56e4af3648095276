// That settings reach the connections, and unusable ones are told at once.

import LupinCore
import LupinTLS
import Testing

struct TLSContextTests {
    @Test(arguments: [
        "NO-SUCH-CIPHER", "TLS_NO_SUCH_SUITE", "aNULL:@SECLEVEL=0", "eNULL:@SECLEVEL=0",
        "AECDH-AES128-SHA:@SECLEVEL=0", "NULL-SHA256:@SECLEVEL=0", "PSK:@SECLEVEL=0",
    ])
    func `unknown ciphers are refused, and those that prove or hide nothing`(ciphers: String) throws
    {
        var client = ClientTLSConfiguration()
        client.ciphers = ciphers
        var server = ServerTLSConfiguration(ticketKeys: freshTicketKeys())
        server.ciphers = ciphers
        for make in [{ try TLSContext.client(client) }, { try TLSContext.server(server) }] {
            let failure = #expect(throws: TLSFailure.self) { try make() }
            #expect(failure?.kind == .badSetting)
        }
    }

    private static let chacha = "ECDHE-ECDSA-CHACHA20-POLY1305"
    private static let suite = "TLS_AES_128_GCM_SHA256"

    @Test(arguments: [
        (TLSVersion.tls12, "\(chacha):\(suite)", chacha), (.tls13, "\(chacha):\(suite)", suite),
        (.tls12, suite, "ECDHE-ECDSA-AES256-GCM-SHA384"),
        (.tls13, chacha, "TLS_AES_256_GCM_SHA384"),
    ])
    func `one list sets ciphers of both versions, each only if it names some`(
        sample: (version: TLSVersion, list: String, cipher: String)
    ) throws {
        var options = PairOptions(sample.version)
        options.client.ciphers = sample.list
        #expect(try JoinedPair.connected(options).client.cipherName == sample.cipher)
    }

    @Test(arguments: ["", String(repeating: "a", count: 256)])
    func `a protocol that ALPN can't write is refused`(name: String) throws {
        var configuration = ClientTLSConfiguration()
        configuration.protocols = [name]
        let failure = #expect(throws: TLSFailure.self) { try TLSContext.client(configuration) }
        #expect(failure?.kind == .badSetting)
        #expect(throws: TLSFailure.self) {
            try TLSSession.client(
                TLSContext.client(ClientTLSConfiguration()),
                serverName: nil,
                protocols: [name],
                check: { _ in .accepted }
            )
        }
    }

    @Test func `a lowest version above the highest is refused`() {
        var configuration = ClientTLSConfiguration()
        configuration.minimum = .tls13
        configuration.maximum = .tls12
        #expect(throws: TLSFailure.self) { try TLSContext.client(configuration) }
    }

    @Test func `a scope longer than OpenSSL's is refused`() throws {
        var options = PairOptions()
        options.scope = [UInt8](repeating: 1, count: 33)
        let identity = try MintedIdentity().identity
        let failure = #expect(throws: TLSFailure.self) {
            try JoinedPair(options, identity: identity)
        }
        #expect(failure?.kind == .badSetting)
    }

    @Test func `a weak key is refused`() throws {
        let identity = try MintedIdentity(algorithm: .rsa(bits: 1024)).identity
        let failure = #expect(throws: TLSFailure.self) {
            try JoinedPair(PairOptions(), identity: identity)
        }
        #expect(failure?.kind == .badIdentity)
    }

    @Test(arguments: [TLSVersion.tls12, .tls13], [PrivateKey.Algorithm.p384, .p521, .ed25519])
    func `a server may have any key that may be used`(
        version: TLSVersion,
        algorithm: PrivateKey.Algorithm
    ) throws {
        let identity = try MintedIdentity(algorithm: algorithm)
        let pair = try JoinedPair.connected(PairOptions(version), identity: identity)
        #expect(pair.isComplete == [.client: true, .server: true])
    }

    @Test(arguments: [TLSVersion.tls12, .tls13])
    func `too long a list of certificates is called that`(version: TLSVersion) throws {
        let minted = try MintedIdentity()
        let authority = minted.texts.certificates
        let long = (0..<150).flatMap { _ in authority }
        let identity = try TLSIdentity(certificates: long, key: minted.texts.key)
        let pair = try JoinedPair(PairOptions(version), identity: identity)
        pair.run()
        let failure = try #require(pair.failures[.client])
        #expect(failure.kind == .oversized)
        #expect("\(failure)".contains("100 KiB"))
    }

    @Test func `one context serves many threads at once`() async throws {
        let identity = try MintedIdentity()
        let context = try TLSContext.client(ClientTLSConfiguration())
        let server = try TLSContext.server(ServerTLSConfiguration(ticketKeys: freshTicketKeys()))
        let agreed = await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<8 {
                group.addTask { (try? agree(context, server, identity.identity)) ?? false }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(agreed == Array(repeating: true, count: 8))
    }
}

/// Whether a client and a server of these contexts complete a handshake.
private func agree(
    _ client: TLSContext,
    _ server: TLSContext,
    _ identity: TLSIdentity
) throws -> Bool {
    let one = try TLSSession.client(client, serverName: nil, check: { _ in .accepted })
    let other = try TLSSession.server(server, identity: identity, scope: [1])
    var toServer: [UInt8] = []
    var toClient: [UInt8] = []
    var isComplete = false
    for _ in 0..<4 {
        let fromServer = toClient
        toClient = []
        _ = try one.handshake(fromServer.span, output: &toServer)
        let fromClient = toServer
        toServer = []
        isComplete = try other.handshake(fromClient.span, output: &toClient).state == .complete
        if isComplete { break }
    }
    return isComplete
}
