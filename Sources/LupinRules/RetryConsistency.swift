// Checks retry policies and `resume` against the rest of the file: attempts without time, bodies
// that are refused, downloads that no rule matches.

import LupinCore
import LupinPolicy

struct RetryConsistency {
    let context: DecodingContext
    let settings: Settings

    /// Reports problems in the policies under `retry:`.
    func check(_ definitions: RetryDefinitions) {
        for definition in definitions.all {
            guard let policy = definition.policy,
                case .map(let entries) = definition.entry.value.content
            else { continue }
            checkBody(policy, entries)
        }
    }

    /// Reports problems in rules, which come with their entries in the file.
    func check(_ rules: [(rule: Rule, entries: [YAMLNode.Entry])]) {
        for (rule, entries) in rules {
            if let entry = entries.first(where: { $0.key == "retry" }), let policy = rule.retry {
                if case .map(let inside) = entry.value.content { checkBody(policy, inside) }
                checkTime(policy, rule, entry)
            }
            checkResume(rule, entries)
        }
    }

    /// E-RETRY: `replay_body` exceeds the limit of bodies, which refuses larger ones.
    ///
    /// A default that is too large does no harm.
    private func checkBody(_ policy: RetryPolicy, _ entries: [YAMLNode.Entry]) {
        guard let most = settings.limits.bodyBytes, policy.replayBodyBytes > most,
            let entry = entries.first(where: { $0.key == "replay_body" })
        else { return }
        let limit = UnitText.size(most)
        let kept = UnitText.size(policy.replayBodyBytes)
        let message = "replay_body \(kept) is more than limits.body \(limit)"
        let hint = "no body is that large: write \(limit) or less"
        context.error(.retry, message, at: entry.value, hint: hint)
    }

    /// E-RETRY: the whole exchange would end before its first attempt.
    private func checkTime(_ policy: RetryPolicy, _ rule: Rule, _ entry: YAMLNode.Entry) {
        let isOwn = rule.timeouts.total != nil
        let total = rule.timeouts.total ?? settings.timeouts.total
        guard let total, let time = policy.perTry, time >= total else { return }
        let whose = isOwn ? "timeouts.total of the rule" : "timeouts.total"
        let text = UnitText.duration(time.milliseconds)
        let most = UnitText.duration(total.milliseconds)
        var location = entry.value
        var whence = " of \"\(policy.name)\""
        if case .map(let inside) = entry.value.content,
            let own = inside.first(where: { $0.key == "per_try" })
        {
            location = own.value
            whence = ""
        }
        let message = "per_try \(text)\(whence) is not less than \(whose), \(most)"
        let hint = "no second attempt would have time: write less, or per_try: none"
        context.error(.retry, message, at: location, hint: hint)
    }

    /// Warns when the rule matches no GET, since only GET is resumed by range.
    private func checkResume(_ rule: Rule, _ entries: [YAMLNode.Entry]) {
        guard rule.flags[.resume] == true, !rule.matches.isEmpty,
            !rule.matches.contains(where: \.mayBeGET),
            let entry = entries.first(where: { $0.key == "resume" })
        else { return }
        let message = "the rule \"\(rule.name)\" has nothing to resume: it matches no GET"
        let hint = "write method: GET in its match, or take resume out"
        context.warning(.retry, message, at: entry, hint: hint)
    }
}

extension Match {
    /// Whether GET requests may match.
    var mayBeGET: Bool {
        if let methods, !methods.contains(.get) { return false }
        return !not.contains { $0.methods?.contains(.get) == true && $0.asksOnlyForMethods }
    }

    private var asksOnlyForMethods: Bool {
        hosts == nil && schemes == nil && ports == nil && paths == nil && headers.isEmpty
            && query.isEmpty && clients == nil && programs == nil && users == nil && not.isEmpty
    }
}
