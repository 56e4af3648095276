// Explains how and why a past exchange ended, in sentences from its line in the log.

package import LupinCore
import LupinPolicy

/// The end of an exchange: its attempts, the failure, the decisions, and what to change.
package struct RecordedEnd: Sendable {
    private let record: JSONValue
    /// The failure, if there was one.
    package let error: ErrorKind?

    /// Reads a line of the log.
    package init(_ record: JSONValue) {
        self.record = record
        error = record[field: .errorType]?.string.flatMap(ErrorKind.init(rawValue:))
    }

    /// Sentences, in chronological order.
    package var lines: [String] {
        var lines = [summary]
        lines += bypass
        lines += redirection
        lines += (record[field: .redirects]?.list ?? []).map { redirect in
            let status = redirect["status"]?.count ?? 0
            return "followed \(status) to \(redirect["location"]?.string ?? "")"
        }
        let attempts = record[field: .attempts]?.list ?? []
        for (i, attempt) in attempts.enumerated() { lines += Self.lines(attempt, i + 1) }
        lines += lenience
        lines += login
        if let answer { lines.append("lupin itself answered: \(answer)") }
        lines += token
        lines += standIns
        lines += trust
        lines += validation
        lines += reason
        return lines
    }

    /// The answer of a rule's `respond`, as the record has it among the steps.
    package var answer: String? {
        record[field: .steps]?.list?.compactMap(\.string)
            .first { $0.hasPrefix(CannedResponse.stepName) }
    }

    /// The keys that affect the end, as ``ErrorKind/decidingKeys(status:)`` names them; empty for
    /// none.
    ///
    /// Two stand for a part of what bears their name: `tokens.NAME` for one token, and
    /// ``targetKey`` for those `request` keys of rules that have a `url` step.
    package var decidingKeys: [String] {
        var keys = answer == nil ? [] : ["respond"]
        guard let error else { return keys }
        let status = record[field: .status]?.count.flatMap { UInt16(exactly: $0) }
        switch error {
        case .proxyInternalError where failedToken != nil: break
        // The parent's settings say who asks there, not those of lupin's own listener.
        case .httpRequestDenied where parent != nil, .proxyConfigurationError where parent != nil:
            break
        // The reason names the one that is to be set.
        case .proxyConfigurationError where !namedSettings.isEmpty: break
        // Before it shows a certificate, a server doesn't ask for ours.
        case .tlsAlertReceived where record[field: .trustLeaf] == nil:
            keys += ErrorKind.tlsProtocolError.decidingKeys(status: 502)
        default: keys += error.decidingKeys(status: status ?? error.defaultStatus)
        }
        if let failedToken { keys.append("tokens.\(failedToken)") }
        keys += namedSettings
        if parent != nil { keys += ["proxy", "upstream.proxy"] }
        if error.defaultSide != .downstream {
            if isSentElsewhere { keys.append(Self.targetKey) }
            if record[field: .redirects]?.list?.isEmpty == false { keys.append("redirect") }
        }
        return keys
    }

    /// The settings that the reason names.
    private var namedSettings: [String] {
        record[field: .errorDetail]?.string.map(SettingsTable.named) ?? []
    }

    /// The `request` of a rule that sends requests elsewhere.
    package static let targetKey = "request.url"

    /// The token that there was none of, for which the exchange failed.
    private var failedToken: String? {
        guard let action = record[field: .tokenAction]?.string else { return nil }
        let isFailure = ["missing", "failed", "excessive"].contains(action)
        return isFailure ? record[field: .token]?.string : nil
    }

    private var isSentElsewhere: Bool {
        record[field: .steps]?.list?.contains { $0.string?.hasPrefix("url ") == true } ?? false
    }

    // MARK: Parts

    private var summary: String {
        let time = record[field: .total]?.microseconds.map { " after \(SummaryText.duration($0))" }
        let answer = record[field: .status]?.count
        let what: String
        switch record[field: .outcome]?.string {
        case "ok" where record[field: .tunnelReceived] != nil: what = tunnel
        case "ok" where record[field: .method]?.string == "CONNECT" && answer ?? 200 >= 300:
            let isStep = record[field: .loginStep] != nil
            what =
                isStep ? "no tunnel yet" : "no tunnel\(answer.map { ": refused with \($0)" } ?? "")"
        case "ok": what = "delivered whole\(answer.map { ", status \($0)" } ?? "")"
        case "error" where parent?.status != nil:
            let given = parent?.status.map { " with \($0)" } ?? ""
            let isPassedOn = answer == nil || parent?.status.map(UInt64.init) == answer
            let own = isPassedOn ? "" : answer.map { "; lupin answered \($0)" } ?? ""
            what = "refused by the parent proxy\(given)\(own)"
        case "denied" where error == .tunnelNameDenied: what = "refused inside the tunnel"
        case "denied": what = "refused\(answer.map { " with \($0)" } ?? "")"
        case "aborted": what = "the client left"
        case "truncated": what = "broken off behind the head of the response"
        default: what = "failed\(answer.map { "; lupin answered \($0)" } ?? "")"
        }
        return what + (time ?? "")
    }

    private var tunnel: String {
        let closer = record[field: .closedBy]?.string
        let sent = SummaryText.size(record[field: .tunnelSent]?.count ?? 0)
        let received = SummaryText.size(record[field: .tunnelReceived]?.count ?? 0)
        let end = closer.map { ", closed by \($0 == "proxy" ? "lupin" : "the \($0)")" } ?? ""
        return "tunnel: \(sent) to the origin, \(received) to the client\(end)"
    }

    private var bypass: [String] {
        guard let cause = record[field: .bypassCause]?.string else { return [] }
        let until = record[field: .bypassUntil]?.string ?? ""
        return [
            "rules bypassed until \(until): the client had refused lupin's certificate (\(cause))",
            "  let it trust the CA (lupin ca install), or run it by lupin exec, with the variables "
                + "that this sets",
        ]
    }

    private var lenience: [String] {
        let words = record[field: .lenient]?.list?.compactMap(\.string) ?? []
        let flaws = ResponseFlaw.allCases.filter { words.contains($0.word) }
        guard !flaws.isEmpty else { return [] }
        // Those are seen when the client has the response.
        let isRefusable = flaws != [.surplus]
        return [
            "the response has \(flaws.map(\.text).joined(separator: ", and ")): it was read "
                + "nevertheless, not stored, and its connection closed"
                + (isRefusable ? " (upstream.strict refuses it)" : "")
        ]
    }

    private var login: [String] {
        guard let scheme = record[field: .loginStep]?.string else { return [] }
        return ["a step of the client's login (\(scheme)), which its next request goes on with"]
    }

    private var redirection: [String] {
        guard record[field: .redirected]?.bool == true else { return [] }
        return ["the client ignored the proxy variables, and was led to lupin"]
    }

    private static func lines(_ attempt: JSONValue, _ number: Int) -> [String] {
        var facts: [String] = []
        let cause = attempt[attempt: .cause]?.string ?? "first"
        var start = "attempt \(number)\(cause == "first" ? "" : " (\(cause))")"
        if let via = attempt[attempt: .via]?.string {
            start += " by the parent proxy \(via)"
        } else if let peer = attempt[attempt: .peer]?.string {
            start += " to \(peer)"
        }
        if let status = attempt[attempt: .status]?.count { facts.append("status \(status)") }
        if let error = attempt[attempt: .errorType]?.string {
            let detail = attempt[attempt: .errorDetail]?.string ?? ""
            facts.append(detail.isEmpty ? error : "\(error): \(detail)")
        }
        if let code = attempt[attempt: .reset]?.string { facts.append("stream reset, \(code)") }
        if let code = attempt[attempt: .goAway]?.string { facts.append("GOAWAY, \(code)") }
        if let time = attempt[attempt: .total]?.microseconds {
            facts.append(SummaryText.duration(time))
        }
        var lines = [facts.isEmpty ? start : "\(start): \(facts.joined(separator: ", "))"]
        let decision = attempt[attempt: .decision]?.string ?? ""
        let reason = attempt[attempt: .reason]?.string ?? ""
        if decision != "deliver" || !reason.isEmpty {
            let delay = attempt[attempt: .delay]?.microseconds
            let wait = delay.map { " after \(SummaryText.duration($0))" } ?? ""
            lines.append("  then \(decision)\(wait)" + (reason.isEmpty ? "" : ": \(reason)"))
        }
        return lines
    }

    private var token: [String] {
        guard let name = record[field: .token]?.string,
            let action = record[field: .tokenAction]?.string
        else { return [] }
        return ["token \(name): \(action)"]
    }

    private var standIns: [String] {
        let exchanged = record[field: .standInsExchanged]?.list?.compactMap(\.string) ?? []
        let elsewhere = record[field: .standInsElsewhere]?.list?.compactMap(\.string) ?? []
        return exchanged.map { "the stand-in for token \($0) became the credential" }
            + elsewhere.map {
                "it had the stand-in for token \($0) where no rule of it exchanges it; see `lupin "
                    + "help credentials`, \"Where a stand-in becomes the credential\""
            }
    }

    private var trust: [String] {
        let checks = record[field: .trustChecks]?.list ?? []
        // Without checks there was no certificate: the handshake did not come that far.
        guard record[field: .trustVerdict]?.string == "fail", !checks.isEmpty else { return [] }
        let policy = record[field: .trustPolicy]?.string ?? ""
        var lines = ["the server's certificate failed trust policy \(policy)"]
        for check in checks {
            let mark = check["ok"]?.bool == true ? "✓" : "✗"
            let note = check["note"]?.string.map { ": \($0)" } ?? ""
            lines.append("  \(mark) \(check["is"]?.string ?? "")\(note)")
        }
        if let pin = record[field: .trustLeaf]?.string {
            lines.append("  the server showed \(pin); if it is the right one, add that to `pins`")
            lines.append("  `lupin pin \(endpoint)` prints the pins of all its certificates")
        }
        return lines
    }

    /// The host, with a port that is not that of https.
    private var endpoint: String {
        let host = record[field: .domain]?.string ?? "HOST"
        guard let port = record[field: .port]?.count, port != 443 else { return host }
        return host.contains(":") ? "'[\(host)]:\(port)'" : "\(host):\(port)"
    }

    private var validation: [String] {
        if let note = record[field: .validationNote]?.string { return ["validate: \(note)"] }
        guard let condition = record[field: .failedCondition]?.string else { return [] }
        let action = record[field: .validationAction]?.string ?? ""
        return ["validate: \(condition) (then: \(action))"]
    }

    /// The parent proxy that failed, or by which a response came that is wrong; nil for none.
    private var parent: FailedParent? {
        guard let endpoint = record[field: .errorParent]?.string else {
            // By https the parent sees no response.
            guard error?.isOfResponse == true, record[field: .scheme]?.string == "http" else {
                return nil
            }
            let last = record[field: .attempts]?.list?.last
            return last?[attempt: .via]?.string.map { FailedParent(endpoint: $0) }
        }
        return FailedParent(
            endpoint: endpoint,
            rule: record[field: .errorParentRule]?.string,
            status: record[field: .errorParentStatus]?.count.flatMap { UInt16(exactly: $0) },
            challenge: ParentChallenge(
                refused: record[field: .errorParentRefused]?.string,
                offers: record[field: .errorParentOffers]?.list?.compactMap(\.string) ?? []
            )
        )
    }

    private var reason: [String] {
        guard let error else { return [] }
        if record[field: .outcome]?.string == "aborted" {
            return ["why: \(record[field: .errorDetail]?.string ?? "The client left.")"]
        }
        let host = record[field: .domain]?.string ?? "the server"
        // A tunnel has no answers.
        if error == .connectionTerminated, record[field: .tunnelReceived] != nil {
            return ["why: \(host) broke off the connection."] + detail
        }
        let status = record[field: .status]?.count.flatMap { UInt16(exactly: $0) }
        let sentence = error.sentence(
            host: host,
            parent: parent,
            status: status ?? error.defaultStatus
        )
        return ["why: \(sentence)"] + detail
    }

    private var detail: [String] { record[field: .errorDetail]?.string.map { ["  \($0)"] } ?? [] }
}
