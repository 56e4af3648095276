// The steps of rules as an adapter.

/// Applies the `request:` steps of all matching rules, in the order of the file.
package struct StepAdapter: RequestAdapter {
    private let steps: [(rule: Int, step: RequestStep)]

    package init(_ steps: [(rule: Int, step: RequestStep)]) { self.steps = steps }

    /// - Throws: `StepProblem`.
    package func adapt(
        _ request: consuming UpstreamRequest,
        using state: RequestAdapterState
    ) async throws -> UpstreamRequest {
        var request = request
        request.steps = try RequestSteps.apply(
            steps,
            to: &request.head,
            original: state.original,
            id: state.requestID,
            tokens: state.tokens,
            origin: &request.origin
        )
        return request
    }
}
