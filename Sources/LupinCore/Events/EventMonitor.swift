// Who is told what becomes of an exchange, stage by stage: Alamofire's event monitors.

/// Is told of every stage of every exchange; Alamofire's `EventMonitor`.
///
/// It sees values and changes nothing. Every text in them is redacted, as in the log. It is called
/// on the thread that serves the exchange, which serves many others too: it must not block, and
/// from several threads at once. The stages of one exchange come in order, from one thread.
///
/// Every method has a default that does nothing.
public protocol EventMonitor: Sendable {
    /// A client's request is there.
    ///
    /// Told once the rules are known, with the time when the request began.
    /// - Parameters:
    ///   - exchange: Which exchange, and when.
    ///   - client: Who asks.
    func exchangeDidBegin(_ exchange: ExchangeMoment, from client: ClientSummary)

    /// It is known which rules match; again after a redirect that was followed.
    /// - Parameters:
    ///   - exchange: Which exchange, and when.
    ///   - rules: Their names, in the order of the file.
    func exchange(_ exchange: ExchangeMoment, didMatch rules: [String])

    /// The request of an attempt is ready to be sent.
    /// - Parameters:
    ///   - exchange: Which exchange, and when.
    ///   - url: Where it goes.
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

    /// The exchange waits for a credential that somebody fetches.
    /// - Parameters:
    ///   - exchange: Which exchange, and when.
    ///   - token: The credential's name under `tokens`.
    func exchange(_ exchange: ExchangeMoment, isWaitingForToken token: String)

    /// A connection is being made; there is none in the pool.
    /// - Parameters:
    ///   - exchange: Which exchange, and when.
    ///   - target: Host and port of who answers.
    func exchange(_ exchange: ExchangeMoment, isConnectingTo target: String)

    /// The head of the request was handed to a connection; its body follows as it comes.
    /// - Parameters:
    ///   - exchange: Which exchange, and when.
    ///   - connection: Which connection.
    func exchange(_ exchange: ExchangeMoment, didSendRequestOn connection: ConnectionSummary)

    /// A long body has come further: a second has passed, or 1 MiB.
    /// - Parameters:
    ///   - exchange: Which exchange, and when.
    ///   - progress: How much has gone which way so far.
    func exchange(_ exchange: ExchangeMoment, didMakeProgress progress: ProgressSummary)

    /// The head of a final response is there.
    /// - Parameters:
    ///   - exchange: Which exchange, and when.
    ///   - status: Its status.
    func exchange(_ exchange: ExchangeMoment, didReceiveResponseWith status: UInt16)

    /// The response comes from the cache.
    /// - Parameters:
    ///   - exchange: Which exchange, and when.
    ///   - status: What `Cache-Status` says (RFC 9211).
    func exchange(_ exchange: ExchangeMoment, didFindInCache status: String)

    /// An attempt has ended, well or not; that of a delivered response ends with its body.
    /// - Parameters:
    ///   - exchange: Which exchange, and when.
    ///   - attempt: What came of it.
    func exchange(_ exchange: ExchangeMoment, didFinishAttempt attempt: AttemptSummary)

    /// There will be another attempt: a retry, one with other credentials, or a redirect.
    /// - Parameters:
    ///   - exchange: Which exchange, and when.
    ///   - attempt: The attempt that led to it; its `decision` says how.
    func exchangeIsRetrying(_ exchange: ExchangeMoment, after attempt: AttemptSummary)

    /// The client has what it gets.
    /// - Parameters:
    ///   - exchange: Which exchange, and when.
    ///   - summary: What came of it.
    func exchange(_ exchange: ExchangeMoment, didFinish summary: ExchangeSummary)

    /// A credential was fetched.
    /// - Parameter token: Which one.
    func tokenDidRefresh(_ token: TokenSummary)

    /// A credential could not be fetched.
    /// - Parameter token: Which one, and why.
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
