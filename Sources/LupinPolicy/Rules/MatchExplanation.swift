// Explains why a rule matches a request or not, with the results of `RuleSet.plan`.

package import LupinCore

/// A key of a match that does not hold, with the reason.
package struct MatchFailure: Sendable, Equatable {
    /// As the file spells it, such as `host` or `not`.
    package var key: String
    /// `host is api.example, not *.acme.dev`.
    package var reason: String

    package init(_ key: String, _ reason: String) {
        self.key = key
        self.reason = reason
    }
}

/// The result of a rule for a request.
package enum RuleVerdict: Sendable, Equatable {
    case matches
    /// It tests these keys, which only the requests inside a tunnel have.
    case needsClearText([String])
    /// For each alternative of `match:`, the keys that do not hold.
    case fails([[MatchFailure]])
    /// An earlier matching rule, with this index, has `stop: true`.
    case hidden(by: Int)
}

extension RuleSet {
    /// The result of every rule for `subject`, in the order of the file.
    ///
    /// Values of fields that the redactor hides are omitted.
    package func verdicts(for subject: MatchSubject, redactor: Redactor) -> [RuleVerdict] {
        let plan = plan(for: subject)
        let matched = Set(plan.matched)
        var hiding: Int?
        if let last = plan.matched.last, rules[last].stop,
            !subject.isConnect || !rules[last].testsClearText
        {
            hiding = last
        }
        return rules.indices.map { index in
            if matched.contains(index) { return .matches }
            if let hiding, index > hiding { return .hidden(by: hiding) }
            return rules[index].verdict(for: subject, redactor)
        }
    }
}

extension Rule {
    /// The reason for which it does not match.
    fileprivate func verdict(for subject: MatchSubject, _ redactor: Redactor) -> RuleVerdict {
        var facts = SubjectFacts()
        var alternatives: [[MatchFailure]] = []
        for match in matches {
            let failures = match.failures(for: subject, &facts, redactor)
            if subject.isConnect, failures.isEmpty, match.testsInsideTunnel {
                return .needsClearText(match.insideKeys)
            }
            alternatives.append(failures)
        }
        return .fails(alternatives)
    }
}

extension Match {
    /// Its keys that a CONNECT does not have.
    fileprivate var insideKeys: [String] {
        var keys: [String] = []
        if paths != nil { keys.append("path") }
        if !headers.isEmpty { keys.append("header") }
        if !query.isEmpty { keys.append("query") }
        return keys
    }

    /// The keys that do not hold; for a CONNECT, only those that it has.
    fileprivate func failures(
        for subject: MatchSubject,
        _ facts: inout SubjectFacts,
        _ redactor: Redactor
    ) -> [MatchFailure] {
        var failures = connectionFailures(for: subject)
        if !subject.isConnect { failures += requestFailures(for: subject, &facts, redactor) }
        for excluded in not where excluded.holds(for: subject, &facts) {
            failures.append(MatchFailure("not", excluded.exclusion(of: subject, redactor)))
        }
        return failures
    }

    /// The failing keys that a CONNECT has, too.
    private func connectionFailures(for subject: MatchSubject) -> [MatchFailure] {
        var failures: [MatchFailure] = []
        func fail(_ key: String, _ value: String, _ wanted: [String]) {
            failures.append(MatchFailure(key, "\(key) is \(value), not \(Self.either(wanted))"))
        }
        if let schemes, !schemes.contains(subject.scheme) {
            fail("scheme", subject.scheme.name, schemes.map(\.name))
        }
        if let hosts, !hosts.contains(where: { $0.matches(subject.host) }) {
            fail("host", subject.host.text, hosts.map(\.source))
        }
        if let ports, !ports.contains(subject.port) {
            fail("port", "\(subject.port)", ports.texts)
        }
        if let methods, !methods.contains(subject.method) {
            fail("method", subject.method.token, methods.map(\.token))
        }
        if let clients, !clients.contains(where: { $0.contains(subject.client) }) {
            fail("client", subject.client.text, clients.map(\.text))
        }
        if let programs, !Self.matches(programs, subject.program) {
            fail("program", subject.program ?? "not known", programs.map(\.source))
        }
        if let users, !Self.matches(users, subject.user) {
            fail("user", subject.user ?? "not known", users.map(\.source))
        }
        return failures
    }

