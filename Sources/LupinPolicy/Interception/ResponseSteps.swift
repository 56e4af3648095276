// Applies the `response:` steps of a plan to the head of a response before the client gets it.

package import LupinCore

/// The steps of a plan that change responses: fields only, so that framing, ranges and validators
/// stay valid.
package enum ResponseSteps {
    /// Applies `steps` to the fields of a response.
    ///
    /// `${header:N}` is a field of the client's request, as in a request step.
    /// `summaries` are those of all steps, if already known.
    /// - Throws: The step that would put NUL, CR or LF into the response.
    /// - Returns: The steps that changed something, and those that could not be applied.
    package static func apply(
        _ steps: [PlannedStep],
        summaries: [String]? = nil,
        to fields: inout FieldSection,
        original: RequestHead,
        id: ExchangeID
    ) throws(StepProblem) -> AppliedSteps {
        var result = AppliedSteps()
        let values = TemplateValues(original: original, id: id, tokens: [:])
        for index in steps.indices {
            let step = steps[index]
            var isChanged = false
            do throws(StepInterruption) {
                isChanged = try fields.apply(step, values)
            } catch {
                guard case .missingField(let name) = error else {
                    throw StepProblem(step: step.summary)
                }
                let reason = "the request has no field \(name)"
                result.dropped.append((step: step.summary, reason: reason))
            }
            result.note(index, of: steps, isChanged: isChanged)
        }
        result.end(steps, summaries: summaries)
        return result
    }
}
