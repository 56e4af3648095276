// Evaluates a server's certificates by a policy: Alamofire's evaluators, one case each.

/// The result of one evaluator.
package struct TrustCheck: Sendable, Hashable {
    /// The evaluator: `system`, `certificates`, `pins`, `revocation` or `disabled`.
    package var name: String
    package var passed: Bool
    /// The pin that matched, as `sha256/…`.
    package var match: String?
    /// Why it failed, or what an evaluator that passed could not determine; empty for nothing.
    package var note = ""
}

/// The verdict of a policy on a server's certificates.
package struct TrustVerdict: Sendable, Equatable {
    package var passed: Bool
    /// The result of each evaluator that ran, in the order of the policy.
    package var checks: [TrustCheck] = []
    /// The first reason of a failure.
    package var problem: TrustProblem?
    /// The queries to make before the verdict is final.
    package var pending: [RevocationQuery] = []
    /// Whether the verdict must wait for the stapled response, if nothing is pending.
    package var awaitsStaple = false

    /// Whether it passed only because nothing was demanded.
    package var isDisabled: Bool {
        let reasons = checks.filter(\.passed)
        return passed && !reasons.isEmpty && reasons.allSatisfy { $0.name == "disabled" }
    }
}

extension TrustPolicy {
    /// Evaluates a server's certificates.
    ///
    /// Pins are searched in the *verified* path: a certificate that the server merely sent proves
    /// nothing. If no path is demanded, the certificates count that signed the server's own.
    package func evaluate(_ trust: some ServerTrust) -> TrustVerdict {
        // Revocation is checked even if no part of the policy demands a path.
        let path = TrustPathDemand(.configured, isForHost: false)
        return evaluate(trust, paths + [path], limit: nil)
    }

    /// The paths that the parts of the policy demand, in order.
    package var paths: [TrustPathDemand] {
        switch self {
        case .system(let demandsHost): [TrustPathDemand(.configured, isForHost: demandsHost)]
        case .certificates(let pinned): pinned.path.map { [$0] } ?? []
        case .pins(let pinned): pinned.path.map { [$0] } ?? []
        case .all(let policies), .any(let policies): policies.flatMap(\.paths)
        case .limited(let policy, let limit): policy.paths.map { $0.limited(to: limit) }
        case .revocation, .disabled: []
        }
    }

    private func evaluate(
        _ trust: some ServerTrust,
        _ paths: [TrustPathDemand],
        limit: Int?
    ) -> TrustVerdict {
        switch self {
        case .system(let demandsHost):
            return Self.verdict(of: "system") { () throws(TrustProblem) in
                let path = TrustPathDemand(.configured, isForHost: demandsHost, limit: limit)
                _ = try trust.path(to: path).get()
                if demandsHost, let problem = trust.nameProblem() { throw problem }
                return nil
            }
        case .certificates(let pinned):
            return Self.verdict(of: "certificates") { () throws(TrustProblem) in
                try pinned.check(trust, limit: limit)
                return nil
            }
        case .pins(let pinned):
            return Self.verdict(of: "pins") { () throws(TrustProblem) in
                try pinned.check(trust, limit: limit)
            }
        case .revocation(let demand):
            let paths = paths.map { $0.limited(to: limit) }
            return Self.verdict(of: trust.revocation(demand, along: paths), demand)
        case .all(let policies):
            return Self.all(policies.map { $0.evaluate(trust, paths, limit: limit) })
        case .any(let policies):
            return Self.any(policies.map { $0.evaluate(trust, paths, limit: limit) })
        case .limited(let policy, let own):
            return policy.evaluate(trust, paths, limit: min(own, limit ?? own))
        case .disabled:
            return TrustVerdict(passed: true, checks: [TrustCheck(name: "disabled", passed: true)])
        }
    }

    private static func verdict(
        of name: String,
        _ check: () throws(TrustProblem) -> String?
    ) -> TrustVerdict {
        do throws(TrustProblem) {
            let match = try check()
            return TrustVerdict(
                passed: true,
                checks: [TrustCheck(name: name, passed: true, match: match)]
            )
        } catch {
            return TrustVerdict(
                passed: false,
                checks: [TrustCheck(name: name, passed: false, note: error.sentence)],
                problem: error
            )
        }
    }

