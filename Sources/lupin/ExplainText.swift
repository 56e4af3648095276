// An explanation for users: sections of short lines.
import LupinConsole
import LupinCore
import LupinPolicy
import LupinRecords
import LupinRules

/// Formats an explanation.
struct ExplainText {
    let explanation: Explanation
    /// Whether to print all rules that do not match, and all settings.
    let tellsAll: Bool
    /// Whether an exchange is told on one screen: why it ended so, and which rules matched.
    var isBrief = false
    /// The width of the terminal.
    var columns = 80

    /// With more rules than this, only the matching ones are printed unless `tellsAll`.
    private static let rulesMax = 50
    /// The lines of a brief explanation.
    private static let briefLines = 24
    /// The columns before the bars of the timeline.
    private static let timelineMargin = 24

    private var rules: [Rule] { explanation.rules }

    /// The lines, without a trailing newline.
    var text: String {
        let lines = isBrief && explanation.record != nil ? brief : whole
        // A line break in a value must not look like a line of lupin's own.
        return lines.map { $0.replacing("\n", with: "\\n") }.joined(separator: "\n")
    }

    /// Why an exchange ended as it did; the rules that don't match where there is room for them.
    private var brief: [String] {
        guard let record = explanation.record else { return [] }
        let hint = "--all tells the rest: access, keys, settings, retry, cache and request"
        let head = target + section("end", record.end.lines + deciding)
        var rules = section("rules", verdicts(leavingOut: true))
        let bars = record.timeline.map { timeline in
            section("timeline", timeline.lines(columns: columns - Self.timelineMargin))
        }
        var timeline = bars ?? []
        let room = Self.briefLines - head.count - 2
        if timeline.count > max(3, room - rules.count) {
            timeline = timeline.prefix(max(3, room - rules.count) - 1) + ["  …"]
        }
        let all = section("rules", verdicts(leavingOut: false))
        if timeline.count + all.count <= room { rules = all }
        return head + timeline + rules + ["", hint]
    }

    private var whole: [String] {
        var lines = target
        if let record = explanation.record { lines += section("end", record.end.lines + deciding) }
        if let timeline = explanation.record?.timeline {
            lines += section("timeline", timeline.lines(columns: columns - Self.timelineMargin))
        }
        lines += section("access", access)
        if !interception.isEmpty { lines += section("https", interception) }
        let leavesOut = !tellsAll && rules.count > Self.rulesMax
        lines += section("rules", verdicts(leavingOut: leavesOut))
        lines += section("keys", keys)
        lines += section("settings", settings)
        if explanation.retry != nil { lines += section("retry", explanation.retryLines) }
        if explanation.isCacheAsked { lines += section("cache", explanation.cacheLines) }
        if explanation.record != nil { lines += section("record", explanation.recordLines) }
        return lines + section("request", outcome)
    }

    /// Explains a past exchange, from its record and heads as JSON; nil when they can't be read.
    static func ofRecorded(_ detail: [UInt8], _ configuration: Configuration) -> String? {
        guard let json = JSONValue(parsing: detail.span), let exchange = RecordedExchange(json)
        else { return nil }
        guard let request = ExplainedRequest(exchange) else {
            return exchange.end.lines.joined(separator: "\n")
        }
        let written = configuration.fileName.map { _ in WrittenFile(of: configuration) }
        return ExplainText(
            explanation: Explanation(request, configuration, written, record: exchange),
            tellsAll: false,
            columns: 100
        ).text
    }

    private func section(_ title: String, _ lines: [String]) -> [String] {
        ["", title] + lines.map { $0.isEmpty ? $0 : "  \($0)" }
    }

    // MARK: Sections

