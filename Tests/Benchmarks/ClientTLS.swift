// How the load speaks TLS through a proxy, and when it looks at the certificate it is shown.
import Foundation
import LupinCore
import LupinTLS

/// What all TLS connections of a load process have in common.
///
/// No connection resumes another: each handshake is a full one. The measured load believes every
/// certificate, since its processor time is scarce and isn't the proxy's; the sanity check before
/// it names a root, and with it believes as a browser does.
struct ClientTLS: Sendable {
    private let context: TLSContext
    // Foundation has a Host, too.
    private let host: LupinCore.Host
    private let root: TrustAnchors?

    /// - Parameters:
    ///   - name: The origin's.
    ///   - protocols: What ALPN offers; each connection must agree on one, if there are any.
    ///   - rootFile: PEM of the root that certificates must lead to; nil for any.
    /// - Throws: What can't be read.
    init(name: String, protocols: [String], rootFile: String?) throws {
        guard let host = LupinCore.Host(name) else { throw BenchError("\(name) is no host") }
        self.host = host
        var configuration = ClientTLSConfiguration()
        configuration.protocols = protocols
        context = try TLSContext.client(configuration)
        guard let rootFile else {
            root = nil
            return
        }
        let text = [UInt8](try Data(contentsOf: URL(fileURLWithPath: rootFile)))
        root = TrustAnchors.only([try Certificate.parse(pem: text.span).der])
        if root == nil { throw BenchError("\(rootFile) is no root") }
    }

    /// A connection to the proxy, or to the origin that lies behind a CONNECT.
    func layer() throws(TLSFailure) -> TLSLayer {
        let session = try TLSSession.client(context, serverName: host) { certificates in
            verdict(on: certificates)
        }
        return TLSLayer(session, isClient: true)
    }

    private func verdict(on certificates: PeerCertificates) -> CertificateVerdict {
        guard let root else { return .accepted }
        let trust = PeerTrust(
            certificates,
            host: host,
            anchors: root,
            now: Int64(Date().timeIntervalSince1970)
        )
        guard case .success = trust.path(to: .configured) else {
            return .refused(.unknownAuthority)
        }
        return trust.nameProblem() == nil ? .accepted : .refused(.badName)
    }
}
