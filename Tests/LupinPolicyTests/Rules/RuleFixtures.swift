// Requests and rules in one line each, for the tests of matching and steps.

import LupinCore
import LupinPolicy

/// A request as a client would send it through the proxy.
struct SampleRequest {
    var head = RequestHead()
    var origin: Origin
    var client = IPAddress.v4(0x7F00_0001)
    var program: String?
    var user: String?

    /// `url` is `scheme://host[:port]` and a path with query, given apart.
    init?(
        _ method: Method = .get,
        _ scheme: Scheme = .http,
        host: String = "x.dev",
        port: UInt16? = nil,
        path: String = "/",
        fields: [(String, String)] = []
    ) {
        guard let host = Host(host) else { return nil }
        origin = Origin(scheme: scheme, host: host, port: port ?? scheme.defaultPort)
        head.method = method
        head.pathAndQuery = head.fields.store(path)
        for (name, value) in fields { head.fields.add(name: name, value: value) }
    }

    var subject: MatchSubject {
        MatchSubject(head, origin: origin, client: client, program: program, user: user)
    }

    /// Path and query, then the fields, as they would be sent.
    var text: String {
        head.fields.pairs.map { "\($0.name): \($0.value)" }.joined(separator: "\n")
    }
}

extension Rule {
    /// A rule with one match, changed by `body`.
    static func named(
        _ name: String,
        _ match: Match = Match(),
        _ body: (inout Rule) -> Void = { _ in }
    ) -> Rule {
        var rule = Rule(name: name, line: 1, matches: [match])
        body(&rule)
        return rule
    }
}

extension Match {
    /// A match changed by `body`.
    static func with(_ body: (inout Match) throws -> Void) rethrows -> Match {
        var match = Match()
        try body(&match)
        return match
    }

    static func host(_ patterns: String...) throws -> Match {
        try with { $0.hosts = try patterns.map { try HostPattern($0) } }
    }
}

/// The problem that `body` throws.
func problem(_ body: () throws -> Void) -> PatternProblem? {
    do {
        try body()
        return nil
    } catch {
        return error as? PatternProblem
    }
}

// `#expect` cannot hold a span, so tests ask with text.

extension RegularExpression {
    func matches(text: String) -> Bool { matches(text.utf8.span) }
}

extension ValuePattern {
    func matches(text: String) -> Bool { matches(text.utf8.span) }
}

extension NormalPath {
    init(text: String) { self.init(text.utf8.span) }
}