    /// The keys that decided how the recorded exchange ended, with their places.
    private var deciding: [String] {
        guard let end = explanation.record?.end else { return [] }
        let names = end.decidingKeys
        let holding = explanation.keys.filter { key in
            names.contains(key.key)
                || (key.key == "request" && names.contains(RecordedEnd.targetKey)
                    && rules[key.rule].changesTarget)
        }
        let keys = holding.map { key in
            "\(key.key): \(explanation.text(of: key)) "
                + "(rule \"\(rules[key.rule].name)\", \(explanation.location(key.line)))"
        }
        let written = explanation.written ?? .defaults
        let settings = written.settings(named: names)
            .filter { setting in
                !(setting.name == "upstream.proxy" && explanation.plan.proxy != nil)
                    && !holding.contains { $0.key == setting.name && $0.part == .holds }
            }
            .map { setting in
                "\(setting.name): \(setting.text) "
                    + "(\(setting.line.map(explanation.location) ?? "default"))"
            }
        let isTrustUsual = names.contains("trust") && explanation.plan.trust == nil
        let all = keys + (isTrustUsual ? ["trust: system (default)"] : []) + settings
        return all.isEmpty ? [] : ["look at:"] + all.map { "  \($0)" }
    }

    private var target: [String] {
        let request = explanation.request
        let origin = request.origin
        let path = request.head.method == .connect ? "" : request.subject.shownPath
        var client = "client \(request.client.text)"
        if let program = request.program { client += ", program \(program)" }
        if let user = request.user { client += ", user \(user)" }
        let file = explanation.configuration.fileName
        let entries = ProxyEnvironment(LocatedRules.environment).noProxy
        let isLeftOut = entries.bypasses(host: origin.host, port: origin.port)
        let exception =
            isLeftOut
            ? ["  your no_proxy has tools reach \(origin.host.text) without lupin"] : []
        return [
            "\(request.head.method.token) \(origin.scheme.name)://\(origin.hostAndPort)\(path)",
            "  \(client)",
            "  rules: \(file ?? withoutFile)",
        ] + exception
    }

    /// What holds for who finds no rules file; the exchange may have had one.
    private var withoutFile: String {
        explanation.record?.rules.isEmpty == false
            ? "not those of the record, whose file is not known here: --rules FILE names it"
            : "no file, the defaults hold"
    }

    private var access: [String] {
        explanation.checks.map { check in
            "\(check.passes ? "✓" : "✗") \(check.sentence) (\(check.setting)\(line(check.setting)))"
        }
    }

    /// Returns `, lupin.yaml:12` when the file has the setting.
    private func line(_ setting: String) -> String {
        guard let location = explanation.configuration.settingPlaces[setting] else { return "" }
        return ", \(explanation.location(location.line))"
    }

    private var interception: [String] {
        switch explanation.entry {
        case .plain, .own: return []
        case .connect(.answer):
            let rule = explanation.plan.respondingIndex.map { " \(reference($0))" } ?? ""
            return ["the rule\(rule) answers the CONNECT; nothing is decrypted"]
        case .connect(.tunnel(let reason)):
            var lines = ["tunnelled: \(Self.sentence(reason))\(location(reason))"]
            let waiting = explanation.verdicts.indices.filter {
                if case .needsClearText = explanation.verdicts[$0] { true } else { false }
            }
            if !waiting.isEmpty {
                let names = waiting.map { "\"\(rules[$0].name)\"" }.joined(separator: ", ")
                lines.append("so what \(names) may ask of the requests inside is not seen")
            }
            if explanation.judgesNames {
                lines.append(
                    "the server name of the TLS inside must be allowed too, and HTTP without TLS "
                        + "is no tunnel; --sni NAME tells of a name; under an allow list another "
                        + "protocol passes if its server speaks first, or by access.opaque_ports"
                )
            }
            return lines
        case .connect(.intercept(let rule, let mayTunnel)):
            let cause = rule.map { "for the rule \(reference($0))" }
            var lines = [
                "intercepted: \(cause ?? "intercept.mode is all\(line("intercept.mode"))")"
            ]
            let settings = explanation.configuration.settings
            if mayTunnel, let time = settings.intercept.tunnelsRejecting {
                let text = UnitText.duration(time.milliseconds)
                lines.append(
                    "a client that refuses lupin's certificate is tunnelled for 30s, "
                        + "and longer each time, up to \(text)"
                )
            } else {
                lines.append("a client that refuses lupin's certificate gets 403")
            }
            lines += explanation.bypasses.map(\.sentence)
            return lines
        }
    }

