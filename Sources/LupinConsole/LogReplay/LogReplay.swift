// What other rules would have done with a recorded exchange, and whether that differs.
package import LupinCore
package import LupinPolicy
import LupinRecords

/// What other rules would have done with one recorded exchange.
package struct ReplayedExchange: Sendable, Equatable {
    /// What would change, the worst first.
    package enum Change: UInt8, Sendable, CaseIterable, Comparable {
        /// It got through, or was answered, and would be refused.
        case refused
        /// lupin would answer it, and did not before.
        case answered
        /// It would go to another URL.
        case moved
        /// lupin would decrypt it, and did not before.
        case decrypted
        /// It would be a tunnel, so no rule would see what is inside.
        case tunnelled
        /// It would get through, although it was refused or answered.
        case passed
        /// It would be refused, and had failed for another reason.
        case refusedAnyway
        /// Nothing.
        case none

        package static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }

        /// The word in JSON.
        package var word: String {
            switch self {
            case .refused: "refused"
            case .answered: "answered"
            case .moved: "moved"
            case .decrypted: "decrypted"
            case .tunnelled: "tunnelled"
            case .passed: "passed"
            case .refusedAnyway: "refused_anyway"
            case .none: "none"
            }
        }
    }

    package var change: Change
    /// What became of it before.
    package var before: RecordedOutcome
    /// `CONNECT` where lupin would see no more than that.
    package var method: String
    package var host: Host
    package var port: UInt16
    /// The rule or setting that decides, with its line, or the URL that it would go to; empty for
    /// neither.
    package var reason: String
    /// The parent proxy that it would go through.
    package var parent: String?
    /// Whether the cache would be asked.
    package var isCacheAsked: Bool
}

