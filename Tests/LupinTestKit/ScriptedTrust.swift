// A server under judgement about which everything is known beforehand, and policies in few words.

package import LupinCore

/// A server about which everything is known beforehand.
package struct ScriptedTrust: ServerTrust {
    package var presented: [CertificateFacts]
    package var signedPath = [fact(1), fact(2)]
    /// What path there is to which anchors.
    package var paths: [TrustAnchorChoice: [CertificateFacts]]
    package var name: TrustProblem?
    package var finding: RevocationFinding
    /// Why no authority may name the host.
    package var constraint: TrustProblem?

    package init(
        presented: [CertificateFacts] = [fact(1), fact(2), fact(9)],
        paths: [TrustAnchorChoice: [CertificateFacts]] = [
            .configured: [fact(1), fact(2), fact(3)]
        ],
        name: TrustProblem? = nil,
        finding: RevocationFinding = .good,
        constraint: TrustProblem? = nil
    ) {
        self.presented = presented
        self.paths = paths
        self.name = name
        self.finding = finding
        self.constraint = constraint
    }

    package func path(to demand: TrustPathDemand) -> Result<[CertificateFacts], TrustProblem> {
        if demand.isForHost, let constraint { return .failure(constraint) }
        guard let path = paths[demand.anchors], path.count - 2 <= demand.limit ?? .max else {
            return .failure(TrustProblem(.chain, "No path."))
        }
        return .success(path)
    }

    package func nameProblem() -> TrustProblem? { name }

    package func revocation(
        _ demand: RevocationDemand,
        along paths: [TrustPathDemand]
    ) -> RevocationFinding {
        for wanted in paths {
            if case .success = path(to: wanted) { return finding }
        }
        return .noPath(TrustProblem(.chain, "No path."))
    }

    package static let wrongName = TrustProblem(.host, "Another host.")
    package static let noPath = ScriptedTrust(paths: [:])
    package static let otherHost = ScriptedTrust(name: wrongName)
    package static let constrained = ScriptedTrust(
        constraint: TrustProblem(.constraint, "Not its host.")
    )
}

package func fact(_ number: UInt8) -> CertificateFacts {
    CertificateFacts(
        encoding: [number],
        keyDigest: [UInt8](repeating: number, count: 32),
        subject: "CN=\(number)",
        notAfter: Int64(number)
    )
}

package func pins(_ numbers: UInt8..., chain: Bool = true, host: Bool = true) -> TrustPolicy {
    var pinned = PinnedKeys(numbers.map { fact($0).keyDigest })
    pinned.demandsChain = chain
    pinned.demandsHost = host
    return .pins(pinned)
}

package func certificates(
    _ numbers: UInt8...,
    chain: Bool = true,
    host: Bool = true,
    areAnchors: Bool = false
) -> TrustPolicy {
    var pinned = PinnedCertificates(numbers.map { [$0] })
    pinned.demandsChain = chain
    pinned.demandsHost = host
    pinned.areAnchors = areAnchors
    return .certificates(pinned)
}

package func revocation(isRequired: Bool = false) -> TrustPolicy {
    var demand = RevocationDemand()
    demand.isRequired = isRequired
    return .revocation(demand)
}
