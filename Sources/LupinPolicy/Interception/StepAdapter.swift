// An adapter that applies the steps of rules.

package import LupinCore

/// Applies the `request:` steps of all matching rules, in the order of the file.
package struct StepAdapter: RequestAdapter {
    private let steps: [PlannedStep]
    private let summaries: [String]?
    private let readsResponses: Bool
    private let changesResponses: Bool

    /// Creates an adapter for the steps of a plan; nil means no steps.
    package init(_ plan: Plan?) {
        steps = plan?.steps ?? []
        summaries = plan?.summaries
        readsResponses = plan?.readsResponses ?? false
        changesResponses = plan?.changesResponses ?? false
    }

    /// - Throws: `StepProblem`.
    package func adapt(
        _ request: consuming UpstreamRequest,
        using state: RequestAdapterState
    ) async throws -> UpstreamRequest {
        var request = request
        try apply(to: &request, original: state.original, id: state.id, tokens: state.tokens)
        return request
    }

    /// The same without a wait: all credentials are in `tokens` already.
    package func apply(
        to request: inout UpstreamRequest,
        original: RequestHead,
        id: ExchangeID,
        tokens: [String: String]
    ) throws(StepProblem) {
        request.steps = try RequestSteps.apply(
            steps,
            summaries: summaries,
            to: &request.head,
            original: original,
            id: id,
            tokens: tokens,
            origin: &request.origin
        )
        if readsResponses { request.head.fields.keepKnownCodings() }
        if changesResponses {
            // A part of a body can't be changed, and would not fit to what was changed.
            request.head.fields.remove(name: "Range")
            request.head.fields.remove(name: "If-Range")
        }
    }
}

extension FieldSection {
    /// Leaves in Accept-Encoding (RFC 9110 §12.5.3) only what lupin can undo and apply again.
    ///
    /// Without the field it stays absent; where nothing is left it becomes `identity`.
    package mutating func keepKnownCodings() {
        guard first(.acceptEncoding) != nil else { return }
        var kept: [String] = []
        forEachMember(of: .acceptEncoding) { member in
            let text = String(copying: member)
            let name = text.prefix { $0 != ";" }.filter { $0 != " " && $0 != "\t" }
            if ContentCoding(name) != nil || name.lowercased() == "identity" { kept.append(text) }
        }
        let value = kept.isEmpty ? "identity" : kept.joined(separator: ", ")
        set(name: "Accept-Encoding", value: value)
    }

    /// Makes the fields of a response fit to content that was edited: another representation, whose
    /// validator is weak (RFC 9110 §8.8.1), which has no digest any more, and no ranges.
    package mutating func noteEditedContent() {
        removeDigests()
        remove(name: "Accept-Ranges")
        remove(name: "Content-Length")
        if let tag = value(of: "ETag"), !tag.hasPrefix("W/") {
            set(name: "ETag", value: "W/\(tag)")
        }
    }
}
