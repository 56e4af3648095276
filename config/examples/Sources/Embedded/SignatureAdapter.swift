// An adapter of your own: every request to one host gets a signature over its method and path.
import LupinCore

/// Signs requests as a server of yours may ask for.
struct SignatureAdapter: RequestAdapter {
    let host: String
    let sign: @Sendable (String) -> String

    func adapt(
        _ request: consuming UpstreamRequest,
        using state: RequestAdapterState
    ) async throws -> UpstreamRequest {
        guard request.origin.host.text == host else { return request }
        let text = "\(request.head.method.token) \(request.head.pathText) \(state.requestID)"
        request.head.fields.set(name: "X-Request-Id", value: state.requestID)
        request.head.fields.set(name: "X-Signature", value: sign(text))
        return request
    }
}