/// A rules file, ready for the lines of a log.
package struct LogReplay: Sendable {
    private let dryRun: DryRun
    /// Rules that match on what records may lack, named in a note to the user.
    package let notes: [String]

    package init(_ configuration: Configuration) {
        dryRun = DryRun(configuration)
        notes = Self.notes(configuration.rules.rules)
    }

    /// Compares one line of the log; nil when the line doesn't tell the request.
    package func replay(_ record: JSONValue) -> ReplayedExchange? {
        guard let exchange = RecordedExchange(record), let request = ExplainedRequest(exchange)
        else { return nil }
        let result = dryRun.result(for: request)
        let before = RecordedOutcome(record)
        let verdict = verdict(on: result, record)
        let isSeen = result.entry.showsRequest && !result.subject.isConnect
        var change = Self.change(from: before, to: verdict)
        var reason = verdict.reason
        if change == .none || change == .decrypted || change == .tunnelled,
            let destination = Self.destination(of: result, before, exchange)
        {
            change = .moved
            reason = "to \(destination)"
        }
        if change == .decrypted, case .connect(.intercept(let rule?, _)) = result.entry {
            reason = "for \(dryRun.rules.rules[rule].reference)"
        }
        let parent = verdict.passes ? result.parent : nil
        return ReplayedExchange(
            change: change,
            before: before,
            method: isSeen ? exchange.method : Method.connect.token,
            host: request.origin.host,
            port: request.origin.port,
            reason: reason,
            parent: parent.map { "\($0.host.uriText):\($0.port)" },
            isCacheAsked: isSeen && verdict.passes && result.plan.cache != nil
        )
    }

    // MARK: What would happen

    private enum Verdict {
        case refused(String)
        case answered(String)
        case decrypted
        case tunnelled
        case forwarded

        var reason: String {
            switch self {
            case .refused(let reason), .answered(let reason): reason
            case .decrypted, .tunnelled, .forwarded: ""
            }
        }

        /// Whether it would go upstream.
        var passes: Bool {
            switch self {
            case .refused, .answered: false
            case .decrypted, .tunnelled, .forwarded: true
            }
        }
    }

    private func verdict(on result: DryRunResult, _ record: JSONValue) -> Verdict {
        // The server name is checked last, as in the engine; its reason says more.
        let refusing = result.checks.first { check in
            !check.passes && check.setting != DryRunResult.Check.serverName
        }
        if let check = refusing {
            return .refused(setting(check.setting))
        }
        let rule = result.plan.respondingRule ?? "a rule"
        switch result.entry {
        case .own: return .answered("lupin's own page")
        // Whatever the answer is, a client takes it for the refusal of its CONNECT.
        case .connect(.answer): return .refused("by \(rule)")
        case .plain, .connect(.intercept), .connect(.tunnel): break
        }
        if let answer = result.answer {
            return CannedResponse.refuses(answer.status)
                ? .refused("by \(rule)") : .answered("\(answer.status) by \(rule)")
        }
        if result.isPurge { return .answered("PURGE, by the cache") }
        if let problem = result.preview?.problem { return .refused("502: \(problem)") }
        if isAddressDenied(result, record) {
            return .refused("\(setting("access.deny_targets")), for its address")
        }
        if let reason = refusalOfServerName(result, record) { return .refused(reason) }
        switch result.entry {
        case .plain, .own: return .forwarded
        case .connect(.tunnel), .connect(.answer): return .tunnelled
        case .connect(.intercept): return .decrypted
        }
    }

    /// `access.clients (line 3)`.
    private func setting(_ name: String) -> String {
        let section = name.split(separator: ".").dropLast().joined(separator: ".")
        let places = dryRun.configuration.settingPlaces
        guard let destination = places[name] ?? places[section] else { return "by \(name)" }
        return "by \(name) (line \(destination.line))"
    }

    /// Whether the address that the exchange was sent to may no longer be connected to.
    ///
    /// Known only for the origin's own address, not behind a parent proxy.
    private func isAddressDenied(_ result: DryRunResult, _ record: JSONValue) -> Bool {
        let origin = result.request.origin
        guard result.parent == nil, result.finalOrigin == origin, origin.host.address == nil,
            let attempt = record[field: .attempts]?.list?.last,
            let peer = attempt[attempt: .peer]?.string,
            let (host, port) = AuthorityText.parse(Array(peer.utf8).span), port == origin.port,
            let address = host.address
        else { return false }
        return result.denial(of: address, for: origin) != nil
    }

    /// Why the server name in the TLS of a tunnel, its second name, is refused; nil for none.
    private func refusalOfServerName(
        _ result: DryRunResult,
        _ record: JSONValue
    ) -> String? {
        let request = result.request
        guard case .connect(let decision) = result.entry,
            let name = record["tunnel", "sni"]?.string.flatMap(Host.init),
            name != request.origin.host
        else { return nil }
        switch decision {
        case .answer: return nil
        // An authority that is an address may stand for any host there.
        case .intercept:
            return request.origin.host.address == nil
                ? "by the server name \(name.text), which is not that of the CONNECT" : nil
        case .tunnel:
            return result.objection(to: name.text)
                .map { "for the server name \(name.text): \($0)" }
        }
    }

    // MARK: Comparison

    private static func change(
        from before: RecordedOutcome,
        to verdict: Verdict
    ) -> ReplayedExchange.Change {
        switch (verdict, before) {
        case (.refused, .refused): .none
        case (.refused, .failed): .refusedAnyway
        case (.refused, _): .refused
        case (.answered, .answered): .none
        case (.answered, _): .answered
        case (_, .refused), (_, .answered): .passed
        case (.decrypted, .tunnelled), (.decrypted, .forwarded): .decrypted
        case (.tunnelled, .decrypted): .tunnelled
        case (_, _): .none
        }
    }

    /// The URL, without its query, that the request would go to; nil if it is the same as before.
    private static func destination(
        of result: DryRunResult,
        _ before: RecordedOutcome,
        _ exchange: RecordedExchange
    ) -> String? {
        guard before.gotThrough, let preview = result.preview,
            let asked = HTTPURL(exchange.url)
        else { return nil }
        // The first attempt: later ones may follow redirects.
        let then = exchange.attempts.first?.url.flatMap(HTTPURL.init) ?? asked
        var now = asked
        now.origin = preview.origin
        now.path = preview.adapted.pathText
        return now.description == then.description ? nil : now.description
    }

    // MARK: Notes

    /// How many rules a note names.
    private static let namesMax = 3

    private static func notes(_ rules: [Rule]) -> [String] {
        let asking = rules.filter { $0.matches.contains(where: \.testsFields) }
        guard !asking.isEmpty else { return [] }
        let names = asking.prefix(namesMax).map { "\"\($0.name)\" (line \($0.line))" }
        let more = asking.count > namesMax ? " and \(asking.count - namesMax) more" : ""
        return [
            "\(names.joined(separator: ", "))\(more): header in match sees the fields that "
                + "log.headers keeps in records, and no others"
        ]
    }
}

extension Match {
    /// Whether it asks for fields of the request.
    fileprivate var testsFields: Bool { !headers.isEmpty || not.contains(where: \.testsFields) }
}
