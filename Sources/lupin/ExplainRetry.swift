// The retry section of an explanation: what would be sent again, and by which rule.
import LupinConsole
import LupinCore
import LupinIO
import LupinPolicy

extension Explanation {
    /// The retries after failures; nil when the request is not seen or not sent.
    var retry: RetryPreview? {
        guard let preview, preview.problem == nil, !isPurge else { return nil }
        return RetryPreview(
            compressesBody(preview.adapted) ? plan.retry.keepingForCompression : plan.retry,
            of: request.head,
            hasIdempotencyKey: preview.adapted.hasIdempotencyKey,
            authority: finalOrigin.authority,
            validates: plan.validation?.action == .retry
        )
    }

    /// Whether a body that the request may have is compressed while it passes.
    private func compressesBody(_ adapted: RequestHead) -> Bool {
        let decision = plan.compress?.decide(
            head: adapted,
            contentLength: request.head.fields.value(of: "Content-Length").flatMap(UInt64.init),
            hasBody: true,
            refusesCompression: uncompressedUntil != nil
        )
        return decision == .compress
    }

    /// Returns the rule whose `key` holds; nil when no rule has it.
    func rule(with key: String) -> Int? {
        keys.last { $0.key == key && $0.part == .holds }?.rule
    }

    /// `standard, by the rule "packages" (lupin.yaml:12)`, followed by its effect on the request.
    var retryLines: [String] {
        guard let retry else { return [] }
        let name: String
        if let index = rule(with: "retry"), let line = rules[index].keyLines["retry"] {
            name = "\(retry.policy.name), by the rule \"\(rules[index].name)\" (\(location(line)))"
        } else {
            name = "\(retry.policy.name): no rule says otherwise"
        }
        let now = health?.lines(retry.policy) ?? []
        return [name] + (retry.lines + now).map { "  \($0)" } + ["resume: \(resumeText)"]
    }

    private var resumeText: String {
        guard plan.resumes else { return "off" }
        let whose = rule(with: "resume").map { " by the rule \"\(rules[$0].name)\"" } ?? ""
        return request.head.method == .get
            ? "on\(whose): a download that breaks off is finished by Range, where its length and "
                + "a strong validator are known"
            : "on\(whose), but only GET is resumed"
    }

    /// Adds the members `retry` and `resume`.
    func addRetry(to line: inout JSONLine) {
        guard let retry else { return }
        line.openObject("retry")
        line.add("policy", text: retry.policy.name)
        if let index = rule(with: "retry"), let number = rules[index].keyLines["retry"] {
            line.add("rule", text: rules[index].name)
            line.add("line", UInt64(number))
        }
        line.add("limit", UInt64(retry.policy.limit))
        line.add("repeats", literal: retry.permission.rawValue)
        line.add("errors", list: retry.errors.map(\.rawValue))
        line.openList("status")
        for status in retry.policy.status.sorted() { line.element(UInt64(status)) }
        line.closeList()
        line.add("waits", objects: retry.waits) { line, wait in
            line.add("min", UInt64(wait.least))
            line.add("max", UInt64(wait.most))
        }
        line.add("words", list: retry.lines)
        if let health { add(health, retry.policy, to: &line) }
        line.closeObject()
        line.openObject("resume")
        line.add("on", plan.resumes)
        line.add("acts", plan.resumes && request.head.method == .get)
        if let index = rule(with: "resume") {
            line.add("rule", text: rules[index].name)
            if let number = rules[index].keyLines["resume"] { line.add("line", UInt64(number)) }
        }
        line.closeObject()
    }

    /// Adds how the origin fares now.
    private func add(
        _ health: RunningOrigin,
        _ policy: RetryPolicy,
        to line: inout JSONLine
    ) {
        let now = SystemCall.wallMicroseconds()
        if let end = policy.circuit.flatMap({ health.end(of: $0, now: now) }) {
            line.add("circuit_open_until", text: RunningOrigin.text(end))
        }
        if let budget = policy.budget {
            let allowed = budget.allowed(for: health.requests)
            line.add("budget_left", UInt64(max(0, allowed - health.retries)))
            line.add("budget", UInt64(allowed))
        }
    }
}
