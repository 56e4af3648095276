// Writes a stored response as JSON: its properties, freshness and selecting fields.
import LupinCaching
import LupinCore
import LupinPolicy

extension CachedResponse {
    /// The tier: memory, disk, or both.
    fileprivate var tier: String {
        guard content != nil else { return "disk" }
        return diskHandle?.id == nil ? "memory" : "both"
    }
}

/// Writes stored responses as members of an open object, with secrets as placeholders.
struct StoredResponseText {
    let redactor: Redactor
    /// Microseconds since 1970.
    let nowUs: Int64
    private var timestamp = TimestampText()

    init(redactor: Redactor, nowUs: Int64) {
        self.redactor = redactor
        self.nowUs = nowUs
    }

    /// Writes the members that a list shows.
    ///
    /// For a part, `bytes` is the held length and `complete_bytes` that of the whole, if known.
    ///
    /// Times are in seconds. Either `fresh`, the remaining lifetime, or `stale`, the time since it
    /// ended, is present. `partition` is missing when all users share the response.
    mutating func addSummary(of response: CachedResponse, to line: inout JSONLine) {
        let facts = response.facts
        line.add("url", text: redactor.cleaned(String(response.key.url)))
        line.add("status", UInt64(facts.status))
        line.add("bytes", facts.content.heldBytes)
        if !facts.content.isComplete {
            line.add("partial", true)
            if let length = facts.content.completeLength { line.add("complete_bytes", length) }
        }
        line.add("age", UInt64(max(0, facts.freshness.age(at: nowUs))))
        let rest = facts.freshness.remaining(at: nowUs)
        line.add(rest > 0 ? "fresh" : "stale", rest.magnitude)
        line.add("tier", literal: response.tier)
        if let tag = response.key.partitionTag { line.add("partition", text: tag) }
    }

    /// Writes all other members, without the body.
    mutating func addDetails(of response: CachedResponse, to line: inout JSONLine) {
        let facts = response.facts
        let freshness = facts.freshness
        var time: [UInt8] = []
        timestamp.append(date: freshness.responseTimeUs, to: &time)
        line.add("stored", text: time.span)
        line.add("lifetime", UInt64(max(0, freshness.lifetime)))
        line.add("source", literal: freshness.source.rawValue)
        line.add("targeted", freshness.isTargeted)
        line.add("validates", facts.mustValidate)
        if let tag = facts.etag { line.add("etag", text: redactor.cleaned(tag.text)) }
        if let moment = facts.lastModified {
            line.add("last_modified", text: HTTPDate.text(moment))
        }
        line.add("policy", text: redactor.cleaned(response.policy.name))
        line.openList("selected_by")
        for (name, value) in facts.vary.selectors {
            line.comma()
            line.bytes.append(0x5B)
            line.element(redactor.cleaned(name).utf8Span.span)
            // Any value may be a credential; the mark only shows whether two differ.
            if let value { line.element(redactor.mark(for: value.span).span) }
            line.closeList()
        }
        line.closeList()
        line.add(fieldsOf: facts.fields, redactor)
    }
}
