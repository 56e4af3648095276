// Evaluates the certificates that a server presented.
import COpenSSL
package import LupinCore

/// The certificates of one server under evaluation; for one evaluation, on one thread.
package final class PeerTrust: ServerTrust {
    /// The most certificates that are checked; servers send one to five.
    private static let presentedMax = 16

    private let certificates: [Certificate]
    /// With those that are not looked at.
    private let sentCount: Int
    private let mustSign: Bool
    private let stapledResponse: [UInt8]?
    private let mayBeStapledLater: Bool
    private let host: Host
    private let anchors: TrustAnchors
    private let now: Int64
    private let evidence: RevocationEvidence
    private var paths: [TrustPathDemand: Result<[Certificate], TrustProblem>] = [:]

    /// - Parameters:
    ///   - certificates: What the server presented.
    ///   - host: The requested host.
    ///   - anchors: The anchors of `upstream.tls.roots`.
    ///   - now: Seconds since 1970.
    ///   - evidence: The known answers about revocation.
    package init(
        _ certificates: PeerCertificates,
        host: Host,
        anchors: TrustAnchors,
        now: Int64,
        evidence: RevocationEvidence = RevocationEvidence()
    ) {
        self.certificates = Array(certificates.all.prefix(Self.presentedMax))
        sentCount = certificates.count
        mustSign = certificates.version != .tls12
        stapledResponse = certificates.stapledResponse
        mayBeStapledLater = certificates.mayBeStapledLater
        self.host = host
        self.anchors = anchors
        self.now = now
        self.evidence = evidence
    }

    package var presented: [CertificateFacts] { certificates.map(\.facts) }

    package var signedPath: [CertificateFacts] {
        guard var last = certificates.first else { return [] }
        var rest = certificates.dropFirst()
        var path = [last.facts]
        while let i = rest.firstIndex(where: { last.isSigned(by: $0) }) {
            last = rest.remove(at: i)
            path.append(last.facts)
        }
        return path
    }

    package func path(
        to demand: TrustPathDemand
    ) -> Result<[CertificateFacts], TrustProblem> {
        certificatePath(to: demand).map { $0.map(\.facts) }
    }

    package func nameProblem() -> TrustProblem? {
        guard let certificate = certificates.first else {
            return TrustProblem(.host, "The server showed no certificate.")
        }
        let names = ServerNames(certificate)
        return names.include(host) ? nil : names.problem(host)
    }

    package func revocation(
        _ demand: RevocationDemand,
        along paths: [TrustPathDemand]
    ) -> RevocationFinding {
        var first: TrustProblem?
        for wanted in paths {
            switch certificatePath(to: wanted) {
            case .success(let path): return revocation(demand, path)
            case .failure(let problem): first = first ?? problem
            }
        }
        return .noPath(first ?? TrustProblem(.chain, "No path to a trusted authority was found."))
    }

    /// The worst revocation status of all certificates but the anchor.
    private func revocation(
        _ demand: RevocationDemand,
        _ path: [Certificate]
    ) -> RevocationFinding {
        var pending: [RevocationQuery] = []
        var unknown: String?
        var awaitsStaple = false
        for (i, (certificate, issuer)) in zip(path, path.dropFirst()).enumerated() {
            let check = RevocationCheck(certificate, issuer: issuer, now: now)
            let finding = check.finding(
                demand,
                stapledResponse: i == 0 ? stapledResponse : nil,
                evidence
            )
            switch finding {
            case .good: continue
            case .pending(let queries): pending += queries
            case .unknown(let reason):
                // In TLS 1.2 the stapled response comes later, and may contain more.
                if i == 0, mayBeStapledLater, demand.method != .crl { awaitsStaple = true }
                unknown = unknown ?? reason
            default: return finding
            }
        }
        if !pending.isEmpty { return .pending(pending) }
        if awaitsStaple { return .awaitsStaple }
        return unknown.map { .unknown($0) } ?? .good
    }

    private func certificatePath(
        to demand: TrustPathDemand
    ) -> Result<[Certificate], TrustProblem> {
        if let known = paths[demand] { return known }
        let result: Result<[Certificate], TrustProblem>
        if let anchors = anchors(demand.anchors) {
            let verification = ChainVerification(
                anchors: anchors,
                host: demand.isForHost ? host : nil,
                limit: demand.limit,
                mustSign: mustSign,
                now: now
            )
            result = verification.path(certificates, sentCount: sentCount)
        } else {
            result = .failure(
                TrustProblem(.chain, "The certificates of the trust policy are not readable.")
            )
        }
        paths[demand] = result
        return result
    }

    private func anchors(_ choice: TrustAnchorChoice) -> TrustAnchors? {
        switch choice {
        case .configured: anchors
        case .only(let encodings): TrustAnchors.only(encodings)
        }
    }
}

extension TrustProblem {
    /// The refusal that TLS reports to the server.
    package var refusal: CertificateRefusal {
        switch kind {
        case .chain, .selfSigned: .unknownAuthority
        case .host: .badName
        case .expired: .expired
        case .notYetValid: .notYetValid
        case .revoked: .revoked
        case .constraint: .badPurpose
        case .pin, .revocation, .weak, .malformed: .badCertificate
        }
    }
}

extension PeerCertificates {
    /// The certificates one by one.
    var all: [Certificate] {
        unsafe withStack { stack in
            (0..<max(0, unsafe openssl_chain_count(stack))).compactMap { i in
                // Safety: the new object takes a reference of its own.
                unsafe openssl_chain_get(stack, i).map { unsafe Certificate(sharing: $0) }
            }
        }
    }
}

extension Certificate {
    /// The facts for policies and records.
    package var facts: CertificateFacts {
        CertificateFacts(
            encoding: der,
            keyDigest: publicKeyDigest,
            subject: subjectText,
            issuer: issuerText,
            notBefore: notBefore ?? 0,
            notAfter: notAfter ?? 0
        )
    }

    /// Whether its own key signed it.
    var isSelfSigned: Bool {
        ErrorQueue.clear()
        defer { ErrorQueue.clear() }
        return unsafe withX509 { unsafe X509_self_signed($0, 1) == 1 }
    }

    /// Whether another certificate has the name of its issuer and the key that signed it.
    func isSigned(by other: Certificate) -> Bool {
        guard isIssuerNamed(by: other) else { return false }
        ErrorQueue.clear()
        defer { ErrorQueue.clear() }
        // Safety: both certificates are held through the calls.
        return unsafe withX509 { certificate in
            unsafe other.withX509 { issuer in
                guard let key = unsafe X509_get0_pubkey(issuer) else { return false }
                return unsafe X509_verify(certificate, key) == 1
            }
        }
    }
}
