// TLS between clients and a listener: lupin as an HTTPS proxy.
import LupinCore
import LupinTLS

/// What a listener shows to its clients.
final class ListenerTLS: Sendable {
    private let context: TLSContext
    private let identity: TLSIdentity
    private let protocols: [String]
    /// Tickets of one listener are good at none of the others.
    private let scope: [UInt8]

    /// - Throws: What is wrong with the files.
    init(
        _ files: CertificateFiles,
        _ protocols: ListenProtocols,
        ticketKeys: TicketKeys
    ) throws(LupinError) {
        self.protocols = protocols.names
        identity = try IdentityFiles.load(files)
        scope = KeyedDigest().sha256(files.certificate.utf8Span.span)
        do throws(TLSFailure) {
            context = try TLSContext.server(ServerTLSConfiguration(ticketKeys: ticketKeys))
        } catch {
            throw .configuration("listen.tls: \(error)")
        }
    }

    /// The server's side for a new connection.
    func filter() throws(TLSFailure) -> TLSFilter {
        let session = try TLSSession.server(
            context,
            identity: identity,
            scope: scope,
            protocols: protocols,
            refusesOtherProtocols: true
        )
        return TLSFilter(session, isClient: false)
    }
}

extension ListenProtocols {
    /// What ALPN calls them, the preferred first.
    fileprivate var names: [String] {
        (contains(.http2) ? ["h2"] : []) + (contains(.http1) ? ["http/1.1"] : [])
    }
}

extension TicketKeys {
    /// Keys that count their age from now.
    static func fresh() -> TicketKeys {
        let start = ContinuousClock.now
        return TicketKeys { ContinuousClock.now - start }
    }
}
