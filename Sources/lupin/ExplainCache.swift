// The cache section of an explanation: the policy, its effect on the request, and what became of a
// recorded response.
import LupinCaching
import LupinConsole
import LupinCore
import LupinPolicy
import LupinRecords

extension Explanation {
    /// Whether the request is sent in a form that a cache could answer.
    var isCacheAsked: Bool { preview.map { $0.problem == nil } ?? false }

    /// The effect of the policy on the request; nil when no rule caches.
    var cache: CachePreview? {
        guard isCacheAsked, let policy = plan.cache else { return nil }
        return CachePreview(
            policy,
            of: lookUpHead,
            hasContent: hasContent,
            attachments: attachments,
            user: request.user,
            isUserKnown: request.user != nil || AccessPolicy.isLocal(request.client)
        )
    }

    /// `standard, by the rule "packages" (lupin.yaml:12)`, followed by its effect on the request.
    var cacheLines: [String] {
        guard let cache else {
            guard let by = cacheRule else { return ["off: no rule says otherwise"] }
            return ["off\(by.text)"]
        }
        let lines = cache.lines + [sharingLine(of: cache)].compactMap(\.self)
        return ["\(cache.policy.name)\(cacheRule?.text ?? "")"] + lines.map { "  \($0)" }
    }

    /// Whether its response goes to other machines; nil where no store is shared.
    private func sharingLine(of cache: CachePreview) -> String? {
        let shared = configuration.settings.cacheStore.shared
        guard let server = shared.server, shared.isOn, cache.refusal == nil else { return nil }
        let isForAll = cache.partition.isEmpty
        if let obstacle = cache.policy.sharingObstacle(isForAll: isForAll) {
            return "it stays on this machine: \(obstacle)"
        }
        return "other machines get it from \(server.text), where the origin allows that"
    }

    private var cacheRule: (name: String, line: Int, text: String)? {
        guard let index = rule(with: "cache"), let line = rules[index].keyLines["cache"] else {
            return nil
        }
        let name = rules[index].name
        return (name: name, line: line, text: ", by the rule \"\(name)\" (\(location(line)))")
    }

    /// The request of the cache look-up.
    private var lookUpHead: RequestHead { preview?.adapted ?? request.head }

    private var hasContent: Bool {
        if let record { return record.bodyBytes > 0 }
        let fields = request.head.fields
        return fields.value(of: "Transfer-Encoding") != nil
            || fields.value(of: "Content-Length").flatMap(UInt64.init).map { $0 > 0 } ?? false
    }

    // MARK: The record

    private var recorded: RecordedCaching? {
        guard let record, isCacheAsked else { return nil }
        return RecordedCaching(
            plan.cache,
            of: record,
            request: lookUpHead,
            attachments: attachments,
            changesResponse: !plan.responseSteps.isEmpty
        )
    }

    /// The recorded facts of the exchange, and how the cache treats its response.
    var recordLines: [String] {
        guard let record else { return [] }
        var lines = ["exchange \(record.id)"]
        if let status = record.response?.status {
            let upstream = record.decidingAttempt.flatMap { record.attempts[$0].status }
            let other = upstream.map { $0 == status ? "" : ", the origin answered \($0)" } ?? ""
            lines.append("the client got \(status)\(other)")
        }
        if let version = record.rulesVersion, version != configuration.version {
            lines.append(
                "other rules held then (version \(version)); all of this is by those of now "
                    + "(\(configuration.version))"
            )
        }
        if record.original == nil {
            lines.append("of the client's request only what the log has is known")
        }
        return lines + (recorded?.lines.map { "cache: \($0)" } ?? [])
    }

    // MARK: JSON

    /// Adds the member `cache`.
    func addCache(to line: inout JSONLine) {
        guard isCacheAsked else { return }
        line.openObject("cache")
        line.add("policy", text: cache?.policy.name ?? "off")
        if let rule = cacheRule {
            line.add("rule", text: rule.name)
            line.add("line", UInt64(rule.line))
        }
        if let cache {
            line.add("mode", literal: cache.policy.mode.rawValue)
            line.add("partition", list: cache.partition.map(\.text))
            if isPurge { line.add("purges", true) }
            line.add("answers", cache.bypass == nil)
            if let bypass = cache.bypass { line.add("bypass", literal: bypass.rawValue) }
            line.add("stores", cache.refusal == nil)
            if let refusal = cache.refusal { line.add("refusal", literal: refusal.token) }
            line.add("overrides", list: cache.policy.overrides)
            let sharing = sharingLine(of: cache)
            line.add("words", list: cache.lines + [sharing].compactMap(\.self))
        }
        line.closeObject()
    }

    /// Adds the member `record`, for a past exchange.
    func addRecord(to line: inout JSONLine) {
        guard let record else { return }
        line.openObject("record")
        line.add("id", text: record.id)
        if let status = record.response?.status { line.add("status", UInt64(status)) }
        if let version = record.rulesVersion { line.add("version", text: version) }
        if let recorded {
            switch recorded.decision {
            case .store(let advice)?:
                line.add("stored", true)
                line.add("lifetime", UInt64(max(0, advice.freshness.lifetime)))
                line.add("source", literal: advice.freshness.source.rawValue)
            case .refuse(let reason)?:
                line.add("stored", false)
                line.add("refusal", literal: reason.token)
            case nil: break
            }
            line.add("unknown", list: recorded.unknown)
            line.add("words", list: recorded.lines)
        }
        line.closeObject()
    }
}