    private static func verdict(
        of finding: RevocationFinding,
        _ demand: RevocationDemand
    ) -> TrustVerdict {
        var check = TrustCheck(name: "revocation", passed: true)
        switch finding {
        case .good: return TrustVerdict(passed: true, checks: [check])
        case .pending(let queries):
            return TrustVerdict(passed: true, checks: [check], pending: queries)
        case .awaitsStaple:
            return TrustVerdict(passed: true, checks: [check], awaitsStaple: true)
        case .revoked(let problem), .noPath(let problem):
            check.passed = false
            check.note = problem.sentence
            return TrustVerdict(passed: false, checks: [check], problem: problem)
        case .unknown(let reason):
            check.note = reason
            guard demand.isRequired else { return TrustVerdict(passed: true, checks: [check]) }
            check.passed = false
            let problem = TrustProblem(
                .revocation,
                "Whether the certificate was withdrawn is unknown: \(reason)."
            )
            return TrustVerdict(passed: false, checks: [check], problem: problem)
        }
    }

    private static func all(_ verdicts: [TrustVerdict]) -> TrustVerdict {
        var whole = TrustVerdict(passed: true)
        for verdict in verdicts {
            whole.checks += verdict.checks
            if !verdict.passed, whole.passed {
                whole.passed = false
                whole.problem = verdict.problem
            }
            whole.pending += verdict.pending
            whole.awaitsStaple = whole.awaitsStaple || verdict.awaitsStaple
        }
        // After a failure no more answers are needed.
        if !whole.passed {
            whole.pending = []
            whole.awaitsStaple = false
        }
        return whole
    }

    private static func any(_ verdicts: [TrustVerdict]) -> TrustVerdict {
        var whole = TrustVerdict(passed: false)
        for verdict in verdicts { whole.checks += verdict.checks }
        // A part that passed finally decides; a part that still has queries may.
        if verdicts.contains(where: { $0.passed && $0.pending.isEmpty && !$0.awaitsStaple }) {
            whole.passed = true
            return whole
        }
        for verdict in verdicts where verdict.passed {
            whole.passed = true
            whole.pending += verdict.pending
            whole.awaitsStaple = whole.awaitsStaple || verdict.awaitsStaple
        }
        if !whole.passed { whole.problem = verdicts.first?.problem }
        return whole
    }
}

extension PinnedCertificates {
    /// The demanded path; nil for none.
    fileprivate var path: TrustPathDemand? {
        guard demandsChain || areAnchors else { return nil }
        return TrustPathDemand(
            areAnchors ? .only(encodings) : .configured,
            isForHost: demandsHost
        )
    }

    fileprivate func check(_ trust: some ServerTrust, limit: Int?) throws(TrustProblem) {
        let path: [CertificateFacts]
        do throws(TrustProblem) {
            path = try trust.path(orSigned: self.path?.limited(to: limit))
        } catch {
            throw advised(error, trust, limit)
        }
        if demandsHost, let problem = trust.nameProblem() { throw problem }
        guard path.contains(where: { encodings.contains($0.encoding) }) else {
            throw TrustProblem(.pin, "No pinned certificate is in the server's path.")
        }
    }
}

extension PinnedCertificates {
    /// The problem of a path to the configured anchors, with the advice that helps if these
    /// certificates would do as anchors.
    private func advised(
        _ problem: TrustProblem,
        _ trust: some ServerTrust,
        _ limit: Int?
    ) -> TrustProblem {
        let own = TrustPathDemand(.only(encodings), isForHost: demandsHost).limited(to: limit)
        guard !areAnchors, case .success = trust.path(to: own) else { return problem }
        let advice = " To trust the policy's certificates as CAs, add self_signed: true."
        return TrustProblem(problem.kind, problem.sentence + advice)
    }
}

extension PinnedKeys {
    /// The demanded path; nil for none.
    fileprivate var path: TrustPathDemand? {
        demandsChain ? TrustPathDemand(.configured, isForHost: demandsHost) : nil
    }

    /// The pin that matched, as text.
    fileprivate func check(
        _ trust: some ServerTrust,
        limit: Int?
    ) throws(TrustProblem) -> String? {
        let path = try trust.path(orSigned: path?.limited(to: limit))
        if demandsHost, let problem = trust.nameProblem() { throw problem }
        for certificate in path where digests.contains(certificate.keyDigest) {
            return PinText.text(certificate.keyDigest)
        }
        throw TrustProblem(.pin, "No pinned public key is in the server's path.")
    }
}

extension ServerTrust {
    /// The demanded path, or the signed one if none is demanded.
    fileprivate func path(
        orSigned demand: TrustPathDemand?
    ) throws(TrustProblem) -> [CertificateFacts] {
        guard let demand else { return signedPath }
        return try path(to: demand).get()
    }
}