    private static func sentence(_ reason: TunnelReason) -> String {
        switch reason {
        case .mode: "intercept.mode is none"
        case .exception: "intercept.except lists the host"
        case .noRule: "no rule needs the host in clear"
        }
    }

    private func location(_ reason: TunnelReason) -> String {
        switch reason {
        case .mode: line("intercept.mode")
        case .exception: line("intercept.except")
        case .noRule: ""
        }
    }

    private func reference(_ rule: Int) -> String {
        "\"\(rules[rule].name)\" (\(explanation.location(rules[rule].line)))"
    }

    private func verdicts(leavingOut leavesOut: Bool) -> [String] {
        if rules.isEmpty { return ["there are none"] }
        var lines: [String] = []
        for (index, verdict) in explanation.verdicts.enumerated() {
            if leavesOut, verdict != .matches { continue }
            lines.append(line(index, verdict))
            if case .fails(let alternatives) = verdict, alternatives.count > 1 {
                lines += alternatives.prefix(10).map { "    or: \(Self.reasons($0))" }
                if alternatives.count > 10 {
                    lines.append("    and \(alternatives.count - 10) other alternatives")
                }
            }
        }
        let others = explanation.verdicts.count { $0 != .matches }
        if leavesOut, others > 0 {
            lines.append(
                others == 1
                    ? "1 rule does not match; --all tells why"
                    : "\(others) rules do not match; --all tells why"
            )
        }
        return lines
    }

    private func line(_ index: Int, _ verdict: RuleVerdict) -> String {
        let rule = rules[index]
        let name = "\(rule.name) (line \(rule.line))"
        switch verdict {
        case .matches: return "✓ \(name)"
        case .needsClearText(let keys):
            return "? \(name): \(keys.joined(separator: ", ")) shows only inside https"
                + (rule.stop ? ", so its `stop: true` has no effect on the CONNECT" : "")
        case .hidden(let other):
            return "✗ \(name): hidden by `stop: true` of \"\(rules[other].name)\" "
                + "(line \(rules[other].line))"
        case .fails(let alternatives):
            guard alternatives.count == 1, let only = alternatives.first else {
                return "✗ \(name): none of \(alternatives.count) alternatives"
            }
            return "✗ \(name): \(Self.reasons(only))"
        }
    }

    private static func reasons(_ failures: [MatchFailure]) -> String {
        failures.map(\.reason).joined(separator: "; ")
    }

    private var keys: [String] {
        if explanation.keys.isEmpty { return ["no rule says anything"] }
        return Self.aligned(
            explanation.keys.map { key in
                let location = "\(explanation.location(key.line)) \(rules[key.rule].name)"
                return (location, "\(key.key): \(explanation.text(of: key))\(remark(key.part))")
            }
        )
    }

    private func remark(_ part: EffectiveKey.Part) -> String {
        switch part {
        case .holds, .adds: ""
        case .replaced(let other):
            "  (replaced by \"\(rules[other].name)\", line \(rules[other].line))"
        case .idle(let reason): "  (nothing here: \(reason))"
        }
    }

    private var settings: [String] {
        let shown = explanation.settings.filter { tellsAll || $0.isKey }
        return Self.aligned(
            shown.map { ($0.line.map(explanation.location) ?? "default", "\($0.name): \($0.text)") }
        )
    }

    /// Two columns.
    private static func aligned(_ rows: [(String, String)]) -> [String] {
        let width = min(40, rows.map(\.0.count).max() ?? 0)
        return rows.map { left, right in
            left + String(repeating: " ", count: max(0, width - left.count)) + "  \(right)"
        }
    }

    // MARK: Outcome

