// The interface through which evaluators check a server's certificates.

/// The facts of one certificate for policies and records.
package struct CertificateFacts: Sendable, Hashable {
    package var encoding: [UInt8]
    /// SHA-256 of the SubjectPublicKeyInfo, 32 bytes.
    package var keyDigest: [UInt8]
    package var subject: String
    package var issuer: String
    /// Seconds since 1970.
    package var notBefore: Int64
    /// Seconds since 1970.
    package var notAfter: Int64

    package init(
        encoding: [UInt8],
        keyDigest: [UInt8],
        subject: String,
        issuer: String = "",
        notBefore: Int64 = 0,
        notAfter: Int64
    ) {
        self.encoding = encoding
        self.keyDigest = keyDigest
        self.subject = subject
        self.issuer = issuer
        self.notBefore = notBefore
        self.notAfter = notAfter
    }
}

/// The anchors at which a path must end.
package enum TrustAnchorChoice: Sendable, Hashable {
    /// The anchors of `upstream.tls.roots`.
    case configured
    /// These certificates and no others, in DER.
    case only([[UInt8]])
}

/// Requirements on a path, in addition to those on every path.
package struct TrustPathDemand: Sendable, Hashable {
    package var anchors: TrustAnchorChoice
    /// Whether the CAs of the path must be allowed to name the requested host.
    package var isForHost: Bool
    /// The most certificates between the server's and the anchor, from a policy's `max_depth`; nil
    /// for ``intermediatesMax``.
    package private(set) var limit: Int?

    /// The limit for every path, whatever a policy contains; paths of the Web have one to three.
    package static let intermediatesMax = 8

    package init(_ anchors: TrustAnchorChoice, isForHost: Bool = true, limit: Int? = nil) {
        self.anchors = anchors
        self.isForHost = isForHost
        self.limit = limit
    }

    /// The same demand with `limit`, unless its own limit is lower.
    package func limited(to limit: Int?) -> TrustPathDemand {
        guard let limit else { return self }
        var demand = self
        demand.limit = min(limit, self.limit ?? limit)
        return demand
    }

    /// The default: a path for the host, to the anchors of `upstream.tls.roots`.
    package static let configured = TrustPathDemand(.configured)
}

/// The certificates of one server, with the checks on them.
///
/// The name is Alamofire's for the input of evaluators.
package protocol ServerTrust {
    /// As the server sent them, its own first.
    var presented: [CertificateFacts] { get }

    /// The server's own certificate and the sent ones that signed it, up from there.
    ///
    /// Other sent certificates prove nothing: any server can send any certificate.
    var signedPath: [CertificateFacts] { get }

    /// The path from the server's certificate to an anchor, both included, at the present time.
    func path(to demand: TrustPathDemand) -> Result<[CertificateFacts], TrustProblem>

    /// Why the certificate's names don't match; nil if one is the requested host.
    func nameProblem() -> TrustProblem?

    /// Whether a certificate of the first existing path was revoked.
    func revocation(
        _ demand: RevocationDemand,
        along paths: [TrustPathDemand]
    ) -> RevocationFinding
}

/// The result of revocation checks.
package enum RevocationFinding: Sendable, Equatable {
    /// All certificates are known to be good.
    case good
    case revoked(TrustProblem)
    /// No service could be asked, or the answers are unusable; with the reason.
    case unknown(String)
    /// Queries must be made first.
    case pending([RevocationQuery])
    /// The server may staple a response later in the handshake, which must be seen first.
    case awaitsStaple
    /// There is no path whose certificates could be checked.
    case noPath(TrustProblem)
}

/// A query to an OCSP responder, or the download of a revocation list.
package struct RevocationQuery: Sendable, Hashable {
    package enum Kind: UInt8, Sendable, Hashable { case ocsp, crl }

    package var kind: Kind
    /// An `http:` URL from the certificate.
    package var url: String
    /// The OCSP request in DER; empty for a list.
    package var body: [UInt8]

    package init(kind: Kind, url: String, body: [UInt8] = []) {
        self.kind = kind
        self.url = url
        self.body = body
    }
}

/// An answer to a ``RevocationQuery``, or a failure.
package struct RevocationAnswer: Sendable, Hashable {
    /// The response or list in DER; nil if the fetch failed.
    package var encoding: [UInt8]?
    /// Why the fetch failed, as text.
    package var failure: String

    package init(encoding: [UInt8]?, failure: String = "") {
        self.encoding = encoding
        self.failure = failure
    }
}

/// The collected answers.
package struct RevocationEvidence: Sendable {
    package var answers: [RevocationQuery: RevocationAnswer]

    package init(_ answers: [RevocationQuery: RevocationAnswer] = [:]) { self.answers = answers }
}
