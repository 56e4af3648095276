// A client and a server joined in memory, and what they are made of.

import LupinCore
import LupinTLS

/// An identity minted for a test, and the certificate that it shows first.
struct MintedIdentity {
    let identity: TLSIdentity
    let certificate: Certificate
    /// The certificate and its issuer, then the key.
    let texts: (certificates: [UInt8], key: [UInt8])

    /// A leaf for `host` that a fresh authority issued.
    init(host: String = "example.com", algorithm: PrivateKey.Algorithm = .p256) throws {
        let now: Int64 = 1_790_000_000
        let rootKey = try PrivateKey.generate(.p256)
        var root = CertificateBuilder(key: rootKey, commonName: "Root of a test", now: now)
        root.basicConstraints = .init(isAuthority: true)
        let authority = try root.build()
        let key = try PrivateKey.generate(algorithm)
        var leaf = CertificateBuilder(key: key, commonName: host, now: now)
        leaf.issuer = .authority(authority, rootKey)
        leaf.alternativeNames = [.dns(host)]
        certificate = try leaf.build()
        texts = (certificate.pem + authority.pem, try key.withPEM { [UInt8](copying: $0) })
        identity = try TLSIdentity(certificates: texts.certificates, key: texts.key)
    }
}

/// Keys that don't age.
func freshTicketKeys() -> TicketKeys { TicketKeys(age: { .zero }) }

/// What a pair is made of; each part has a default.
struct PairOptions {
    var client = ClientTLSConfiguration()
    var server: ServerTLSConfiguration
    var host = Host("example.com")
    var scope = Array("example.com".utf8)
    var clientProtocols: [String]?
    var serverProtocols: [String] = []
    var refusesOtherProtocols = false
    var ticket: TLSTicket?
    var clientCheck: CertificateCheck = { _ in .accepted }
    var serverCheck: CertificateCheck?

    /// Both sides speak `version` only.
    init(_ version: TLSVersion = .tls13, ticketKeys: TicketKeys = freshTicketKeys()) {
        server = ServerTLSConfiguration(ticketKeys: ticketKeys)
        client.maximum = version
        client.minimum = version
    }
}

/// Two sides and the bytes between them.
final class JoinedPair {
    enum Side { case client, server }

    let client: TLSSession
    let server: TLSSession
    /// How many bytes a side gets to see at once beyond those it has left lying.
    private let feedMax: Int
    private var inputs: [Side: [UInt8]] = [.client: [], .server: []]
    private(set) var outputs: [Side: [UInt8]] = [.client: [], .server: []]
    private(set) var isComplete: [Side: Bool] = [.client: false, .server: false]
    private(set) var failures: [Side: TLSFailure] = [:]
    private(set) var endedSides: Set<Side> = []
    private(set) var plain: [Side: [UInt8]] = [.client: [], .server: []]
    /// How often a side's handshake wanted its check to be asked again.
    private(set) var verdictsWanted = 0

    init(
        _ options: PairOptions,
        identity: TLSIdentity,
        feedMax: Int = .max
    ) throws {
        self.feedMax = feedMax
        client = try TLSSession.client(
            TLSContext.client(options.client),
            serverName: options.host,
            protocols: options.clientProtocols,
            resuming: options.ticket,
            check: options.clientCheck
        )
        server = try TLSSession.server(
            TLSContext.server(options.server),
            identity: identity,
            scope: options.scope,
            protocols: options.serverProtocols,
            refusesOtherProtocols: options.refusesOtherProtocols,
            check: options.serverCheck
        )
    }

    /// A pair whose handshake is complete.
    static func connected(
        _ options: PairOptions = PairOptions(),
        identity: MintedIdentity? = nil,
        feedMax: Int = .max
    ) throws -> JoinedPair {
        let identity = try identity ?? MintedIdentity()
        let pair = try JoinedPair(options, identity: identity.identity, feedMax: feedMax)
        pair.run()
        if let failure = pair.failures.first { throw failure.value }
        return pair
    }

    /// Lets both sides work until neither has anything to do.
    ///
    /// - Parameters:
    ///   - roomMax: How much plain text is taken at once.
    ///   - change: Called with what a side has on its way after each of its turns.
    func run(
        roomMax: Int = 16 << 10,
        change: (Side, inout [UInt8]) -> Void = { _, _ in }
    ) {
        // A handshake takes some ten turns, fed byte by byte some ten thousand.
        for _ in 0..<10_000_000 {
            let clientMoved = step(.client, roomMax: roomMax)
            change(.client, &outputs[.client, default: []])
            let serverMoved = step(.server, roomMax: roomMax)
            change(.server, &outputs[.server, default: []])
            if !clientMoved, !serverMoved { return }
        }
    }

    func send(_ bytes: [UInt8], from side: Side) throws {
        var output: [UInt8] = []
        try session(side).encrypt(bytes.span, output: &output)
        outputs[side, default: []] += output
    }

    func close(_ side: Side) {
        var output: [UInt8] = []
        session(side).close(output: &output)
        outputs[side, default: []] += output
    }

    /// Puts bytes in front of a side as if its peer had sent them.
    func inject(_ bytes: [UInt8], to side: Side) {
        outputs[peer(of: side), default: []] += bytes
    }

    /// Changes what is on its way from a side.
    func tamper(from side: Side, _ change: (inout [UInt8]) -> Void) {
        change(&outputs[side, default: []])
    }

    private func session(_ side: Side) -> TLSSession { side == .client ? client : server }

    private func peer(of side: Side) -> Side { side == .client ? .server : .client }

    /// Whether anything moved.
    private func step(_ side: Side, roomMax: Int) -> Bool {
        let waiting = outputs[peer(of: side)] ?? []
        let fed = waiting.prefix(feedMax)
        outputs[peer(of: side)] = Array(waiting.dropFirst(fed.count))
        let input = (inputs[side] ?? []) + fed
        var output: [UInt8] = []
        var moved = !fed.isEmpty
        if failures[side] == nil {
            do throws(TLSFailure) {
                let (consumed, hasMoved) = try work(side, input, &output, roomMax)
                moved = moved || consumed > 0 || hasMoved
                inputs[side] = Array(input.dropFirst(consumed))
            } catch {
                failures[side] = error
                inputs[side] = []
                moved = true
            }
        }
        moved = moved || !output.isEmpty
        outputs[side, default: []] += output
        return moved
    }

    private func work(
        _ side: Side,
        _ input: [UInt8],
        _ output: inout [UInt8],
        _ roomMax: Int
    ) throws(TLSFailure) -> (consumed: Int, hasMoved: Bool) {
        if isComplete[side] == false {
            let (consumed, state) = try session(side).handshake(input.span, output: &output)
            isComplete[side] = state == .complete
            if state == .wantsVerdict { verdictsWanted += 1 }
            // A verdict that wasn't ready is asked for again without input.
            return (consumed, state != .wantsInput)
        }
        guard !endedSides.contains(side) else { return (0, false) }
        var room = [UInt8](repeating: 0, count: roomMax)
        var span = room.mutableSpan
        let reading = try session(side).decrypt(input.span, into: &span, output: &output)
        plain[side, default: []] += room.prefix(reading.produced)
        if reading.ended { endedSides.insert(side) }
        return (reading.consumed, reading.produced > 0 || reading.ended)
    }
}
