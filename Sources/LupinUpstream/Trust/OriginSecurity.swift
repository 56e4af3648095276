// The TLS parameters for an origin: settings and rules combined, ready for use.
package import LupinCore
import LupinIO
package import LupinPolicy
package import LupinTLS
import Synchronization

/// The parameters of TLS with an origin, apart from its name.
package struct SecurityDemand: Hashable, Sendable {
    package var trust = NamedTrustPolicy.system
    package var clientCertificate: CertificateFiles?
    package var tls = TLSOverrides()

    package init() {}
}

/// A demand with its OpenSSL context, trust policy and anchors.
///
/// Connections are pooled and resumed by this object's identity, so a connection that one policy
/// accepted never serves another.
package final class OriginSecurity: Hashable, Sendable {
    let trust: NamedTrustPolicy
    let context: TLSContext
    let anchors: TrustAnchors
    let closeNotify: TLSOverrides.CloseNotify
    /// The certificate that lupin sends when the origin asks for one.
    let clientCertificate: CertificateFiles?
    /// The first certificate of its file.
    private let clientLeaf: Certificate?
    /// What the origin is offered.
    let ciphers: CipherChoice

    package init(
        trust: NamedTrustPolicy,
        context: TLSContext,
        anchors: TrustAnchors,
        closeNotify: TLSOverrides.CloseNotify = .required,
        clientCertificate: CertificateFiles? = nil,
        clientLeaf: Certificate? = nil,
        ciphers: CipherChoice = .standard
    ) {
        self.ciphers = ciphers
        self.trust = trust
        self.closeNotify = closeNotify
        self.clientCertificate = clientCertificate
        self.clientLeaf = clientLeaf
        self.context = context
        self.anchors = anchors
    }

    /// What users are told of its certificate when the origin has refused that.
    func clientIdentity(at wallSeconds: Int64) -> ClientIdentity? {
        clientCertificate.map { files in
            ClientIdentity(file: files.certificate, expiry: clientLeaf?.expiry(at: wallSeconds))
        }
    }

    package static func == (a: OriginSecurity, b: OriginSecurity) -> Bool { a === b }

    package func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

/// The demands prepared so far under one snapshot.
package final class OriginSecurities: Sendable {
    private let settings: UpstreamTLSSettings
    private let anchors: SharedAnchors
    private let ready = Mutex<[SecurityDemand: OriginSecurity]>([:])

    init(_ settings: UpstreamTLSSettings, anchors: SharedAnchors) {
        self.settings = settings
        self.anchors = anchors
    }

    /// The security for a rule's demand.
    /// - Throws: `proxy_configuration_error` when a file that it needs is unusable.
    package func security(_ demand: SecurityDemand) throws(LupinError) -> OriginSecurity {
        if let known = ready.withLock({ $0[demand] }) { return known }
        let identity: TLSIdentity? =
            if let files = demand.clientCertificate { try IdentityFiles.load(files) } else { nil }
        let made = OriginSecurity(
            trust: demand.trust,
            context: try context(for: demand, identity),
            anchors: try anchors.load(),
            closeNotify: demand.tls.closeNotify ?? .required,
            clientCertificate: demand.clientCertificate,
            clientLeaf: identity?.leaf,
            ciphers: ciphers(for: demand)
        )
        return ready.withLock { ready in
            if let known = ready[demand] { return known }
            ready[demand] = made
            return made
        }
    }

    private func ciphers(for demand: SecurityDemand) -> CipherChoice {
        if demand.tls.ciphers != nil { return .ofRule }
        return (demand.tls.minimum ?? settings.minimum) == .tls13 ? .ofTLS13 : .standard
    }

    private func context(
        for demand: SecurityDemand,
        _ identity: TLSIdentity?
    ) throws(LupinError) -> TLSContext {
        var configuration = ClientTLSConfiguration()
        configuration.minimum = demand.tls.minimum ?? settings.minimum
        configuration.ciphers = demand.tls.ciphers
        configuration.protocols = demand.tls.protocols ?? settings.protocols
        configuration.identity = identity
        do throws(TLSFailure) {
            return try TLSContext.client(configuration)
        } catch {
            throw .configuration("TLS towards origins: \(error)")
        }
    }
}
