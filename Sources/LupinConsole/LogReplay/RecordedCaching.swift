// Explains whether the response of a recorded exchange was stored, as far as its record shows.

package import LupinCaching
package import LupinCore
package import LupinPolicy
package import LupinRecords

/// The decision of a cache policy about a recorded response.
package struct RecordedCaching: Sendable {
    /// nil when the record does not hold enough.
    package private(set) var decision: StoreDecision?
    /// Names of relevant fields whose values are not in the record, in lower case.
    package private(set) var unknown: [String] = []
    /// Sentences without a full stop.
    package private(set) var lines: [String] = []

    /// Judges the response of `exchange` by `policy`, the current one.
    /// - Parameters:
    ///   - policy: The policy; nil when no rule caches.
    ///   - exchange: The exchange.
    ///   - request: Its request after the steps of rules.
    ///   - attachments: What lupin attaches.
    ///   - changesResponse: Steps change the response for the client, whose fields are those in the
    ///     record.
    package init(
        _ policy: CachePolicy?,
        of exchange: RecordedExchange,
        request: RequestHead,
        attachments: Attachments,
        changesResponse: Bool
    ) {
        if let status = exchange.cacheStatus { lines.append("it was told as \(status)") }
        guard let policy else {
            lines.append("no rule caches it now")
            return
        }
        guard let response = exchange.response else {
            lines.append("there was no response to store")
            return
        }
        guard let deciding = exchange.decidingAttempt else {
            lines.append("nothing went upstream, so there was nothing new to store")
            return
        }
        unknown = response.unknown(of: Self.relevant(to: policy))
        let decision = policy.decide(
            response: response.head(status: exchange.attempts[deciding].status ?? response.status),
            request: request,
            asked: CacheRequest(request, hasContent: exchange.bodyBytes > 0, isKeyed: true),
            attachments: attachments,
            requestTimeUs: exchange.startMicroseconds,
            responseTimeUs: exchange.startMicroseconds
        )
        let isKnown = response.isComplete || (unknown.isEmpty && !response.names.isEmpty)
        guard isKnown || decision.isCertain else {
            lines.append(Self.missing(unknown))
            return
        }
        self.decision = decision
        lines += Self.sentences(decision)
        if changesResponse {
            lines.append("told by the fields that the client got, which steps had changed")
        }
    }

    /// The response fields that decide whether it is stored.
    private static func relevant(to policy: CachePolicy) -> [String] {
        [
            "age", "cache-control", "content-range", "date", "etag", "expires", "last-modified",
            "vary",
        ] + policy.targeted
    }

    private static func missing(_ unknown: [String]) -> String {
        let names = unknown.isEmpty ? "" : " (\(unknown.joined(separator: ", ")))"
        return "whether it may be stored can't be told: values of fields are not in the record"
            + "\(names); log: {headers: all} has them, and a running lupin for its last exchanges"
    }

    private static func sentences(_ decision: StoreDecision) -> [String] {
        switch decision {
        case .refuse(let reason): return ["not to be stored: \(reason.token) (\(reason.sentence))"]
        case .store(let advice):
            let freshness = advice.freshness
            let source = freshness.source == .none ? "" : " (\(freshness.source.rawValue))"
            let life =
                freshness.lifetime == 0
                ? "never fresh, to be validated each time"
                : "fresh for \(UnitText.duration(min(freshness.lifetime, 1 << 40) * 1000))"
            let overridden = advice.overridden.map(\.rawValue).joined(separator: ", ")
            return ["to be stored: \(life)\(source)"]
                + (overridden.isEmpty ? [] : ["OVERRIDES the origin: \(overridden)"])
        }
    }
}

extension StoreDecision {
    /// Whether request and status alone led to it, so that no field could change it.
    fileprivate var isCertain: Bool {
        switch self {
        case .refuse(.method), .refuse(.requestContent), .refuse(.interim), .refuse(.notModified),
            .refuse(.requestNoStore):
            true
        case .refuse, .store: false
        }
    }
}

extension RecordedExchange.Response {
    /// Whether every field is known with its value: `log.headers: all` omits the list of names.
    var isComplete: Bool { fields != nil || (names.isEmpty && !values.isEmpty) }

    /// Those of `wanted` that the response has with unknown values.
    func unknown(of wanted: [String]) -> [String] {
        if isComplete { return [] }
        let known = Set(values.map { $0.name.lowercased() })
        let there = Set(names.map { $0.lowercased() })
        return wanted.filter { there.contains($0) && !known.contains($0) }
    }

    /// A head with the known fields.
    func head(status: UInt16) -> ResponseHead {
        var head = ResponseHead(status: status)
        var known =
            fields.map { $0.map { ($0[0], $0[1]) } }
            ?? values.flatMap { entry in entry.values.map { (entry.name, $0) } }
        // Only its presence matters; its value is in no log.
        let setsCookie = names.contains { $0.lowercased() == "set-cookie" }
        if fields == nil, setsCookie { known.append(("Set-Cookie", "REDACTED")) }
        for (name, value) in known where Self.isLine(name, value) {
            head.fields.add(name: name, value: value)
        }
        return head
    }

    /// Logs are files that may have been edited.
    private static func isLine(_ name: String, _ value: String) -> Bool {
        !name.isEmpty && name.utf8.allSatisfy(\.isTokenByte)
            && RequestStep.problem(withFieldValue: value) == nil
    }
}
