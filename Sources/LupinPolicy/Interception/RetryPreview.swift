// Describes what a retry policy does for one request: the retries, their number and their waits.

package import LupinCore

/// The retries after failures of one request, for users.
package struct RetryPreview: Sendable {
    /// Whether the request is sent again once bytes of it have been sent.
    package enum Permission: String, Sendable {
        /// Nothing is ever sent again.
        case never
        /// Only when the origin reports that it did not process it.
        case unprocessed
        /// Whatever happened to it.
        case always
    }

    /// The body of the request.
    package enum Body: Sendable, Equatable {
        case none
        /// There may be one.
        case unknown
        case bytes(UInt64)
    }

    /// The minimum and maximum wait before a retry, in milliseconds.
    package struct Wait: Sendable, Equatable {
        package var least: Int64
        package var most: Int64
    }

    package let policy: RetryPolicy
    package let permission: Permission
    /// One for each retry.
    package let waits: [Wait]
    /// Sentences without a full stop.
    package private(set) var lines: [String] = []

    private let method: Method

    /// Describes `policy` for a request that is sent with `head`.
    /// - Parameters:
    ///   - policy: The policy of the plan.
    ///   - head: The head with the client's method and fields.
    ///   - hasIdempotencyKey: Whether it is sent with that field, from the client or a step.
    ///   - authority: The host and port of the retry budget.
    ///   - validates: Whether a response that `validate` refuses counts as a failure.
    package init(
        _ policy: RetryPolicy,
        of head: RequestHead,
        hasIdempotencyKey: Bool,
        authority: String,
        validates: Bool
    ) {
        self.policy = policy
        method = head.method
        let mayRepeat = policy.mayRepeat(head.method, hasIdempotencyKey: hasIdempotencyKey)
        permission = policy.limit == 0 ? .never : mayRepeat ? .always : .unprocessed
        waits = Self.waits(of: policy)
        guard policy.limit > 0 else {
            lines = ["nothing is sent again"]
            return
        }
        let body = Self.body(of: head)
        let failures = errors.map(\.rawValue).joined(separator: " ")
        lines.append("up to \(policy.limit) more" + (errors.isEmpty ? "" : ", after \(failures)"))
        lines.append((errors.isEmpty ? "after " : "or ") + grounds(validates))
        lines.append(permissionText(hasIdempotencyKey))
        lines.append(waitText)
        if let text = bodyText(body) { lines.append(text) }
        lines += extras(body)
        lines.append(budgetText(authority))
        if policy.budget != nil || policy.circuit != nil { lines.append(circuitText) }
    }

    /// The failures that lead to a retry, in the order of their table.
    package var errors: [RetryClass] { RetryClass.allCases.filter(policy.errors.contains) }

    // MARK: Facts

    private static func body(of head: RequestHead) -> Body {
        if head.fields.value(of: "Transfer-Encoding") != nil { return .unknown }
        if let length = head.fields.value(of: "Content-Length").flatMap(UInt64.init) {
            return length > 0 ? .bytes(length) : .none
        }
        switch head.method {
        case .get, .head, .delete, .options, .trace, .connect: return .none
        case .post, .put, .patch, .query, .other: return .unknown
        }
    }

    private static func waits(of policy: RetryPolicy) -> [Wait] {
        var previous = Duration.zero
        return (0..<policy.limit).map { retry in
            guard let backoff = policy.backoff else { return Wait(least: 0, most: 0) }
            let least = backoff.delay(retry: retry, previous: previous, chance: 0)
            let most = backoff.delay(retry: retry, previous: previous, chance: .max)
            previous = most
            return Wait(least: least.milliseconds, most: most.milliseconds)
        }
    }

    // MARK: Words

    /// Describes the responses that lead to a retry.
    private func grounds(_ validates: Bool) -> String {
        var grounds: [String] = []
        if !policy.status.isEmpty {
            let status = policy.status.sorted().map { "\($0)" }
            grounds.append("status \(status.joined(separator: " "))")
        }
        if policy.retryAfter.isHonoured, !policy.status.contains(429) {
            grounds.append("429 with Retry-After")
        }
        if validates { grounds.append("what validate refuses") }
        return (grounds + ["421 and 425 once each"]).joined(separator: ", ")
    }

    private func permissionText(_ hasIdempotencyKey: Bool) -> String {
        let name = method.token
        if permission == .always {
            if policy.methods.contains(method) { return "\(name) may be repeated" }
            return policy.nonIdempotent == .always
                ? "\(name) may be repeated, though it may then be done twice"
                : "\(name) may be repeated: it carries Idempotency-Key"
        }
        let witnesses =
            [RetryClass.refusedStream, .goaway].filter(policy.errors.contains)
            .map(\.rawValue) + ["421", "425"]
        let text =
            "\(name) only where nothing was processed: no byte was sent, or the origin says so "
            + "(\(witnesses.joined(separator: " ")))"
        let isKeyed = policy.nonIdempotent == .withIdempotencyKey
        guard isKeyed, method == .post || method == .patch else { return text }
        return "\(text); with Idempotency-Key it may be repeated"
    }

    private var waitText: String {
        var text = "no wait"
        if policy.backoff != nil {
            let shown = waits.prefix(4).map { wait in
                let most = UnitText.duration(wait.most)
                return wait.least == wait.most
                    ? most : "\(UnitText.duration(wait.least))–\(most)"
            }
            text = "waits \(shown.joined(separator: ", "))\(waits.count > 4 ? ", …" : "")"
        }
        guard policy.retryAfter.isHonoured else { return text }
        let max = UnitText.duration(policy.retryAfter.max.milliseconds)
        return "\(text), but at least what Retry-After says, up to \(max)"
    }

    private func bodyText(_ body: Body) -> String? {
        let (memory, file) = (policy.replayBodyBytes, policy.replaySpillBytes)
        let more = file > 0 ? ", and \(UnitText.size(file)) beyond in a file" : ""
        let rest = "sent again only if nothing of it was sent"
        switch body {
        case .none: return nil
        case .unknown:
            if memory + file == 0 { return "no body is kept: one is \(rest)" }
            return "of a body \(UnitText.size(memory)) are kept in memory\(more); a larger one is "
                + rest
        case .bytes(let count):
            let fits = count <= UInt64(memory + file)
            if fits { return "its body of \(count) bytes is kept" }
            return "its body of \(count) bytes is more than the \(UnitText.size(memory + file)) "
                + "that are kept: \(rest)"
        }
    }

    private func extras(_ body: Body) -> [String] {
        var lines: [String] = []
        if let time = policy.perTry {
            let text = UnitText.duration(time.milliseconds)
            lines.append("each attempt has \(text) until the head of its response")
        }
        if policy.holdBytes > 0 {
            let text = UnitText.size(policy.holdBytes)
            lines.append("\(text) of the response are held back: an earlier break is not seen")
        }
        if let hedge = policy.hedge { lines.append(hedgeText(hedge, body)) }
        if policy.offlineWait > .zero {
            let text = UnitText.duration(policy.offlineWait.milliseconds)
            lines.append("where there is no network, it is waited for up to \(text)")
        }
        return lines
    }

    private func hedgeText(_ hedge: RetryPolicy.Hedge, _ body: Body) -> String {
        guard method.isIdempotent, body == .none else {
            return "no attempt beside a slow one: only for idempotent methods without a body"
        }
        let slow =
            switch hedge.after {
            case .fixed(let time): "after \(UnitText.duration(time.milliseconds))"
            case .percentile95: "when it is slower than 95 of 100 of the host lately"
            }
        return "up to \(hedge.max) beside an attempt, \(slow); the first answer wins"
    }

    private func budgetText(_ authority: String) -> String {
        guard let budget = policy.budget else {
            return policy.circuit == nil ? "no budget: only the limit counts" : "no budget"
        }
        let share = Int((budget.ratio * 100).rounded())
        let window = UnitText.duration(budget.window.milliseconds)
        let least = "at least \(budget.floor)"
        return "budget: \(share)% of the requests to \(authority) in \(window), \(least)"
    }

    private var circuitText: String {
        guard let circuit = policy.circuit else { return "no circuit" }
        let time = UnitText.duration(circuit.open.milliseconds)
        return "circuit: after \(circuit.failures) failures in a row nothing is sent again "
            + "for \(time)"
    }
}
