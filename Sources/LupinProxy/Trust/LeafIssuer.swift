// The server's side of TLS with clients: certificates that the local CA issues on demand.
import Logging
import LupinCore
import LupinIO
import LupinTLS
import LupinUpstream
import Synchronization

/// Ends TLS of clients with certificates that the local CA signs.
///
/// The CA is loaded, or created, when it is first needed.
final class LeafIssuer: Sendable {
    private struct Ready {
        let leaves: LeafCertificates
        let context: TLSContext
    }

    private let settings: CertificateAuthoritySettings
    private let environment: [String: String]
    private let logger: Logger
    private let ready = Mutex<Ready?>(nil)
    /// A digest of the host, 32 bytes long: a ticket for one host is invalid for another.
    private let scopes = KeyedDigest()

    init(
        _ settings: CertificateAuthoritySettings,
        _ environment: [String: String],
        logger: Logger
    ) {
        self.settings = settings
        self.environment = environment
        self.logger = logger
    }

    /// Loads the CA and everything that is made once.
    /// - Throws: Why there is no CA, as text for people.
    func prepare(wallSeconds: Int64) throws(LupinError) {
        _ = try load(wallSeconds)
    }

    /// The server's side of TLS for a client that expects `host`.
    ///
    /// HTTP/2 is offered when the client may use it.
    func filter(
        for host: Host,
        offersHTTP2: Bool,
        wallSeconds: Int64
    ) throws(LupinError) -> TLSFilter {
        let ready = try load(wallSeconds)
        let session: TLSSession
        do {
            let identity = try ready.leaves.identity(for: host, now: wallSeconds)
            session = try TLSSession.server(
                ready.context,
                identity: identity,
                scope: scopes.sha256(host.text.utf8.span),
                protocols: offersHTTP2 ? ["h2", "http/1.1"] : ["http/1.1"],
                refusesOtherProtocols: true
            )
        } catch {
            throw LupinError(
                .proxyInternalError,
                host: host.text,
                detail: "No certificate for \(host.text): \(error)."
            )
        }
        return TLSFilter(session, isClient: false)
    }

    /// The certificate of the CA; nil when there is none; never creates one.
    var authority: Certificate? {
        guard let files = try? AuthorityFiles(settings, environment: environment) else {
            return nil
        }
        return files.storedCertificate
    }

    private func load(_ wallSeconds: Int64) throws(LupinError) -> Ready {
        try ready.withLock { ready throws(LupinError) in
            if let ready { return ready }
            let made: Ready
            do {
                let files = try AuthorityFiles(settings, environment: environment)
                let authority = try files.loadOrCreate(now: wallSeconds)
                if authority.isNew {
                    logger.notice("made a local certificate authority: \(files.certificate)")
                }
                made = Ready(
                    leaves: try LeafCertificates(
                        authority,
                        lifetime: settings.leafLifetime,
                        keyType: settings.keyType
                    ),
                    context: try TLSContext.server(
                        ServerTLSConfiguration(ticketKeys: .fresh())
                    )
                )
            } catch {
                throw .configuration("The local certificate authority: \(error).")
            }
            ready = made
            return made
        }
    }
}