    private var outcome: [String] {
        let refusals = explanation.checks.filter { !$0.passes }.map(\.sentence)
        if refusals.isEmpty { return unrefused }
        return ["refused: \(refusals.joined(separator: "; ")); else it would be:"] + unrefused
    }

    private var unrefused: [String] {
        if explanation.entry.isOwn {
            return ["lupin answers itself with its page for set-up, nothing goes upstream"]
        }
        if let answer = explanation.answer { return self.answer(answer) }
        let way = explanation.parent.map { parent in
            let credentials = parent.userinfo == nil ? "" : ", with credentials"
            return "the parent proxy \(parent.scheme.name)://\(parent.host.uriText):\(parent.port)"
                + credentials
        }
        let origin = explanation.finalOrigin
        let exception = explanation.result.proxyException.map { ", since \($0)" } ?? ""
        let hop = way.map { "by \($0)" } ?? "direct" + exception
        guard let preview = explanation.preview else {
            if case .connect(.intercept) = explanation.entry {
                return [
                    "the CONNECT gets 200, and rules act on the requests inside; to see how:",
                    "  lupin explain https://\(explanation.request.origin.authority)/",
                ]
            }
            return ["tunnelled to \(origin.hostAndPort), \(hop); no rule sees what is inside"]
        }
        var lines = preview.lines.map { line in
            switch line {
            case .same(let text): "  \(text)"
            case .removed(let text): "- \(text)"
            case .added(let text): "+ \(text)"
            }
        }
        lines += preview.steps.dropped.map { "dropped: \($0.step): \($0.reason)" }
        lines += preview.notes.map { "also: \($0)" }
        if let end = explanation.uncompressedUntil {
            lines.append(
                "compression now: off until \(RunningOrigin.text(end)), since "
                    + "\(origin.hostAndPort) refused a compressed body (415 or 411)"
            )
        }
        if let end = explanation.http1Until {
            lines.append(
                "clients now: offered HTTP/1.1 alone until \(RunningOrigin.text(end)), since "
                    + "\(origin.hostAndPort) asks for a login to the connection (NTLM, Negotiate)"
            )
        }
        if !explanation.isPurge {
            lines += explanation.plan.responseSteps.map { "of the response: \($0.step.summary)" }
        }
        if let problem = preview.problem {
            lines.append("nothing is sent, 502: \(problem)")
        } else if explanation.isPurge {
            lines.append("lupin answers itself, nothing goes upstream: 200, or 404")
        } else {
            let trust = explanation.trustName.map { ", trusted by policy \($0)" } ?? ""
            lines.append("sent to \(origin.hostAndPort), \(hop)\(trust)")
        }
        if let rule = explanation.lateProxyRule {
            lines.append(
                "the proxy can't ask the client for a password (NTLM, Negotiate): for that, the "
                    + "rule \"\(rule)\" must match by the host alone"
            )
        }
        return lines
    }

    private func answer(_ answer: CannedResponse) -> [String] {
        var lines = ["lupin answers itself, nothing goes upstream:", "  \(answer.status)"]
        lines += explanation.shown(answer.fields).map { "  \($0)" }
        switch answer.content {
        case .none: break
        case .text(let template): lines += Self.line(of: template).map { [$0] } ?? []
        case .file(let path): lines.append("  with the file \(path)")
        case .folder(let path): lines.append("  with a file of the folder \(path)")
        }
        let plan = explanation.plan
        if let delay = plan.delay {
            lines.append("  after a delay of \(UnitText.duration(delay.milliseconds))")
        }
        return lines + plan.responseSteps.map { "of the response: \($0.step.summary)" }
    }

    /// Describes a body; returns nil for an empty one.
    private static func line(of body: Template) -> String? {
        var count = 0
        var isWhole = true
        for part in body.parts {
            if case .text(let text) = part { count += text.utf8.count } else { isWhole = false }
        }
        if !isWhole { return "  (a body that quotes the request)" }
        return count > 0 ? "  (\(count) bytes of body)" : nil
    }
}
