// What evaluators may ask about the certificates of a server.

/// The facts of one certificate that policies and records are about.
package struct CertificateFacts: Sendable, Hashable {
    package var encoding: [UInt8]
    /// SHA-256 of the SubjectPublicKeyInfo, 32 bytes.
    package var keyDigest: [UInt8]
    package var subject: String
    /// Seconds since 1970.
    package var notAfter: Int64

    package init(encoding: [UInt8], keyDigest: [UInt8], subject: String, notAfter: Int64) {
        self.encoding = encoding
        self.keyDigest = keyDigest
        self.subject = subject
        self.notAfter = notAfter
    }
}

/// Where a path must end.
package enum TrustAnchorChoice: Sendable, Hashable {
    /// What `upstream.tls.roots` says.
    case configured
    /// These certificates and no others, in DER.
    case only([[UInt8]])
}

/// What is demanded of a path, besides what is demanded of every path.
package struct TrustPathDemand: Sendable, Hashable {
    package var anchors: TrustAnchorChoice
    /// The authorities of the path must be allowed to name the host that was asked for.
    package var isForHost: Bool
    /// Certificates between the server's and the anchor, by a policy's `max_depth`; nil for
    /// ``intermediatesMax``.
    package private(set) var limit: Int?

    /// What no path goes beyond, whatever a policy says; those of the Web have one to three.
    package static let intermediatesMax = 8

    package init(_ anchors: TrustAnchorChoice, isForHost: Bool = true, limit: Int? = nil) {
        self.anchors = anchors
        self.isForHost = isForHost
        self.limit = limit
    }

    /// The same with a limit, unless it has a lower one.
    package func limited(to limit: Int?) -> TrustPathDemand {
        guard let limit else { return self }
        var demand = self
        demand.limit = min(limit, self.limit ?? limit)
        return demand
    }

    /// The usual one: a path for the host, to the anchors of `upstream.tls.roots`.
    package static let configured = TrustPathDemand(.configured)
}

/// The certificates of one server, together with what can be found out about them.
///
/// The name is Alamofire's for what evaluators get.
package protocol ServerTrust {
    /// As the server sent them, its own first.
    var presented: [CertificateFacts] { get }

    /// The server's own and those it sent that signed one another up from there.
    ///
    /// What else it sent along proves nothing: anybody can send anybody's certificate.
    var signedPath: [CertificateFacts] { get }

    /// The path from the server's certificate to an anchor, both included, at the time of asking.
    func path(to demand: TrustPathDemand) -> Result<[CertificateFacts], TrustProblem>

    /// What is wrong with the names of the server's certificate; nil if one is the host asked for.
    func nameProblem() -> TrustProblem?

    /// Whether a certificate was withdrawn of the first of the paths that there is.
    func revocation(
        _ demand: RevocationDemand,
        along paths: [TrustPathDemand]
    ) -> RevocationFinding
}

/// What is known of the withdrawal of certificates.
package enum RevocationFinding: Sendable, Equatable {
    /// All of them are known to be good.
    case good
    case revoked(TrustProblem)
    /// Nobody could be asked, or the answers are no use; says why.
    case unknown(String)
    /// Somebody must be asked first.
    case pending([RevocationQuery])
    /// The response must be seen that the server may staple later in the handshake.
    case awaitsStaple
    /// There is no path whose certificates could be asked about.
    case noPath(TrustProblem)
}

/// A question to an OCSP responder, or for a list of withdrawn certificates.
package struct RevocationQuery: Sendable, Hashable {
    package enum Kind: UInt8, Sendable, Hashable { case ocsp, crl }

    package var kind: Kind
    /// An `http:` URL out of the certificate.
    package var url: String
    /// The OCSP request in DER; empty for a list.
    package var body: [UInt8]

    package init(kind: Kind, url: String, body: [UInt8] = []) {
        self.kind = kind
        self.url = url
        self.body = body
    }
}

/// An answer to a ``RevocationQuery``, or that there was none.
package struct RevocationAnswer: Sendable, Hashable {
    /// The response or list in DER; nil where the fetch failed.
    package var encoding: [UInt8]?
    /// Why the fetch failed, in words.
    package var failure: String

    package init(encoding: [UInt8]?, failure: String = "") {
        self.encoding = encoding
        self.failure = failure
    }
}

/// What was found out by asking.
package struct RevocationEvidence: Sendable {
    package var answers: [RevocationQuery: RevocationAnswer]

    package init(_ answers: [RevocationQuery: RevocationAnswer] = [:]) { self.answers = answers }
}
