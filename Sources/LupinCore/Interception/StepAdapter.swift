// The steps of rules as an adapter.

/// Applies the `request:` steps of all matching rules, in the order of the file.
package struct StepAdapter: RequestAdapter {
    private let steps: [PlannedStep]
    private let summaries: [String]?

    /// The steps of a plan; nil has none.
    package init(_ plan: Plan?) {
        steps = plan?.steps ?? []
        summaries = plan?.summaries
    }

    /// - Throws: `StepProblem`.
    package func adapt(
        _ request: consuming UpstreamRequest,
        using state: RequestAdapterState
    ) async throws -> UpstreamRequest {
        try applied(
            to: request,
            original: state.original,
            id: state.id,
            tokens: state.tokens
        )
    }

    /// The same, which needs no wait: whatever is to be fetched is in `tokens` already.
    package func applied(
        to request: consuming UpstreamRequest,
        original: RequestHead,
        id: ExchangeID,
        tokens: [String: String]
    ) throws(StepProblem) -> UpstreamRequest {
        var request = request
        request.steps = try RequestSteps.apply(
            steps,
            summaries: summaries,
            to: &request.head,
            original: original,
            id: id,
            tokens: tokens,
            origin: &request.origin
        )
        return request
    }
}
