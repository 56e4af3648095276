// What the record says about the certificates of a server.

/// Which policy judged a server's certificates, and what came of it.
package struct TrustRecord: Sendable, Equatable {
    /// The raw value is the record's word.
    package enum Verdict: String, Sendable {
        case pass, fail, disabled
        /// A tunnel: the client judges for itself.
        case tunnel
    }

    package var policy: String
    package var verdict: Verdict
    package var checks: [TrustCheck]
    /// On failure the pin of the server's own certificate, ready to be copied.
    package var leaf: String?
    /// When the server's own certificate ends, in seconds since 1970.
    package var notAfter: Int64?

    /// What a verdict comes to; without one nothing was judged and the handshake failed before.
    package init(policy: String, verdict: TrustVerdict?, leaf: CertificateFacts?) {
        self.policy = policy
        checks = verdict?.checks ?? []
        notAfter = leaf?.notAfter
        if let verdict, verdict.passed {
            self.verdict = verdict.isDisabled ? .disabled : .pass
        } else {
            self.verdict = .fail
            self.leaf = leaf.map { PinText.text($0.keyDigest) }
        }
    }
}
