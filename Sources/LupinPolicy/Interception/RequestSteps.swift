// Applies the `request:` steps of a plan to a request before it is sent.

package import LupinCore

/// A request that cannot be sent as its rules require: an interpolated value has NUL, CR or LF.
///
/// The response is 502, and nothing is sent upstream.
package struct StepProblem: Error, Equatable, Sendable {
    /// The step, as the record names it.
    package var step: String

    package init(step: String) { self.step = step }

    /// A sentence for users, without any value.
    package var sentence: String {
        "The step `\(step)` would put a line end or NUL into the request."
    }
}

extension AppliedSteps {
    /// Records what a step does to the target.
    fileprivate mutating func note(_ step: RequestStep, isChanged: Bool) {
        switch step {
        case .url(let url):
            if url.host != nil { isHostFromFile = true }
            if isChanged { isTargetChanged = true }
        case .query: if isChanged { isTargetChanged = true }
        case .set, .add, .default, .remove, .rewrite, .compress, .auth, .delay, .edit: break
        }
    }

    /// Records whether the step at `index` of `steps` changed something.
    mutating func note(_ index: Int, of steps: [PlannedStep], isChanged: Bool) {
        if !isChanged, isWhole {
            isWhole = false
            applied = steps[..<index].map(\.summary)
        }
        if isChanged, !isWhole { applied.append(steps[index].summary) }
    }

    /// Ends with the last of `steps`, whose summaries are `summaries`, if already known.
    mutating func end(_ steps: [PlannedStep], summaries: [String]?) {
        if isWhole { applied = summaries ?? steps.map(\.summary) }
    }
}

/// The steps of a plan.
package enum RequestSteps {
    /// Applies `steps` to `head`, a copy of the client's `original` without hop-by-hop fields.
    ///
    /// `origin` follows the `url:` steps; the Host field does not, since it is derived from the
    /// origin when the request is sent. When a step changed the URL, or the path has dot segments,
    /// the path is sent in its normal form (RFC 3986 §6.2.2), so this must be called even without
    /// steps.
    /// - Throws: The step that would put NUL, CR or LF into the request. Nothing may be sent then.
    ///
    /// `summaries` are those of all steps, if already known.
    package static func apply(
        _ steps: [PlannedStep],
        summaries: [String]? = nil,
        to head: inout RequestHead,
        original: RequestHead,
        id: ExchangeID,
        tokens: [String: String] = [:],
        origin: inout Origin
    ) throws(StepProblem) -> AppliedSteps {
        var result = AppliedSteps()
        let values = TemplateValues(original: original, id: id, tokens: tokens)
        head.fields.reserve(for: steps)
        for index in steps.indices {
            let planned = steps[index]
            var isChanged = false
            do throws(StepInterruption) {
                isChanged = try head.apply(planned, values, &origin)
                result.note(planned.step, isChanged: isChanged)
            } catch {
                guard case .missingField(let name) = error else {
                    throw StepProblem(step: planned.summary)
                }
                let reason = "the request has no field \(name)"
                result.dropped.append((step: planned.summary, reason: reason))
            }
            result.note(index, of: steps, isChanged: isChanged)
        }
        result.end(steps, summaries: summaries)
        head.normalizePath(isURLChanged: result.isTargetChanged)
        return result
    }
}

extension RequestHead {
    /// Applies one step; returns false when it changes nothing.
    fileprivate mutating func apply(
        _ planned: PlannedStep,
        _ values: TemplateValues,
        _ origin: inout Origin
    ) throws(StepInterruption) -> Bool {
        switch planned.step {
        case .set, .add, .default, .remove, .rewrite: return try fields.apply(planned, values)
        // Credentials are attached for the final origin after all steps, the body follows its head,
        // and a wait is no change.
        case .compress, .auth, .delay, .edit: return false
        case .query(let set, let remove): return try changeQuery(set: set, remove: remove, values)
        case .url(let step):
            let before = origin
            let isChanged = try changeURL(step, values, &origin)
            if origin != before { follow(origin) }
            return isChanged
        }
    }
}
