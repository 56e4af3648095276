// The output of `lupin pin`: each certificate with its pin, and a trust policy to paste.
import LupinCore
import LupinTLS

/// The certificates that a server presented, and which of their keys to pin.
struct PinReport {
    /// The reason for which the certificates are not trusted; nil if they are.
    let problem: TrustProblem?
    private let host: Host
    private let presented: [CertificateFacts]
    /// From the server's certificate to the anchor; empty when there is no path.
    private let path: [CertificateFacts]

    init(_ trust: some ServerTrust, host: Host) {
        self.host = host
        presented = trust.presented
        switch trust.path(to: .configured) {
        case .success(let path):
            self.path = path
            problem = trust.nameProblem()
        case .failure(let problem):
            path = []
            self.problem = problem
        }
    }

    var text: String {
        var blocks = presented.map { block($0, path.contains($0) ? "in" : "not in") }
        blocks += path.filter { !presented.contains($0) }.map { block($0, "anchor of") }
        blocks.append(policy)
        return blocks.joined(separator: "\n\n")
    }

    private func block(_ certificate: CertificateFacts, _ relation: String) -> String {
        let summary = path.isEmpty ? "there is no verified path" : "\(relation) the verified path"
        let issuer = (try? Certificate.parse(der: certificate.encoding))?.issuerText ?? ""
        return """
            \(PinText.text(certificate.keyDigest))
              subject    \(certificate.subject)
              issuer     \(issuer)
              not after  \(TimeText.text(certificate.notAfter))
              path       \(summary)
            """
    }

    /// Pins the issuer's key, which outlives the server's renewals, and the server's as a backup.
    private var policy: String {
        let certificates = path.isEmpty ? presented : path
        guard let leaf = certificates.first else { return "# no certificate was shown" }
        let issuer = certificates.dropFirst().first
        var lines = ["# for the rules file:", "trust:", "  \(name):", "    pins:"]
        if let issuer {
            lines.append("      - \(PinText.text(issuer.keyDigest))  # \(issuer.subject)")
        }
        lines.append("      - \(PinText.text(leaf.keyDigest))  # \(leaf.subject)")
        // Without a chain to a CA of this machine the pins alone have to do.
        if path.isEmpty { lines.append("    chain: false") }
        lines += ["rules:", "  - match: \"\(host.uriText)\"", "    trust: \(name)"]
        lines += [
            "# One pin that matches is enough. The first is the issuer's key, which stays when",
            "# the server renews its certificate; the second is a backup should it change its",
            "# issuer and keep its key. Best is a backup pin of a key that its owner keeps in",
            "# reserve: without one, a change of both locks you out until you edit this.",
        ]
        return lines.joined(separator: "\n")
    }

    /// A name for the policy that YAML accepts without quotes.
    private var name: String {
        "pin-" + String(host.text.map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "-" })
    }
}
