// Formats a verdict on certificates, for users or as JSON for programs.
import LupinCore

/// A verdict with the policy's name and the path.
struct TrustReport {
    let policy: String
    /// The policy's verdict; nil when the policy was not evaluated.
    var verdict: TrustVerdict?
    /// The problem that keeps the policy from being evaluated.
    var refusal: TrustProblem?
    /// The path that the policy requires first; empty when there is none.
    var path: [CertificateFacts] = []

    init(policy: String) { self.policy = policy }

    var isTrusted: Bool { refusal == nil && verdict?.passed == true }

    private var problem: TrustProblem? { refusal ?? verdict?.problem }

    private var checks: [TrustCheck] { verdict?.checks ?? [] }

    /// The reason for which the policy isn't met.
    private var reason: String { problem?.sentence ?? "No part of the trust policy is met." }

    /// The lines for users.
    var text: String {
        var lines = [
            isTrusted ? "trusted by policy \(policy)" : "not trusted: \(reason)"
        ]
        for check in checks {
            var line = "  \(check.name): \(check.passed ? "passed" : "failed")"
            if let match = check.match { line += ", \(match)" }
            // The verdict's own reason is printed above already.
            if !check.note.isEmpty, check.note != problem?.sentence {
                line += ", \(check.note)"
            }
            lines.append(line)
        }
        for certificate in path {
            lines.append("  path: \(certificate.subject) \(PinText.text(certificate.keyDigest))")
        }
        return lines.joined(separator: "\n")
    }

    /// One object in one line.
    var json: String {
        var line = JSONLine()
        line.openObject()
        line.add("trusted", isTrusted)
        line.add("policy", text: policy)
        if !isTrusted {
            line.add("problem", text: problem?.kind.rawValue ?? "chain")
            line.add("reason", text: reason)
        }
        line.add("checks", objects: checks) { line, check in
            line.add("is", text: check.name)
            line.add("ok", check.passed)
            if let match = check.match { line.add("match", text: match) }
            if !check.note.isEmpty { line.add("note", text: check.note) }
        }
        line.add("path", objects: path) { line, certificate in
            line.add("subject", text: certificate.subject)
            line.add("pin", text: PinText.text(certificate.keyDigest))
            line.add("not_after", text: TimeText.text(certificate.notAfter))
        }
        line.closeObject()
        return String(decoding: line.bytes, as: UTF8.self)
    }
}
