// Decides what follows a request to a collector: done, again after a while, or given up.

import LupinCore
import LupinPolicy

/// What becomes of a message that was sent to a collector (OTLP/HTTP, "Response").
package enum ExportOutcome: Sendable, Equatable {
    /// The collector took it, but for `rejected` items.
    case taken(rejected: UInt64)
    /// It is sent again after this wait.
    case again(after: Duration)
    /// It is lost; the text says why.
    case lost(String)

    /// Attempts to send one message, the first included.
    package static let attemptsMax = 5
    /// The longest wait that a collector may ask for.
    package static let waitMax = Duration.seconds(60)
    /// The answers that may be repeated.
    private static let repeatable: Set<UInt16> = [429, 502, 503, 504]

    /// Waits of half a second, doubled each time, with a random share taken off.
    private static let backoff: Backoff = {
        var backoff = Backoff()
        backoff.scale = .milliseconds(500)
        backoff.max = .seconds(10)
        backoff.jitter = .full
        return backoff
    }()

    /// Judges an answer.
    ///
    /// - Parameters:
    ///   - status: The status; nil where none came, since the connection failed or time ran out.
    ///   - wait: What Retry-After asks for.
    ///   - body: The body of the answer.
    ///   - attempt: The number of the attempt, from 1.
    ///   - chance: A random number.
    package init(
        status: UInt16?,
        wait: Duration? = nil,
        body: [UInt8] = [],
        attempt: Int,
        chance: UInt64
    ) {
        if let status, (200..<300).contains(status) {
            self = .taken(rejected: Self.rejected(body))
            return
        }
        if let status, !Self.repeatable.contains(status) {
            self = .lost("the collector answers \(status)")
            return
        }
        guard attempt < Self.attemptsMax else {
            self = .lost(status.map { "the collector answers \($0)" } ?? "the collector is away")
            return
        }
        let usual = Self.backoff.delay(retry: attempt - 1, previous: .zero, chance: chance)
        self = .again(after: min(wait ?? max(usual, .milliseconds(50)), Self.waitMax))
    }

    /// What `partialSuccess` says was not taken.
    private static func rejected(_ body: [UInt8]) -> UInt64 {
        guard let value = JSONValue(parsing: body.span), let part = value["partialSuccess"] else {
            return 0
        }
        for key in ["rejectedSpans", "rejectedDataPoints", "rejectedLogRecords"] {
            guard let count = part[key] else { continue }
            if let text = count.string { return NumberReader.unsigned(text) ?? 0 }
            if let number = count.number { return UInt64(exactly: number) ?? 0 }
        }
        return 0
    }
}
