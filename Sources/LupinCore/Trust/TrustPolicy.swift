// The requirements of a `trust:` policy on a server's certificates.

/// A requirement on a server's certificates: one of Alamofire's evaluators, or several combined.
package indirect enum TrustPolicy: Sendable, Hashable {
    /// A path to the anchors of `upstream.tls.roots`, and the name: `DefaultTrustEvaluator`.
    ///
    /// With `host` false the name is not checked.
    case system(host: Bool)
    /// One of the certificates in the path: `PinnedCertificatesTrustEvaluator`.
    case certificates(PinnedCertificates)
    /// One of the public keys in the path: `PublicKeysTrustEvaluator`.
    case pins(PinnedKeys)
    /// None of the certificates is revoked: `RevocationTrustEvaluator`.
    case revocation(RevocationDemand)
    /// All of them: `CompositeTrustEvaluator`.
    case all([TrustPolicy])
    /// At least one of them.
    case any([TrustPolicy])
    /// A policy whose paths have a limited number of certificates between the server's and the
    /// anchor.
    case limited(TrustPolicy, intermediatesMax: Int)
    /// Nothing at all: `DisabledTrustEvaluator`.
    case disabled
}

/// `certificates:` of a trust policy.
package struct PinnedCertificates: Sendable, Hashable {
    /// DER encodings; one of them must be in the path.
    package var encodings: [[UInt8]]
    /// Whether they are the only anchors (Alamofire: `acceptSelfSignedCertificates`).
    package var areAnchors = false
    /// Whether a path to the anchors is demanded (`performDefaultValidation`).
    package var demandsChain = true
    /// Whether the name is checked (`validateHost`).
    package var demandsHost = true

    package init(_ encodings: [[UInt8]]) { self.encodings = encodings }
}

/// `pins:` of a trust policy.
package struct PinnedKeys: Sendable, Hashable {
    /// SHA-256 of the SubjectPublicKeyInfo, 32 bytes each (RFC 7469 §2.4).
    package var digests: [[UInt8]]
    /// Whether a path to the anchors is demanded (`performDefaultValidation`).
    package var demandsChain = true
    /// Whether the name is checked (`validateHost`).
    package var demandsHost = true

    package init(_ digests: [[UInt8]]) { self.digests = digests }
}

/// `revocation:` of a trust policy.
package struct RevocationDemand: Sendable, Hashable {
    package enum Method: UInt8, Sendable, Hashable { case any, ocsp, crl }

    package var method = Method.any
    /// Whether an answer is required; otherwise only a revoked certificate fails
    /// (`requirePositiveResponse`).
    package var isRequired = false
    /// Whether OCSP and CRLs may be fetched; otherwise only the stapled response counts.
    package var usesNetwork = true

    package init() {}
}

/// A trust policy with its name in records.
package struct NamedTrustPolicy: Sendable, Hashable {
    /// A name of `trust:`, `system`, `disabled`, or `trust@LINE` for an inline policy.
    package var name: String
    package var policy: TrustPolicy

    package init(name: String, policy: TrustPolicy) {
        self.name = name
        self.policy = policy
    }

    /// The policy without a rule.
    package static let system = NamedTrustPolicy(name: "system", policy: .system(host: true))
}

extension TrustPolicy {
    /// Whether it accepts any certificate, as `disabled` does.
    package var acceptsAnyone: Bool {
        switch self {
        case .disabled: true
        case .all(let policies): policies.allSatisfy(\.acceptsAnyone)
        case .any(let policies): policies.contains(where: \.acceptsAnyone)
        case .limited(let policy, _): policy.acceptsAnyone
        case .system, .certificates, .pins, .revocation: false
        }
    }

    /// Whether it contains pins or certificates.
    package var hasPins: Bool {
        switch self {
        case .pins, .certificates: true
        case .all(let policies), .any(let policies): policies.contains(where: \.hasPins)
        case .limited(let policy, _): policy.hasPins
        case .system, .revocation, .disabled: false
        }
    }
}
