// Combines adapters and retriers: Alamofire's interceptors.

/// An adapter and a retrier in one; Alamofire's `RequestInterceptor`.
///
/// Each half has a default: no change, and no retry.
public protocol RequestInterceptor: RequestAdapter, RequestRetrier {}

extension RequestInterceptor {
    /// Changes nothing.
    public func adapt(
        _ request: consuming UpstreamRequest,
        using state: RequestAdapterState
    ) async throws -> UpstreamRequest { request }

    /// Requests no retry.
    public func retry(
        _ request: UpstreamRequest,
        after attempt: FailedAttempt
    ) async -> RetryResult { .doNotRetry(reason: "not retried") }
}

/// A chain of adapters and retriers; Alamofire's `Interceptor`.
///
/// Adapters run in order until one fails. Retriers are called in order until one returns something
/// other than `doNotRetry`.
public struct Interceptor: RequestInterceptor, Sendable {
    private let adapters: [any RequestAdapter & Sendable]
    private let retriers: [any RequestRetrier & Sendable]

    /// Creates a chain; interceptors follow the single adapters and retriers.
    /// - Parameters:
    ///   - adapters: None by default.
    ///   - retriers: None by default.
    ///   - interceptors: Both halves of each; none by default.
    public init(
        adapters: [any RequestAdapter & Sendable] = [],
        retriers: [any RequestRetrier & Sendable] = [],
        interceptors: [any RequestInterceptor & Sendable] = []
    ) {
        self.adapters = adapters + interceptors
        self.retriers = retriers + interceptors
    }

    /// Runs all adapters.
    public func adapt(
        _ request: consuming UpstreamRequest,
        using state: RequestAdapterState
    ) async throws -> UpstreamRequest {
        var request = request
        for adapter in adapters { request = try await adapter.adapt(request, using: state) }
        return request
    }

    /// Calls the retriers.
    public func retry(
        _ request: UpstreamRequest,
        after attempt: FailedAttempt
    ) async -> RetryResult {
        var last = RetryResult.doNotRetry(reason: "not retried")
        for retrier in retriers {
            last = await retrier.retry(request, after: attempt)
            guard case .doNotRetry = last else { return last }
        }
        return last
    }
}
