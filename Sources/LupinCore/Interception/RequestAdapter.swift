// Who may change a request before it is sent: Alamofire's adapters, as a proxy sees them.

/// A request on its way upstream: a fresh copy of the client's, as far as adapters have changed it.
public struct UpstreamRequest: Sendable {
    /// Method, target and fields.
    ///
    /// Fields that belong to the client's connection are marked already and are not sent, whatever
    /// an adapter does to others. Host and the framing are written anew from `origin` and the body.
    public var head: RequestHead
    /// Where the request goes.
    ///
    /// Access rules are asked again when an adapter changes it.
    public var origin: Origin
    /// What became of the steps of rules.
    package var steps = AppliedSteps()
    /// What the body is compressed with on its way.
    package var coding: ContentCoding?

    /// A request with nothing changed.
    package init(head: RequestHead, origin: Origin) {
        self.head = head
        self.origin = origin
    }
}

/// What an adapter knows besides the request itself; Alamofire's type of the same name.
public struct RequestAdapterState: Sendable {
    /// The exchange's id: 32 hex digits, as the record has it.
    public var requestID: String { id.text }
    /// 1 for the first attempt; every attempt runs all adapters on a fresh copy.
    public let attempt: Int
    /// The client's own request, which nobody changes.
    public let original: RequestHead
    /// The credentials that steps may name by `${token:…}`, by the names of their tokens.
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
/// What is registered with a proxy serves all of its threads and must be `Sendable`; adapters of
/// lupin's own that live for one exchange need not be.
public protocol RequestAdapter {
    /// Changes a request, or fails it.
    ///
    /// It may wait, for a token say; the exchange waits with it.
    /// - Parameters:
    ///   - request: What earlier adapters made of the client's request.
    ///   - state: What else is known of the exchange.
    /// - Returns: What later adapters and the origin get.
    /// - Throws: Why nothing may be sent. The client gets 502; a request is never sent unadapted.
    nonisolated(nonsending) func adapt(
        _ request: consuming UpstreamRequest,
        using state: RequestAdapterState
    ) async throws -> UpstreamRequest
}

/// An adapter that is a closure; Alamofire's `Adapter`.
public struct Adapter: RequestAdapter, Sendable {
    /// What it does to a request.
    public typealias Closure =
        @Sendable (UpstreamRequest, RequestAdapterState) async throws -> UpstreamRequest

    private let closure: Closure

    /// An adapter that does what `closure` does.
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
    /// Why the request may not be sent after adapters that are not lupin's own; nil if it may.
    ///
    /// A line end in a field would be another field to the origin.
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
