// A server under judgement about which everything is known beforehand, and policies in few words.

import LupinCore

/// A server about which everything is known beforehand.
struct ScriptedTrust: ServerTrust {
    var presented = [fact(1), fact(2), fact(9)]
    var signedPath = [fact(1), fact(2)]
    /// What path there is to which anchors.
    var paths: [TrustAnchorChoice: [CertificateFacts]] = [
        .configured: [fact(1), fact(2), fact(3)]
    ]
    var name: TrustProblem?
    var finding = RevocationFinding.good
    /// Why no authority may name the host.
    var constraint: TrustProblem?

    func path(to demand: TrustPathDemand) -> Result<[CertificateFacts], TrustProblem> {
        if demand.isForHost, let constraint { return .failure(constraint) }
        guard let path = paths[demand.anchors], path.count - 2 <= demand.limit ?? .max else {
            return .failure(TrustProblem(.chain, "No path."))
        }
        return .success(path)
    }

    func nameProblem() -> TrustProblem? { name }

    func revocation(
        _ demand: RevocationDemand,
        along paths: [TrustPathDemand]
    ) -> RevocationFinding {
        for wanted in paths {
            if case .success = path(to: wanted) { return finding }
        }
        return .noPath(TrustProblem(.chain, "No path."))
    }

    static let wrongName = TrustProblem(.host, "Another host.")
    static let noPath = ScriptedTrust(paths: [:])
    static let otherHost = ScriptedTrust(name: wrongName)
    static let constrained = ScriptedTrust(constraint: TrustProblem(.constraint, "Not its host."))
}

func fact(_ number: UInt8) -> CertificateFacts {
    CertificateFacts(
        encoding: [number],
        keyDigest: [UInt8](repeating: number, count: 32),
        subject: "CN=\(number)",
        notAfter: Int64(number)
    )
}

func pins(_ numbers: UInt8..., chain: Bool = true, host: Bool = true) -> TrustPolicy {
    var pinned = PinnedKeys(numbers.map { fact($0).keyDigest })
    pinned.demandsChain = chain
    pinned.demandsHost = host
    return .pins(pinned)
}

func certificates(
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

func revocation(isRequired: Bool = false) -> TrustPolicy {
    var demand = RevocationDemand()
    demand.isRequired = isRequired
    return .revocation(demand)
}
