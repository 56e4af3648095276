// Computes the freshness lifetime and age of a response (RFC 9111 §4.2).

package import LupinCore
package import LupinPolicy

/// The lifetime of a response and the base of its age.
package struct Freshness: Sendable, Equatable {
    /// The source of the lifetime.
    package enum Source: String, Sendable, CaseIterable {
        /// There is none: the response is stale from the start.
        case none
        case sMaxAge = "s-maxage"
        case maxAge = "max-age"
        case expires = "Expires"
        case heuristic
        /// The policy's `ttl`, which overrides the origin.
        case ttl
    }

    /// A larger difference of clocks, in seconds, causes a warning.
    package static let clockSkewMax: Int64 = 60

    /// The reference for years in two digits when no other time is known: 2038, so that 88 is 1988
    /// and 87 is 2087.
    static let centuryReference: Int64 = 1 << 31

    /// Seconds, never negative.
    package private(set) var lifetime: Int64 = 0
    package private(set) var source = Source.none
    /// The lifetime is from a targeted field (RFC 9213).
    package private(set) var isTargeted = false
    /// `corrected_initial_age` (§4.2.3), in microseconds.
    package private(set) var initialAgeUs: Int64 = 0
    /// When the response was received, in microseconds since 1970.
    package private(set) var responseTimeUs: Int64 = 0
    /// Date of the response, or the time of its receipt; seconds since 1970.
    package private(set) var date: Int64 = 0
    /// How far Date is ahead of the local clock, in seconds; 0 when it isn't.
    package private(set) var clockAhead: Int64 = 0

    /// Computes lifetime and age.
    ///
    /// - Parameters:
    ///   - response: The response as received from the next hop.
    ///   - directives: The directives that apply to it.
    ///   - policy: The policy of the cache; it decides about s-maxage, heuristics and `ttl`.
    ///   - requestTimeUs: When its request was sent, in microseconds since 1970.
    ///   - responseTimeUs: When it was received.
    package init(
        of response: ResponseHead,
        directives: ResponseDirectives,
        policy: CachePolicy,
        requestTimeUs: Int64,
        responseTimeUs: Int64
    ) {
        self.responseTimeUs = responseTimeUs
        let now = responseTimeUs / microseconds
        let fields = response.fields
        let sent = fields.moment(.date, now: now)
        date = sent ?? now
        clockAhead = max(0, date.subtractingSaturated(now))
        let apparent = max(0, responseTimeUs.subtractingSaturated(date.microsecondsSaturated))
        let delay = max(0, responseTimeUs.subtractingSaturated(requestTimeUs))
        let told = fields.age.microsecondsSaturated
        initialAgeUs = max(sent == nil ? 0 : apparent, told.addingSaturated(delay))
        isTargeted = directives.isTargeted
        let (origin, originSource) = Freshness.lifetime(
            of: response,
            directives: directives,
            policy: policy,
            date: date,
            now: now
        )
        (lifetime, source) = (origin, originSource)
        if let ttl = policy.ttl, Freshness.mayHaveLifetime(response.status, directives, source) {
            (lifetime, source) = (max(0, ttl.components.seconds), .ttl)
        }
    }

    /// §4.2.1, first match first; a heuristic only when there is no explicit lifetime (§4.2.2).
    private static func lifetime(
        of response: ResponseHead,
        directives: ResponseDirectives,
        policy: CachePolicy,
        date: Int64,
        now: Int64
    ) -> (Int64, Source) {
        if policy.isShared, let seconds = directives.sMaxAge { return (seconds, .sMaxAge) }
        if let seconds = directives.maxAge { return (seconds, .maxAge) }
        if !directives.isTargeted, let line = response.fields.first(.expires) {
            let text = response.fields.storage.span.extracting(line.value.range)
            // An invalid date, above all `0`, is in the past (§5.3).
            guard let expires = HTTPDate.seconds(of: text, now: now) else { return (0, .expires) }
            return (max(0, expires.subtractingSaturated(date)), .expires)
        }
        let isAllowed =
            response.status.isHeuristicallyCacheable || directives.flags.contains(.public)
        guard isAllowed, policy.heuristic > 0,
            let modified = response.fields.moment(.lastModified, now: now), modified < date
        else { return (0, .none) }
        let part = Double(date.subtractingSaturated(modified)) * min(policy.heuristic, 1)
        let most = Double(CachePolicy.heuristicMax.components.seconds)
        return (Int64(min(part, most)), .heuristic)
    }

    /// Whether `ttl` applies: errors that are not declared cacheable are not kept.
    private static func mayHaveLifetime(
        _ status: UInt16,
        _ directives: ResponseDirectives,
        _ source: Source
    ) -> Bool {
        source != .none || status.isHeuristicallyCacheable || directives.flags.contains(.public)
    }
}

