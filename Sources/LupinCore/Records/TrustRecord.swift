// The record's data about the certificates of a server.

/// The policy that evaluated a server's certificates, and the result.
package struct TrustRecord: Sendable, Equatable {
    /// The raw value is the record's word.
    package enum Verdict: String, Sendable {
        case pass, fail, disabled
        /// A tunnel: the client evaluates the certificates itself.
        case tunnel
    }

    package var policy: String
    package var verdict: Verdict
    package var checks: [TrustCheck]
    /// The pin of the server's own certificate, ready to be copied.
    package var leaf: String?
    /// The expiry of the server's own certificate, in seconds since 1970.
    package var notAfter: Int64?

    /// Records a verdict; without one, the handshake failed before the evaluation.
    package init(policy: String, verdict: TrustVerdict?, leaf: CertificateFacts?) {
        self.policy = policy
        checks = verdict?.checks ?? []
        notAfter = leaf?.notAfter
        self.leaf = leaf.map { PinText.text($0.keyDigest) }
        if let verdict, verdict.passed {
            self.verdict = verdict.isDisabled ? .disabled : .pass
        } else {
            self.verdict = .fail
        }
    }
}
