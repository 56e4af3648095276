// A test's end of a TLS connection: the test speaks plain bytes, a thread makes TLS of them.
package import LupinCore
import LupinIO
package import LupinTLS
import Synchronization

/// TLS over a connected socket, seen as a plain one.
///
/// What the test does on `plain` happens to the connection: FIN becomes close_notify and FIN, RST
/// cuts it without close_notify. What the peer does arrives likewise: close_notify as FIN, and any
/// other end, a FIN without close_notify too, as RST.
package final class SecureSocket: Sendable {
    /// How a test's client makes TLS.
    package struct Client: Sendable {
        /// How the first flight leaves.
        package enum Flight: Sendable { case whole, bytewise, recordPerByte }

        /// Asked for by SNI, unless it is an address; nil asks for nothing.
        package var name: String?
        package var protocols: [String] = []
        package var minimum = TLSVersion.tls12
        package var maximum = TLSVersion.tls13
        /// Shown to a server that asks for a certificate.
        package var identity: TLSIdentity?
        package var ticket: TLSTicket?
        /// What it thinks of the server's certificates: by default the best.
        package var verdict = CertificateVerdict.accepted
        package var flight = Flight.whole

        package init(_ name: String? = nil) { self.name = name }
    }

    /// How a test's server makes TLS.
    package struct Server: Sendable {
        package var identity: TLSIdentity
        package var protocols: [String] = []
        package var minimum = TLSVersion.tls12
        package var maximum = TLSVersion.tls13
        package var asksForCertificate = false
        /// What it thinks of the client's certificate: by default the best.
        package var verdict = CertificateVerdict.accepted
        /// Closes at once where TLS comes to nothing, and reads no more.
        package var hangsUp = false
        /// A client that offers none of `protocols` gets `no_application_protocol`.
        package var refusesOtherProtocols = false
        /// Connections with the same keys can be resumed.
        package var ticketKeys = TicketKeys { .zero }

        package init(_ identity: TLSIdentity) { self.identity = identity }
    }

    /// What is known once the handshake is complete.
    package struct Facts: Sendable {
        package var version: TLSVersion
        package var chosenProtocol: String?
        /// The name that the client asked for.
        package var serverName: String?
        package var isResumed: Bool
        /// The peer's in DER, its own first.
        package var certificates: [[UInt8]]

        init(_ session: TLSSession) {
            version = session.version
            chosenProtocol = session.chosenProtocol
            serverName = session.requestedServerName
            isResumed = session.isResumed
            certificates = session.peerCertificates?.encodings ?? []
        }
    }

    /// The test's end.
    package let plain: PlainSocket
    package let facts: Facts
    private let shuttle: SecureShuttle

    /// Makes TLS over `socket`, which is used up, as a client.
    ///
    /// - Throws: ``TLSFailure`` when TLS came to nothing, with the alert sent that is due.
    package convenience init(over socket: PlainSocket, as client: Client) throws {
        var configuration = ClientTLSConfiguration()
        configuration.minimum = client.minimum
        configuration.maximum = client.maximum
        configuration.protocols = client.protocols
        configuration.identity = client.identity
        let context = try TLSContext.client(configuration)
        try self.init(over: socket, client.flight) {
            try TLSSession.client(
                context,
                serverName: client.name.flatMap { Host($0) },
                resuming: client.ticket
            ) { _ in client.verdict }
        }
    }

    /// Makes TLS over `socket`, which is used up, as a server.
    ///
    /// - Throws: ``TLSFailure`` when TLS came to nothing, with the alert sent that is due.
    package convenience init(over socket: PlainSocket, as server: Server) throws {
        var configuration = ServerTLSConfiguration(ticketKeys: server.ticketKeys)
        configuration.minimum = server.minimum
        configuration.maximum = server.maximum
        let context = try TLSContext.server(configuration)
        try self.init(over: socket, .whole, hangsUp: server.hangsUp) {
            try TLSSession.server(
                context,
                identity: server.identity,
                scope: [],
                protocols: server.protocols,
                refusesOtherProtocols: server.refusesOtherProtocols,
                check: server.asksForCertificate ? { _ in server.verdict } : nil
            )
        }
    }

    private init(
        over socket: PlainSocket,
        _ flight: Client.Flight,
        hangsUp: Bool = false,
        _ session: @escaping @Sendable () throws -> TLSSession
    ) throws {
        let listener = try PlainListener()
        plain = try PlainSocket.connect(to: listener.address)
        plain.sendsAtOnce()
        let far = try listener.accept()
        far.sendsAtOnce()
        let wire = PlainSocket(owning: socket.surrender())
        wire.follow(likewise: socket)
        shuttle = SecureShuttle(wire: wire, plain: far, hangsUp: hangsUp)
        facts = try shuttle.start(flight, session)
        plain.follow(shuttle.progress)
    }

    /// The latest ticket that the server gave.
    package var ticket: TLSTicket? { shuttle.ticket }
    /// Why TLS ended badly, once it has.
    package var failure: TLSFailure? { shuttle.failure }

    /// Sends FIN without close_notify, as somebody does who cuts a body short.
    ///
    /// - Parameter bytes: What goes before it as it is, such as the beginning of a record.
    package func truncate(behind bytes: [UInt8] = []) {
        shuttle.cut.withLock { $0 = bytes }
        plain.shutdownWrite()
    }

    /// The first flight of a client, for tests that go no further.
    package static func clientHello(_ client: Client = Client("origin.test")) throws -> [UInt8] {
        var configuration = ClientTLSConfiguration()
        configuration.protocols = client.protocols
        let session = try TLSSession.client(
            try TLSContext.client(configuration),
            serverName: client.name.flatMap { Host($0) }
        ) { _ in .accepted }
        var output: [UInt8] = []
        _ = try session.handshake(Span(), output: &output)
        return output
    }
}
