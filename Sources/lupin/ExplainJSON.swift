// An explanation as one line of JSON for programs, described in troubleshooting.md.
import LupinConsole
import LupinCore
import LupinPolicy

extension Explanation {
    /// Later versions may add members; existing members keep their meaning.
    var json: String {
        var line = JSONLine()
        line.openObject()
        addTarget(to: &line)
        addChecks(to: &line)
        addInterception(to: &line)
        addRules(to: &line)
        addKeys(to: &line)
        addSettings(to: &line)
        addOutcome(to: &line)
        addRecord(to: &line)
        line.closeObject()
        return String(decoding: line.bytes, as: UTF8.self)
    }

    private func addTarget(to line: inout JSONLine) {
        if let file = configuration.fileName { line.add("file", text: file) }
        line.add("version", text: configuration.version)
        line.openObject("target")
        line.add("method", text: request.head.method.token)
        line.add("scheme", text: request.origin.scheme.name)
        line.add("host", text: request.origin.host.text)
        line.add("port", UInt64(request.origin.port))
        if request.head.method != .connect { line.add("path", text: request.subject.shownPath) }
        line.add("client", text: request.client.text)
        if let program = request.program { line.add("program", text: program) }
        if let user = request.user { line.add("user", text: user) }
        line.closeObject()
    }

    private func addChecks(to line: inout JSONLine) {
        line.add("access", objects: checks) { line, check in
            line.add("setting", text: check.setting)
            line.add("ok", check.passes)
            line.add("reason", text: check.sentence)
            if let number = configuration.settingPlaces[check.setting]?.line {
                line.add("line", UInt64(number))
            }
        }
    }

    private func addInterception(to line: inout JSONLine) {
        guard case .connect(let decision) = entry else { return }
        line.openObject("interception")
        line.add("decision", text: entry.word)
        switch decision {
        case .answer: break
        case .tunnel(.mode): line.add("reason", text: "mode")
        case .tunnel(.exception): line.add("reason", text: "except")
        case .tunnel(.noRule): line.add("reason", text: "no_rule")
        case .intercept(let rule, let mayTunnel):
            line.add("bypasses", objects: bypasses) { line, bypass in
                line.add("client", text: bypass.client)
                line.add("because", text: bypass.because)
                line.add("since", text: bypass.since)
                line.add("until", text: bypass.until)
            }
            if let rule {
                line.add("rule", text: rules[rule].name)
                line.add("line", UInt64(rules[rule].line))
            }
            line.add("may_tunnel", mayTunnel)
        }
        line.closeObject()
    }

    private func addRules(to line: inout JSONLine) {
        line.add("rules", objects: verdicts.enumerated()) { line, rule in
            line.add("name", text: rules[rule.offset].name)
            line.add("line", UInt64(rules[rule.offset].line))
            switch rule.element {
            case .matches: line.add("verdict", text: "matches")
            case .needsClearText(let keys):
                line.add("verdict", text: "needs_clear_text")
                line.add("keys", list: keys)
            case .hidden(let other):
                line.add("verdict", text: "hidden")
                line.add("by", text: rules[other].name)
            case .fails(let alternatives):
                line.add("verdict", text: "fails")
                add(alternatives, to: &line)
            }
        }
    }

    private func add(_ alternatives: [[MatchFailure]], to line: inout JSONLine) {
        line.add("alternatives", objects: alternatives) { line, failures in
            line.add("failures", objects: failures) { line, failure in
                line.add("key", text: failure.key)
                line.add("reason", text: failure.reason)
            }
        }
    }

    private func addKeys(to line: inout JSONLine) {
        line.add("keys", objects: keys) { line, key in
            line.add("key", text: key.key)
            line.add("value", text: text(of: key))
            line.add("rule", text: rules[key.rule].name)
            line.add("line", UInt64(key.line))
            switch key.part {
            case .holds: line.add("part", text: "holds")
            case .adds: line.add("part", text: "adds")
            case .replaced(let other):
                line.add("part", text: "replaced")
                line.add("by", text: rules[other].name)
            case .idle(let reason):
                line.add("part", text: "idle")
                line.add("reason", text: reason)
            }
        }
    }

    private func addSettings(to line: inout JSONLine) {
        line.add("settings", objects: settings) { line, setting in
            line.add("key", text: setting.name)
            line.add("value", text: setting.text)
            if let number = setting.line { line.add("line", UInt64(number)) }
        }
    }

    private func addOutcome(to line: inout JSONLine) {
        if let answer {
            line.openObject("answer")
            line.add("status", UInt64(answer.status))
            switch answer.content {
            case .none, .text: break
            case .file(let path): line.add("file", text: path)
            case .folder(let path): line.add("folder", text: path)
            }
            line.closeObject()
            line.add("response", list: plan.responseSteps.map(\.step.summary))
            return
        }
        if !isPurge, !entry.isOwn { addNextHop(to: &line) }
        guard let preview else { return }
        line.openObject("request")
        line.add("lines", objects: preview.lines) { line, text in
            switch text {
            case .same(let text): line.add("same", text: text)
            case .removed(let text): line.add("removed", text: text)
            case .added(let text): line.add("added", text: text)
            }
        }
        line.add("steps", list: preview.steps.applied)
        line.add("dropped", objects: preview.steps.dropped) { line, step in
            line.add("step", text: step.step)
            line.add("reason", text: step.reason)
        }
        line.add("notes", list: preview.notes)
        if let end = uncompressedUntil {
            line.add("uncompressed_until", text: RunningOrigin.text(end))
        }
        if let end = http1Until { line.add("http1_until", text: RunningOrigin.text(end)) }
        if let problem = preview.problem { line.add("problem", text: problem) }
        line.closeObject()
        addRetry(to: &line)
        addCache(to: &line)
        line.add("response", list: (isPurge ? [] : plan.responseSteps).map(\.step.summary))
    }

    private func addNextHop(to line: inout JSONLine) {
        line.openObject("next_hop")
        line.add("host", text: (parent?.host ?? finalOrigin.host).text)
        line.add("port", UInt64(parent?.port ?? finalOrigin.port))
        line.add("parent", parent != nil)
        if let exception = result.proxyException { line.add("direct_since", text: exception) }
        if let trustName { line.add("trust", text: trustName) }
        line.closeObject()
    }
}
