// Changes requests before they are sent: Alamofire's adapters, in a proxy.

/// A request on its way upstream: a fresh copy of the client's, with the changes of adapters so
/// far.
public struct UpstreamRequest: Sendable {
    /// Method, target and fields.
    ///
    /// Fields of the client's connection are already marked and are never sent, whatever an adapter
    /// does to others. Host and the framing are derived from `origin` and the body.
    public var head: RequestHead
    /// The origin that gets the request.
    ///
    /// Access rules are checked again when an adapter changes it.
    public var origin: Origin
    /// The results of the rules' steps.
    package var steps = AppliedSteps()
    /// The coding with which the body is compressed.
    package var coding: ContentCoding?

    /// Creates an unchanged request.
    package init(head: RequestHead, origin: Origin) {
        self.head = head
        self.origin = origin
    }
}

/// The context of an adapter; Alamofire's type of the same name.
public struct RequestAdapterState: Sendable {
    /// The exchange's id: 32 hex digits, as the record has it.
    public var requestID: String { id.text }
    /// 1 for the first attempt; every attempt runs all adapters on a fresh copy.
    public let attempt: Int
    /// The client's own request, which never changes.
    public let original: RequestHead
    /// The credentials for `${token:…}` in steps, by the names of their tokens.
    package let tokens: [String: String]
    package let id: ExchangeID

    package init(
        id: ExchangeID,
        attempt: Int,
        original: RequestHead,
        tokens: [String: String] = [:]
    ) {
        self.id = id
        self.attempt = attempt
        self.original = original
        self.tokens = tokens
    }
}

/// Changes requests before they are sent; Alamofire's `RequestAdapter`.
///
/// An adapter registered with a proxy serves all of its threads and must be `Sendable`; adapters of
/// lupin's own that live for one exchange need not be.
public protocol RequestAdapter {
    /// Changes a request, or throws.
    ///
    /// It may wait, for example for a token; the exchange waits for it.
    /// - Parameters:
    ///   - request: The client's request as earlier adapters have changed it.
    ///   - state: The context of the exchange.
    /// - Returns: The request for later adapters and the origin.
    /// - Throws: The reason to send nothing. The client gets 502; a request is never sent
    ///   unadapted.
    nonisolated(nonsending) func adapt(
        _ request: consuming UpstreamRequest,
        using state: RequestAdapterState
    ) async throws -> UpstreamRequest
}

/// An adapter that is a closure; Alamofire's `Adapter`.
public struct Adapter: RequestAdapter, Sendable {
    /// Changes a request.
    public typealias Closure =
        @Sendable (UpstreamRequest, RequestAdapterState) async throws -> UpstreamRequest

    private let closure: Closure

    /// Creates an adapter that calls `closure`.
    public init(_ closure: @escaping Closure) { self.closure = closure }

    /// Calls the closure.
    public func adapt(
        _ request: consuming UpstreamRequest,
        using state: RequestAdapterState
    ) async throws -> UpstreamRequest {
        try await closure(request, state)
    }
}

extension UpstreamRequest {
    /// The reason not to send the request after adapters that are not lupin's own; nil if none.
    ///
    /// The origin would read a line break in a field as the start of another field.
    package var problem: String? {
        for line in head.fields.lines where !line.isHopByHop {
            let name = head.fields.storage.span.extracting(line.name.range)
            let value = head.fields.storage.span.extracting(line.value.range)
            if name.isEmpty || !name.isAllTokenBytes {
                return "An adapter set a field whose name is none."
            }
            if value.hasLineEndOrNUL {
                return "An adapter put a line end or NUL into `\(head.fields.text(line.name))`."
            }
        }
        return nil
    }
}

extension Span where Element == UInt8 {
    fileprivate var isAllTokenBytes: Bool {
        for i in indices where !self[i].isTokenByte { return false }
        return true
    }
}
