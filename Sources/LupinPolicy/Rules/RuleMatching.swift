// Evaluates matches against a request, with cheap tests first and derived facts cached.

import LupinCore

/// The cached facts about one subject.
///
/// Most rules never need them.
package struct SubjectFacts {
    private var path: NormalPath?
    private var query: [(name: [UInt8], value: [UInt8])]?

    package init() {}

    /// Whether one of `patterns` matches the path in its normal form.
    mutating func pathMatches(_ patterns: [PathPattern], of subject: MatchSubject) -> Bool {
        withNormalPath(of: subject) { path in
            for pattern in patterns where pattern.matches(path) { return true }
            return false
        }
    }

    /// Calls `body` with the path in its normal form.
    mutating func withNormalPath<Result>(
        of subject: MatchSubject,
        _ body: (Span<UInt8>) -> Result
    ) -> Result {
        let text = subject.fields.storage.span.extracting(subject.pathAndQuery.range)
        let normal = path ?? NormalPath(text)
        path = normal
        if let rewritten = normal.rewritten { return body(rewritten.span) }
        return body(text.extracting(0..<normal.pathCount))
    }

    /// Whether a parameter called `name` has a value that one of `patterns` matches.
    mutating func queryMatches(
        _ name: String,
        _ patterns: [ValuePattern],
        of subject: MatchSubject
    ) -> Bool {
        if query == nil {
            let text = subject.fields.storage.span.extracting(subject.pathAndQuery.range)
            query = QueryParameters.decoded(of: text)
        }
        for parameter in query ?? [] where parameter.name.elementsEqual(name.utf8) {
            if patterns.isEmpty { return true }
            for pattern in patterns where pattern.matches(parameter.value.span) { return true }
        }
        return false
    }
}

extension Match {
    /// Whether all keys hold and no `not:` does.
    ///
    /// A CONNECT has no path, and its fields are not those of the requests inside: a match that
    /// tests them never holds for it.
    package func holds(for subject: MatchSubject, _ facts: inout SubjectFacts) -> Bool {
        if subject.isConnect, testsInsideTunnel { return false }
        if let schemes, !schemes.contains(subject.scheme) { return false }
        if let ports, !ports.contains(subject.port) { return false }
        if let methods, !methods.contains(subject.method) { return false }
        if let hosts, !hosts.contains(where: { $0.matches(subject.host) }) { return false }
        if let clients, !clients.contains(where: { $0.contains(subject.client) }) { return false }
        if let programs, !Self.matches(programs, subject.program) { return false }
        if let users, !Self.matches(users, subject.user) { return false }
        if let paths {
            guard subject.hasPath, facts.pathMatches(paths, of: subject) else { return false }
        }
        for header in headers where !subject.fields.matches(header.name, header.values) {
            return false
        }
        for parameter in query
        where !facts.queryMatches(parameter.name, parameter.values, of: subject) {
            return false
        }
        for excluded in not where excluded.holds(for: subject, &facts) { return false }
        return true
    }

    /// Whether a key tests something that only the requests in a tunnel have.
    var testsInsideTunnel: Bool { paths != nil || !headers.isEmpty || !query.isEmpty }

    /// Whether one of `patterns` matches; an unknown text matches none.
    static func matches(_ patterns: [ValuePattern], _ text: String?) -> Bool {
        guard let text else { return false }
        return patterns.contains { $0.matches(text.utf8.span) }
    }
}

extension MatchSubject {
    /// False for `OPTIONS *`, which is about the whole server (RFC 9110 §9.3.7).
    var hasPath: Bool { method != .options || !pathAndQuery.isEmpty }
}

extension FieldSection {
    /// Whether a line called `name` has a value that matches one of the patterns; without patterns
    /// any line is enough.
    fileprivate func matches(_ name: String, _ patterns: [ValuePattern]) -> Bool {
        for line in lines where nameEquals(line, name.utf8.span) {
            if patterns.isEmpty { return true }
            let value = storage.span.extracting(line.value.range)
            for pattern in patterns where pattern.matches(value) { return true }
        }
        return false
    }
}