extension Freshness {
    /// The same by a clock that is ahead by so many microseconds; Date remains the origin's.
    package func moved(by microseconds: Int64) -> Freshness {
        var moved = self
        moved.responseTimeUs = responseTimeUs.addingSaturated(microseconds)
        return moved
    }

    /// `current_age` (§4.2.3) in microseconds; never less than at receipt, even if the clock was
    /// set back.
    package func ageUs(at nowUs: Int64) -> Int64 {
        initialAgeUs.addingSaturated(max(0, nowUs.subtractingSaturated(responseTimeUs)))
    }

    /// The age in whole seconds, for Age.
    package func age(at nowUs: Int64) -> Int64 {
        min(ageUs(at: nowUs) / microseconds, DeltaSeconds.max)
    }

    /// Whole seconds until the response is stale; 0 or less once it is.
    package func remaining(at nowUs: Int64) -> Int64 {
        lifetime.subtractingSaturated(ageUs(at: nowUs) / microseconds)
    }

    package func isFresh(at nowUs: Int64) -> Bool {
        lifetime.microsecondsSaturated > ageUs(at: nowUs)
    }

    /// Microseconds since the response became stale; 0 while it is fresh.
    package func stalenessUs(at nowUs: Int64) -> Int64 {
        max(0, ageUs(at: nowUs).subtractingSaturated(lifetime.microsecondsSaturated))
    }

    /// Whether the origin gave the lifetime explicitly.
    package var isExplicit: Bool {
        switch source {
        case .sMaxAge, .maxAge, .expires: true
        case .none, .heuristic, .ttl: false
        }
    }

    /// Whether Date is so far ahead that ages are wrong.
    package var hasClockSkew: Bool { clockAhead > Freshness.clockSkewMax }
}

extension UInt16 {
    /// The statuses that RFC 9110 §15.1 defines as heuristically cacheable.
    package var isHeuristicallyCacheable: Bool {
        switch self {
        case 200, 203, 204, 206, 300, 301, 308, 404, 405, 410, 414, 501: true
        default: false
        }
    }
}

// MARK: Fields and numbers

/// Per second.
private let microseconds: Int64 = 1_000_000

extension FieldSection {
    /// The date in the first line of a field, in seconds since 1970; nil when it is invalid.
    func moment(_ known: FieldName, now: Int64) -> Int64? {
        guard let line = first(known) else { return nil }
        return HTTPDate.seconds(of: storage.span.extracting(line.value.range), now: now)
    }

    /// Age, of which the first member counts; 0 when it is no number (§5.1).
    var age: Int64 {
        guard let line = first(.age) else { return 0 }
        let text = storage.span.extracting(line.value.range)
        var end = 0
        while end < text.count, text[end] != 0x2C { end += 1 }
        let member = text.extracting(0..<end)
        return DeltaSeconds.parse(member.extracting(member.trimmedRange)) ?? 0
    }
}

extension Int64 {
    /// Seconds as microseconds.
    var microsecondsSaturated: Int64 { multipliedSaturated(by: microseconds) }
}