    /// The failing keys that only a request has.
    private func requestFailures(
        for subject: MatchSubject,
        _ facts: inout SubjectFacts,
        _ redactor: Redactor
    ) -> [MatchFailure] {
        var failures: [MatchFailure] = []
        if let paths, !(subject.hasPath && facts.pathMatches(paths, of: subject)) {
            let path = subject.hasPath ? subject.shownPath : "*"
            let wanted = Self.either(paths.map(\.source))
            failures.append(MatchFailure("path", "path is \(path), not \(wanted)"))
        }
        for header in headers {
            let values = subject.fields.values(of: header.name)
            if values.contains(where: { Self.admits(header.values, $0) }) { continue }
            let isHidden = redactor.hides(field: header.name.utf8Span.span)
            let reason = Self.difference(
                "header \(header.name)",
                values.map { isHidden ? "another value" : redactor.cleaned($0) },
                isHidden ? [] : header.values.map(\.source)
            )
            failures.append(MatchFailure("header", reason))
        }
        for parameter in query
        where !facts.queryMatches(parameter.name, parameter.values, of: subject) {
            let isThere = facts.queryMatches(parameter.name, [], of: subject)
            // Its value may be a secret, whatever the parameter's name.
            let reason = Self.difference(
                "query \(parameter.name)",
                isThere ? ["another value"] : [],
                isThere ? [] : parameter.values.map(\.source)
            )
            failures.append(MatchFailure("query", reason))
        }
        return failures
    }

    private static func admits(_ patterns: [ValuePattern], _ value: String) -> Bool {
        patterns.isEmpty || patterns.contains { $0.matches(value.utf8.span) }
    }

    /// `header x-env is prod, not staging`, or a note that there is none.
    private static func difference(
        _ what: String,
        _ values: [String],
        _ wanted: [String]
    ) -> String {
        if values.isEmpty { return "there is no \(what)" }
        let told = "\(what) is \(values.joined(separator: ", "))"
        return wanted.isEmpty ? told : "\(told), not \(either(wanted))"
    }

    /// `a`, `a or b`; for long lists only the beginning.
    private static func either(_ texts: [String]) -> String {
        let shown = texts.prefix(4)
        if texts.isEmpty { return "any: the list is empty" }
        if shown.count < texts.count {
            return "\(shown.joined(separator: ", ")) or \(texts.count - shown.count) others"
        }
        guard let last = shown.last, shown.count > 1 else { return shown.joined() }
        return "\(shown.dropLast().joined(separator: ", ")) or \(last)"
    }

    // MARK: not

    /// `path /v1/health is excluded by not`.
    private func exclusion(of subject: MatchSubject, _ redactor: Redactor) -> String {
        var told: [String] = []
        if schemes != nil { told.append("scheme \(subject.scheme.name)") }
        if hosts != nil { told.append("host \(subject.host.text)") }
        if ports != nil { told.append("port \(subject.port)") }
        if paths != nil { told.append("path \(subject.shownPath)") }
        if methods != nil { told.append("method \(subject.method.token)") }
        told += headers.map { "header \($0.name)" }
        told += query.map { "query \($0.name)" }
        if clients != nil { told.append("client \(subject.client.text)") }
        if programs != nil { told.append("program \(subject.program ?? "")") }
        if users != nil { told.append("user \(subject.user ?? "")") }
        let what = told.isEmpty ? "everything" : told.joined(separator: " and ")
        return "\(redactor.cleaned(what)) is excluded by not"
    }
}

extension MatchSubject {
    /// The path in its normal form, which is matched, without the query.
    package var shownPath: String {
        let text = fields.storage.span.extracting(pathAndQuery.range)
        let normal = NormalPath(text)
        if let rewritten = normal.rewritten { return String(decoding: rewritten, as: UTF8.self) }
        return String(copying: text.extracting(0..<normal.pathCount))
    }
}

extension PortSet {
    /// `443` and `8000-8999`.
    package var texts: [String] {
        ranges.map { range in
            range.count == 1
                ? "\(range.lowerBound)" : "\(range.lowerBound)-\(range.upperBound)"
        }
    }
}
