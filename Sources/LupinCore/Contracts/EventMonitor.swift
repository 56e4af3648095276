// The interface through which monitors observe exchanges, stage by stage.

/// Observes every stage of every exchange; Alamofire's `EventMonitor`.
///
/// A monitor gets values and changes nothing. Every text in them is redacted, as in the log. It is
/// called on the threads that serve exchanges, from several at once, and must not block: each
/// thread serves many exchanges. The stages of one exchange come in order, from one thread.
///
/// Every method has a default that does nothing.
public protocol EventMonitor: Sendable {
    /// A client's request has arrived.
    ///
    /// Called once the rules are known, with the time when the request began.
    /// - Parameters:
    ///   - exchange: Which exchange, and when.
    ///   - client: The client.
    func exchangeDidBegin(_ exchange: ExchangeMoment, from client: ClientSummary)

    /// The matching rules are known; called again after a redirect was followed.
    /// - Parameters:
    ///   - exchange: Which exchange, and when.
    ///   - rules: Their names, in the order of the file.
    func exchange(_ exchange: ExchangeMoment, didMatch rules: [String])

    /// The request of an attempt is ready to be sent.
    /// - Parameters:
    ///   - exchange: Which exchange, and when.
    ///   - url: The URL of the attempt.
    ///   - steps: The steps of rules that changed it.
    func exchange(_ exchange: ExchangeMoment, didAdaptRequestTo url: String, by steps: [String])

    /// An adapter failed, and nothing is sent.
    /// - Parameters:
    ///   - exchange: Which exchange, and when.
    ///   - failure: What failed.
    func exchange(
        _ exchange: ExchangeMoment,
        didFailToAdaptRequestWith failure: FailureSummary
    )

    /// The exchange waits for a credential that is being fetched.
    /// - Parameters:
    ///   - exchange: Which exchange, and when.
    ///   - token: The credential's name under `tokens`.
    func exchange(_ exchange: ExchangeMoment, isWaitingForToken token: String)

    /// A new connection is being made, because the pool has none.
    /// - Parameters:
    ///   - exchange: Which exchange, and when.
    ///   - target: Host and port that the connection leads to.
    func exchange(_ exchange: ExchangeMoment, isConnectingTo target: String)

    /// The head of the request was passed to a connection; its body follows as it arrives.
    /// - Parameters:
    ///   - exchange: Which exchange, and when.
    ///   - connection: The connection.
    func exchange(_ exchange: ExchangeMoment, didSendRequestOn connection: ConnectionSummary)

    /// A long body has progressed: by one second or 1 MiB.
    /// - Parameters:
    ///   - exchange: Which exchange, and when.
    ///   - progress: The bytes in each direction so far.
    func exchange(_ exchange: ExchangeMoment, didMakeProgress progress: ProgressSummary)

    /// The head of a final response has arrived.
    /// - Parameters:
    ///   - exchange: Which exchange, and when.
    ///   - status: Its status.
    func exchange(_ exchange: ExchangeMoment, didReceiveResponseWith status: UInt16)

    /// The response comes from the cache.
    /// - Parameters:
    ///   - exchange: Which exchange, and when.
    ///   - status: The value for `Cache-Status` (RFC 9211).
    func exchange(_ exchange: ExchangeMoment, didFindInCache status: String)

    /// An attempt has ended, successfully or not; that of a delivered response ends with its body.
    /// - Parameters:
    ///   - exchange: Which exchange, and when.
    ///   - attempt: The result of the attempt.
    func exchange(_ exchange: ExchangeMoment, didFinishAttempt attempt: AttemptSummary)

    /// Another attempt follows: a retry, one with new credentials, or a redirect.
    /// - Parameters:
    ///   - exchange: Which exchange, and when.
    ///   - attempt: The attempt that led to it; its `decision` is the reason.
    func exchangeIsRetrying(_ exchange: ExchangeMoment, after attempt: AttemptSummary)

    /// The exchange has ended, and the client gets nothing more.
    /// - Parameters:
    ///   - exchange: Which exchange, and when.
    ///   - summary: The result of the exchange.
    func exchange(_ exchange: ExchangeMoment, didFinish summary: ExchangeSummary)

    /// A credential was fetched.
    /// - Parameter token: The credential.
    func tokenDidRefresh(_ token: TokenSummary)

    /// A credential could not be fetched.
    /// - Parameter token: The credential, and the reason.
    func tokenDidFailToRefresh(_ token: TokenSummary)
}

extension EventMonitor {
    /// Does nothing.
    public func exchangeDidBegin(_ exchange: ExchangeMoment, from client: ClientSummary) {}
    /// Does nothing.
    public func exchange(_ exchange: ExchangeMoment, didMatch rules: [String]) {}
    /// Does nothing.
    public func exchange(
        _ exchange: ExchangeMoment,
        didAdaptRequestTo url: String,
        by steps: [String]
    ) {}
    /// Does nothing.
    public func exchange(
        _ exchange: ExchangeMoment,
        didFailToAdaptRequestWith failure: FailureSummary
    ) {}
    /// Does nothing.
    public func exchange(_ exchange: ExchangeMoment, isWaitingForToken token: String) {}
    /// Does nothing.
    public func exchange(_ exchange: ExchangeMoment, isConnectingTo target: String) {}
    /// Does nothing.
    public func exchange(
        _ exchange: ExchangeMoment,
        didSendRequestOn connection: ConnectionSummary
    ) {}
    /// Does nothing.
    public func exchange(
        _ exchange: ExchangeMoment,
        didMakeProgress progress: ProgressSummary
    ) {}
    /// Does nothing.
    public func exchange(_ exchange: ExchangeMoment, didReceiveResponseWith status: UInt16) {}
    /// Does nothing.
    public func exchange(_ exchange: ExchangeMoment, didFindInCache status: String) {}
    /// Does nothing.
    public func exchange(_ exchange: ExchangeMoment, didFinishAttempt attempt: AttemptSummary) {}
    /// Does nothing.
    public func exchangeIsRetrying(_ exchange: ExchangeMoment, after attempt: AttemptSummary) {}
    /// Does nothing.
    public func exchange(_ exchange: ExchangeMoment, didFinish summary: ExchangeSummary) {}
    /// Does nothing.
    public func tokenDidRefresh(_ token: TokenSummary) {}
    /// Does nothing.
    public func tokenDidFailToRefresh(_ token: TokenSummary) {}
}
