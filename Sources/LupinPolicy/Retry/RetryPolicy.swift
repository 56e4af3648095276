// A retry policy of the rules file: which failures are retried, how often, and when.

package import LupinCore

/// When a failed request may be sent again; Alamofire's `RetryPolicy`.
package struct RetryPolicy: Sendable, Equatable {
    /// Whether non-idempotent methods may be repeated after bytes of them were sent.
    package enum NonIdempotent: String, SettingWord {
        case never
        /// POST and PATCH with `Idempotency-Key`, whatever `methods` contains.
        case withIdempotencyKey = "with-idempotency-key"
        /// Any method: a deliberate deviation of the user from RFC 9110 §9.2.2.
        case always
    }

    /// How to handle a response's `Retry-After` (RFC 9110 §10.2.3).
    package struct RetryAfter: Sendable, Equatable {
        package var isHonoured = true
        /// The longest wait; a response that requests a longer one is delivered.
        package var max = Duration.seconds(30)

        package init() {}
    }

    /// A second attempt in parallel with a slow one; the first answer wins.
    package struct Hedge: Sendable, Equatable {
        package enum Delay: Sendable, Equatable {
            case fixed(Duration)
            /// The recent 95th percentile of the host's response times.
            case percentile95
        }

        package var after: Delay
        /// The most attempts besides the first.
        package var max: Int

        package init(after: Delay, max: Int = 1) {
            self.after = after
            self.max = max
        }
    }

    /// The limit on retries relative to the requests to one host.
    package struct Budget: Sendable, Equatable {
        /// Retries per request, from 0 to 1.
        package var ratio = 0.2
        /// Retries in a window that are always allowed: enough for a blip under one person's tools.
        package var floor = 100
        package var window = Duration.seconds(10)

        package init() {}
    }

    /// The circuit breaker: when a host that only fails gets no more retries.
    package struct Circuit: Sendable, Equatable {
        /// Failures in a row.
        ///
        /// By default so many that a host which fails every second time reaches them once in a
        /// thousand, and few enough that retries to a dead host stop within seconds.
        package var failures = 10
        /// How long the last of them prevents retries: by default the time in which most services
        /// restart.
        package var open = Duration.seconds(10)

        package init() {}

        /// The rules file allows five minutes at most.
        var openMicroseconds: UInt64 { UInt64(clamping: open.milliseconds) &* 1000 }
    }

    /// The name in the rules file; `retry@LINE` for an inline policy.
    package var name: String
    /// Attempts after the first; Alamofire's 2 by default.
    package var limit = 2
    /// Methods that may be resent after bytes of the request have been sent.
    package var methods = idempotentMethods
    package var status = defaultStatus
    package var errors = Set(RetryClass.allCases).subtracting([.never])
    /// nil does not wait, and gives up when every address refused the connection.
    package var backoff: Backoff? = Backoff()
    package var retryAfter = RetryAfter()
    package var nonIdempotent = NonIdempotent.never
    /// Bytes of a request body that are kept in memory to resend it.
    package var replayBodyBytes = 256 << 10
    /// Bytes beyond those that are kept in a nameless file; 0 for none.
    package var replaySpillBytes = 64 << 20
    /// The time from the start of an attempt to its response's head; nil for no separate limit.
    package var perTry: Duration?
    /// Bytes of a response's body that are held back, so that an early break can be retried.
    package var holdBytes = 0
    package var hedge: Hedge?
    /// How long to wait while there is no network; 5 s in Alamofire's `OfflineRetrier`.
    package var offlineWait = Duration.zero
    /// nil counts nothing: then only `limit` limits retries.
    package var budget: Budget? = Budget()
    /// nil disables the circuit breaker.
    package var circuit: Circuit? = Circuit()

    /// A policy with the values of `standard`, which are Alamofire's plus cap and jitter.
    package init(name: String) { self.name = name }

    /// The methods that are idempotent (RFC 9110 §9.2.2, RFC 10008 §2).
    package static let idempotentMethods: Set<Method> = [
        .delete, .get, .head, .options, .put, .query, .trace,
    ]
    /// Alamofire's `defaultRetryableHTTPStatusCodes`.
    package static let defaultStatus: Set<UInt16> = [408, 500, 502, 503, 504]

    /// Alamofire's defaults.
    package static let standard = RetryPolicy(name: "standard")

    /// No retries.
    package static let none: RetryPolicy = {
        var policy = RetryPolicy(name: "none")
        policy.limit = 0
        return policy
    }()

    /// The policy without a rule: it repeats only what was provably not processed.
    ///
    /// RFC 9110 §9.2.2 lets a proxy repeat idempotent methods. Any other method is repeated only if
    /// no byte of it was sent, or if the origin reports that it did not process the request.
    package static let safe: RetryPolicy = {
        var policy = RetryPolicy(name: "safe")
        policy.limit = 1
        policy.status = []
        policy.errors = [.connect, .refusedStream, .goaway, .staleConnection]
        policy.backoff = nil
        policy.retryAfter.isHonoured = false
        policy.budget = nil
        policy.circuit = nil
        // It applies without a rule, so it must not create files.
        policy.replaySpillBytes = 0
        return policy
    }()

    /// Alamofire's `RetryPolicy` to the number: what `standard` adds to it is not there.
    package static let alamofire: RetryPolicy = {
        var policy = RetryPolicy(name: "alamofire")
        policy.methods = [.delete, .get, .head, .options, .put, .trace]
        policy.backoff?.jitter = .none
        // It knows no longest wait: this is more than ten retries reach.
        policy.backoff?.max = .seconds(600)
        policy.retryAfter.isHonoured = false
        policy.budget = nil
        policy.circuit = nil
        return policy
    }()

    /// Alamofire's `ConnectionLostRetryPolicy`.
    package static let connectionLost: RetryPolicy = {
        var policy = RetryPolicy(name: "connection-lost")
        policy.status = []
        policy.errors = [.staleConnection, .reset]
        return policy
    }()

    /// How much of a body is kept that a `compress` step compresses while it passes: a server may
    /// refuse that, and then it is sent once more.
    ///
    /// Such a body is there by a rule, so a file is no surprise, as it would be under `safe` alone.
    package var keepingForCompression: RetryPolicy {
        guard self == .safe else { return self }
        var policy = self
        policy.replaySpillBytes = Self.standard.replaySpillBytes
        return policy
    }

    /// The policies that need no definition.
    package static let builtIn = [none, safe, standard, alamofire, connectionLost]
}
