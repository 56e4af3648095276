// What a retry policy of the rules file says: which failures are repaired, how often, how soon.

/// When a failed request may be sent again; Alamofire's `RetryPolicy`.
package struct RetryPolicy: Sendable, Equatable {
    /// Whether methods that are not idempotent may be repeated once bytes of them were sent.
    package enum NonIdempotent: String, Sendable, CaseIterable {
        case never
        /// POST and PATCH that carry `Idempotency-Key`, whatever `methods` says.
        case withIdempotencyKey = "with-idempotency-key"
        /// Any method: the user's own deviation from RFC 9110 §9.2.2.
        case always
    }

    /// What a response says of when to come back (RFC 9110 §10.2.3).
    package struct RetryAfter: Sendable, Equatable {
        package var isHonoured = true
        /// A response that asks for more is delivered.
        package var max = Duration.seconds(30)

        package init() {}
    }

    /// A second attempt beside one that is slow; the first answer wins.
    package struct Hedge: Sendable, Equatable {
        package enum Delay: Sendable, Equatable {
            case fixed(Duration)
            /// The time in which 95 of 100 responses of the host came lately.
            case percentile95
        }

        package var after: Delay
        /// Attempts beside the first.
        package var max: Int

        package init(after: Delay, max: Int = 1) {
            self.after = after
            self.max = max
        }
    }

    /// How many retries there may be in proportion to the requests to one host.
    package struct Budget: Sendable, Equatable {
        /// Retries per request, from 0 to 1.
        package var ratio = 0.2
        /// Retries in a window that are always allowed.
        package var floor = 10
        package var window = Duration.seconds(10)

        package init() {}
    }

    /// When a host is left alone that does nothing but fail.
    package struct Circuit: Sendable, Equatable {
        /// Failures in a row: by default so many that a host which fails every second time has
        /// them once in a thousand, and few enough that a dead one is left alone within seconds.
        package var failures = 10
        /// How long the last of them keeps retries away: by default the time in which most
        /// services are started anew.
        package var open = Duration.seconds(10)

        package init() {}

        /// The file allows five minutes at most.
        var openMicroseconds: UInt64 { UInt64(clamping: open.milliseconds) &* 1000 }
    }

    /// The name in the rules file; `retry@LINE` for one in place.
    package var name: String
    /// Attempts after the first; Alamofire's 2 by default.
    package var limit = 2
    /// Methods that may be sent again once bytes of the request have been sent.
    package var methods = idempotentMethods
    package var status = defaultStatus
    package var errors = Set(RetryClass.allCases).subtracting([.never])
    /// nil waits for nothing, and gives up where every address refused the connection.
    package var backoff: Backoff? = Backoff()
    package var retryAfter = RetryAfter()
    package var nonIdempotent = NonIdempotent.never
    /// Bytes of a request body that are kept in memory for sending it again.
    package var replayBodyBytes = 256 << 10
    /// Bytes beyond those that are kept in a file without a name; 0 for none.
    package var replaySpillBytes = 64 << 20
    /// From the start of an attempt to its response's head; nil for no bound of its own.
    package var perTry: Duration?
    /// Bytes of a response's body that are held back, so that an early break can be repaired.
    package var holdBytes = 0
    package var hedge: Hedge?
    /// How long to wait for a network where there is none; Alamofire's `OfflineRetrier` has 5 s.
    package var offlineWait = Duration.zero
    /// nil counts nothing: then only `limit` bounds retries.
    package var budget: Budget? = Budget()
    /// nil leaves no host alone.
    package var circuit: Circuit? = Circuit()

    /// A policy with the values of `standard`, which are Alamofire's plus cap and jitter.
    package init(name: String) { self.name = name }

    /// The methods that are idempotent (RFC 9110 §9.2.2).
    package static let idempotentMethods: Set<Method> = [
        .delete, .get, .head, .options, .put, .trace,
    ]
    /// Alamofire's `defaultRetryableHTTPStatusCodes`.
    package static let defaultStatus: Set<UInt16> = [408, 500, 502, 503, 504]

    /// Alamofire's defaults.
    package static let standard = RetryPolicy(name: "standard")

    /// Nothing is repeated.
    package static let none: RetryPolicy = {
        var policy = RetryPolicy(name: "none")
        policy.limit = 0
        return policy
    }()

    /// What holds when no rule says otherwise: only what provably was not processed.
    ///
    /// RFC 9110 §9.2.2 lets a proxy repeat idempotent methods; any other one is repeated only if
    /// no byte of it was sent, or if the origin says that it did nothing with it.
    package static let safe: RetryPolicy = {
        var policy = RetryPolicy(name: "safe")
        policy.limit = 1
        policy.status = []
        policy.errors = [.connect, .refusedStream, .goaway, .staleConnection]
        policy.backoff = nil
        policy.retryAfter.isHonoured = false
        policy.budget = nil
        policy.circuit = nil
        // It holds without a rule: nobody asked for a file.
        policy.replaySpillBytes = 0
        return policy
    }()

    /// Alamofire's `ConnectionLostRetryPolicy`.
    package static let connectionLost: RetryPolicy = {
        var policy = RetryPolicy(name: "connection-lost")
        policy.status = []
        policy.errors = [.staleConnection, .reset]
        return policy
    }()

    /// Those that need not be defined.
    package static let builtIn = [none, safe, standard, connectionLost]
}
