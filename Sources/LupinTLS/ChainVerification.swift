// Finds a good path from a server's certificate to a trust anchor.
import LupinCore

/// The search for a path to a TLS server.
///
/// OpenSSL builds and verifies each path (``PathAttempt``). ``CertificateForm``,
/// ``CertificatePurpose`` and ``NameConstraints`` add the checks that it lacks.
struct ChainVerification {
    let anchors: TrustAnchors
    /// The host that the CAs of the path must be allowed to name; nil for any.
    let host: Host?
    /// The policy's maximum of certificates between the server's and the anchor; nil for none.
    let limit: Int?
    /// Whether the server's key must sign the handshake, as in TLS 1.3.
    let mustSign: Bool
    /// Seconds since 1970.
    let now: Int64

    /// How often a certificate that makes a path fail is left out to search for another path.
    private static let detoursMax = 8

    /// The path from the first of `presented` to an anchor, both included.
    ///
    /// If a certificate above the server's makes a path fail, there may be another one of the same
    /// name: a twin of an intermediate below another root, or an anchor with another key. So this
    /// leaves that certificate out and tries again. An intermediate below an anchor that is left
    /// out then has no issuer, and goes next. `sentCount` is how many certificates the server sent,
    /// which may be more than there are to look at.
    func path(
        _ presented: [Certificate],
        sentCount: Int
    ) -> Result<[Certificate], TrustProblem> {
        guard let leaf = presented.first else {
            return .failure(TrustProblem(.chain, "The server showed no certificate."))
        }
        var leftOut: [PathAttempt.Exclusion] = []
        var first: TrustProblem?
        for _ in 0...Self.detoursMax {
            let attempt = PathAttempt(
                of: leaf,
                Array(presented.dropFirst()),
                without: leftOut,
                to: anchors,
                intermediatesMax: min(limit ?? .max, TrustPathDemand.intermediatesMax),
                now: now
            )
            guard let (problem, culprit) = problem(of: attempt) else {
                return .success(attempt.path)
            }
            if first == nil {
                first = problem
                if attempt.error?.orphan != nil, sentCount > presented.count {
                    first?.sentence +=
                        " lupin reads the first \(presented.count) certificates of a server, and"
                        + " this one sent \(sentCount)."
                }
            }
            guard culprit > 0, culprit < attempt.path.count else { break }
            // An issuer with the wrong key for one certificate may be that of another.
            let issued = attempt.error?.isBadSignature == true ? attempt.path[culprit - 1] : nil
            leftOut.append(.init(issuer: attempt.path[culprit], issued: issued))
        }
        return .failure(first ?? TrustProblem(.chain, "No path to a trusted authority was found."))
    }

    /// What is wrong with a path, and the index of the certificate to leave out; nil for nothing.
    private func problem(of attempt: PathAttempt) -> (TrustProblem, Int)? {
        if let error = attempt.error { return error.problem(limit: limit) }
        return CertificateForm.problem(
            of: attempt.path,
            anchors,
            mustSign: mustSign,
            mustNameHost: host != nil
        )
            ?? NameConstraints.problem(of: attempt.path, host: host)
    }
}
