// The trust anchors of `upstream.tls.roots`, read once and only when TLS with an origin needs them.
package import LupinCore
import LupinIO
import LupinTLS
import Synchronization

/// Anchors that are loaded on first use.
///
/// A system's store has some 150 certificates: reading it takes longer than lupin's whole start may
/// take.
package final class SharedAnchors: Sendable {
    private let settings: TrustAnchorSettings
    private let environment: [String: String]
    private let loaded = Mutex<Result<TrustAnchors, TLSFailure>?>(nil)

    package init(_ settings: TrustAnchorSettings, _ environment: [String: String]) {
        self.settings = settings
        self.environment = environment
    }

    /// - Throws: `proxy_configuration_error` when a file is missing or holds no certificate.
    func load() throws(LupinError) -> TrustAnchors {
        let result = loaded.withLock { loaded in
            if let loaded { return loaded }
            let result = Result { () throws(TLSFailure) in
                try TrustAnchors.load(settings, environment: environment)
            }
            loaded = result
            return result
        }
        switch result {
        case .success(let anchors): return anchors
        case .failure(let failure): throw .configuration("upstream.tls.roots: \(failure.reason)")
        }
    }
}
