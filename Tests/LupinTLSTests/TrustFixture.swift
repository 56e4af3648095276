// What tests of trust have in common: a time, anchors out of files, and a server under judgement.

import LupinCore
import LupinTLS
import LupinTestKit
import Testing

/// In 2026, seconds since 1970; nothing here looks at a clock.
let trustNow: Int64 = 1_790_000_000

/// Roots as `upstream.tls.roots` has them: PEM files.
func configuredAnchors(_ roots: [Certificate]) throws -> TrustAnchors {
    let files = try MintedFiles()
    var settings = TrustAnchorSettings()
    settings.usesSystem = false
    settings.files = [try files.write(roots.flatMap(\.pem), "roots.pem")]
    return try TrustAnchors.load(settings, environment: [:])
}

/// A server that presents certificates, and who is asked about them.
struct TrustSample {
    var presented: [[UInt8]]
    var host = "www.example.com"
    var roots: [Certificate]
    var anchors = TrustAnchorChoice.configured
    var now = trustNow
    var stapledResponse: [UInt8]?
    var evidence = RevocationEvidence()

    init(_ leaf: MintedLeaf, _ roots: MintedAuthority...) {
        presented = leaf.presented
        self.roots = roots.map(\.certificate)
    }

    func trust() throws -> PeerTrust {
        let certificates = try #require(
            PeerCertificates(encodings: presented, stapledResponse: stapledResponse)
        )
        return PeerTrust(
            certificates,
            host: try #require(Host(host)),
            anchors: try configuredAnchors(roots),
            now: now,
            evidence: evidence
        )
    }

    /// The path to the anchors.
    func path() throws -> Result<[CertificateFacts], TrustProblem> {
        try trust().path(to: TrustPathDemand(anchors))
    }
}

extension Result where Failure == TrustProblem {
    /// What is wrong; nil for nothing.
    var problem: TrustProblem? {
        if case .failure(let problem) = self { problem } else { nil }
    }
}
