// Checks whether a certificate was revoked: which services to ask, and what the answers mean.
import COpenSSL
package import LupinCore

/// What an answer reports about one certificate.
enum RevocationStatus: Equatable {
    case good
    /// The time of revocation, in seconds since 1970.
    case revoked(Int64?)
    /// The answer is unusable, with the reason.
    case unusable(String)
}

/// The check of whether the issuer revoked one certificate of a verified path.
package struct RevocationCheck {
    let certificate: Certificate
    let issuer: Certificate
    /// Seconds since 1970.
    let now: Int64
    private let contents: CertificateContents?

    /// The greatest tolerated difference of other clocks.
    static let skewSeconds: Int64 = 300
    /// The most responders and lists asked about one certificate.
    private static let locationsMax = 2
    /// OCSP over HTTP (RFC 6960 §4.2.2.2.1: `id-ad-ocsp`).
    private static let ocsp: [UInt8] = [0x2B, 0x06, 0x01, 0x05, 0x05, 0x07, 0x30, 0x01]

    init(_ certificate: Certificate, issuer: Certificate, now: Int64) {
        self.certificate = certificate
        self.issuer = issuer
        self.now = now
        contents = CertificateContents(certificate.der)
    }

    /// The result from a stapled response and available answers, or the queries to make first.
    ///
    /// The stapled response, in DER, concerns the server's own certificate only.
    func finding(
        _ demand: RevocationDemand,
        stapledResponse: [UInt8]?,
        _ evidence: RevocationEvidence
    ) -> RevocationFinding {
        // A certificate may declare that its revocation is never published, but not a CA's
        // (RFC 9608 §2, §3).
        if let contents, !contents.claimsAuthority,
            contents.value(CertificateContents.Identifier.noRevocation) != nil
        {
            return .good
        }
        var reasons: [String] = []
        if demand.method != .crl, let stapledResponse {
            switch OCSPResponse.status(stapledResponse, self) {
            case .good: return .good
            case .revoked(let time): return .revoked(problem(time))
            case .unusable(let reason): reasons.append("the stapled response \(reason)")
            }
        }
        guard demand.usesNetwork else {
            if demand.method == .crl { reasons.append("lists must not be fetched") }
            if reasons.isEmpty { reasons.append("the server stapled no OCSP response") }
            return .unknown(reasons.joined(separator: "; "))
        }
        let queries = queries(demand.method)
        if queries.isEmpty { reasons.append(nobodyToAsk(demand.method)) }
        for query in queries {
            guard let answer = evidence.answers[query] else { return .pending([query]) }
            guard let encoding = answer.encoding else {
                reasons.append(answer.failure)
                continue
            }
            let status =
                query.kind == .ocsp
                ? OCSPResponse.status(encoding, self)
                : RevocationList.status(encoding, location: query.url, self)
            switch status {
            case .good: return .good
            case .revoked(let time): return .revoked(problem(time))
            case .unusable(let reason): reasons.append("what \(query.url) answered \(reason)")
            }
        }
        return .unknown(reasons.joined(separator: "; "))
    }

    /// The queries to make, in order.
    private func queries(_ method: RevocationDemand.Method) -> [RevocationQuery] {
        var queries: [RevocationQuery] = []
        if method != .crl, let urls = contents?.accessLocations(Self.ocsp),
            let body = OCSPResponse.request(self)
        {
            queries += Self.usable(urls).map { RevocationQuery(kind: .ocsp, url: $0, body: body) }
        }
        if method != .ocsp, let urls = contents?.listLocations {
            queries += Self.usable(urls).map { RevocationQuery(kind: .crl, url: $0) }
        }
        return queries
    }

    /// That the certificate has no URL for a method: many CAs have given up OCSP.
    private func nobodyToAsk(_ method: RevocationDemand.Method) -> String {
        let services =
            switch method {
            case .any: "neither an OCSP server nor a list of revoked certificates"
            case .ocsp: "no OCSP server"
            case .crl: "no list of revoked certificates"
            }
        return "the certificate “\(certificate.subjectText)” names \(services)"
    }

    /// The `http:` URLs only: an https one would need a revocation check of its own.
    private static func usable(_ urls: [String]) -> [String] {
        let usable = urls.filter { url in
            url.lowercased().hasPrefix("http://") && url.utf8.count <= 2048
                && url.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
        }
        return Array(usable.prefix(locationsMax))
    }

    private func problem(_ time: Int64?) -> TrustProblem {
        let day = time.map { " on \(CertificateTime.text($0))" } ?? ""
        return TrustProblem(
            .revoked,
            "The certificate “\(certificate.subjectText)” was withdrawn by its issuer\(day)."
        )
    }

    // MARK: Times

    /// Why an answer is stale; nil if it is fresh.
    ///
    /// It was correct at `thisUpdate`; at `nextUpdate`, if given, there will be a newer one.
    func staleness(thisUpdate: Int64?, nextUpdate: Int64?) -> String? {
        guard let thisUpdate else { return "has no time" }
        guard thisUpdate <= now &+ Self.skewSeconds else { return "is of the future" }
        // "Newer information is available all the time" (RFC 6960 §4.2.2.1): use a limit of one
        // day.
        let end = nextUpdate ?? thisUpdate &+ 86_400
        guard end >= thisUpdate, end >= now &- Self.skewSeconds else { return "is out of date" }
        return nil
    }

    /// How long an unverified answer may be cached.
    private static let keptSecondsMax: Int64 = 3600

    /// Until when an answer may be cached, in seconds since 1970; nil if it must not be.
    ///
    /// Answers come over plain HTTP, so a forged one must expire soon: after an hour at most.
    package static func validUntil(
        _ encoding: [UInt8],
        _ kind: RevocationQuery.Kind,
        now: Int64
    ) -> Int64? {
        let end =
            switch kind {
            case .ocsp: OCSPResponse.end(encoding)
            case .crl: RevocationList.end(encoding)
            }
        guard let end, end > now else { return nil }
        return min(end, now &+ keptSecondsMax)
    }
}

/// The algorithms that may sign answers about revocation.
enum RevocationSignature {
    /// Whether an `X509_ALGOR` is stronger than SHA-1.
    static func isStrong(_ algorithm: UnsafePointer<X509_ALGOR>?) -> Bool {
        var identifier: OpaquePointer?
        // Safety: the identifier belongs to the algorithm, which the caller holds.
        unsafe X509_ALGOR_get0(&identifier, nil, nil, algorithm)
        var digest: Int32 = 0
        guard unsafe OBJ_find_sigid_algs(OBJ_obj2nid(identifier), &digest, nil) == 1 else {
            return false
        }
        switch digest {
        // Ed25519 has no separate digest; RSA-PSS names its own in parameters, and none is old.
        case NID_undef, NID_sha256, NID_sha384, NID_sha512: return true
        default: return false
        }
    }
}
