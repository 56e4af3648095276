// Applies the `response:` steps of a plan to the head of a response before the client gets it.

/// The steps of a plan that change responses: fields only, so that framing, ranges and validators
/// stay valid.
package enum ResponseSteps {
    /// Applies `steps` to the fields of a response.
    ///
    /// `${header:N}` is a field of the client's request, as in a request step.
    /// - Throws: The step that would put NUL, CR or LF into the response.
    /// - Returns: The steps that changed something, and those that could not be applied.
    package static func apply(
        _ steps: [PlannedStep],
        to fields: inout FieldSection,
        original: RequestHead,
        id: ExchangeID
    ) throws(StepProblem) -> AppliedSteps {
        var result = AppliedSteps()
        let values = TemplateValues(original: original, id: id, tokens: [:])
        for step in steps {
            do throws(StepInterruption) {
                guard try fields.apply(step, values) else { continue }
                result.applied.append(step.summary)
            } catch {
                guard case .missingField(let name) = error else {
                    throw StepProblem(step: step.summary)
                }
                let reason = "the request has no field \(name)"
                result.dropped.append((step: step.summary, reason: reason))
            }
        }
        return result
    }
}
