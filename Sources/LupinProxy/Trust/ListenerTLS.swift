// TLS between clients and a listener: lupin as an HTTPS proxy.
import LupinCore
import LupinTLS
import LupinUpstream

/// The certificate and TLS context of a listener.
final class ListenerTLS: Sendable {
    private let context: TLSContext
    private let identity: TLSIdentity
    private let protocols: [String]
    /// Tickets of one listener are invalid at every other.
    private let scope: [UInt8]

    /// - Throws: The problem with the files.
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

    /// The server's side of TLS for a new connection.
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
    /// Their ALPN names, the preferred one first.
    fileprivate var names: [String] {
        (contains(.http2) ? ["h2"] : []) + (contains(.http1) ? ["http/1.1"] : [])
    }
}

extension TicketKeys {
    /// Keys whose age counts from now.
    static func fresh() -> TicketKeys {
        let start = ContinuousClock.now
        return TicketKeys { ContinuousClock.now - start }
    }
}
