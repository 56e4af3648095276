// Which key of which rule holds: the later one, leaf by leaf where keys merge, none that can't act.

import LupinCore
import LupinPolicy
import Testing

@Suite struct EffectiveKeysTests {
    private func parts(
        _ rules: [Rule],
        _ request: SampleRequest? = SampleRequest()
    ) throws -> [String] {
        let set = RuleSet(rules)
        let subject = try #require(request).subject
        return set.effectiveKeys(of: set.plan(for: subject), for: subject).map { key in
            let part =
                switch key.part {
                case .holds: "holds"
                case .adds: "adds"
                case .replaced(let other): "replaced by \(rules[other].name)"
                case .idle(let reason): reason
                }
            return "\(rules[key.rule].name):\(key.line) \(key.key) \(part)"
        }
    }

    private func rule(_ name: String, _ keys: String..., body: (inout Rule) -> Void = { _ in })
        -> Rule
    {
        .named(name) { rule in
            for (index, key) in keys.enumerated() { rule.keyLines[key] = index + 1 }
            body(&rule)
        }
    }

    @Test func `the later key wins, steps add up, and only the same leaves meet`() throws {
        let rules = [
            rule("a", "match", "request", "redirect", "timeouts.total", "timeouts.dns", "log"),
            rule("b", "request", "redirect", "timeouts.total", "log.headers"),
        ]
        #expect(
            try parts(rules) == [
                "a:2 request adds", "a:3 redirect replaced by b",
                "a:4 timeouts.total replaced by b", "a:5 timeouts.dns holds",
                "a:6 log replaced by b",
                "b:1 request adds", "b:2 redirect holds", "b:3 timeouts.total holds",
                "b:4 log.headers holds",
            ]
        )
    }

    @Test func `an answer of lupin leaves nothing to do for what goes upstream`() throws {
        let rules = [
            rule("a", "request", "timeouts.total"),
            rule("b", "respond") { $0.respond = CannedResponse(status: 403) },
            rule("c", "request", "response", "throttle.down") { $0.steps = [.delay(.seconds(1))] },
        ]
        #expect(
            try parts(rules) == [
                "a:1 request lupin answers itself", "a:2 timeouts.total holds", "b:1 respond holds",
                "c:1 request adds", "c:2 response adds", "c:3 throttle.down holds",
            ]
        )
    }

    @Test func `on a CONNECT only few keys act`() throws {
        let rules = [rule("a", "request", "log", "trust", "throttle.up", "stop") { $0.stop = true }]
        let connect = SampleRequest(.connect, .https, path: "")
        #expect(
            try parts(rules, connect) == [
                "a:1 request does not act on a CONNECT", "a:2 log holds",
                "a:3 trust does not act on a CONNECT", "a:4 throttle.up holds", "a:5 stop holds",
            ]
        )
    }

    @Test func `disabled never replaces a policy`() throws {
        let off = NamedTrustPolicy(name: "disabled", policy: .disabled)
        let rules = [
            rule("a", "trust") { $0.trust = (policy: .system, replaces: false) },
            rule("b", "trust") { $0.trust = (policy: off, replaces: false) },
        ]
        #expect(
            try parts(rules) == [
                "a:1 trust holds", "b:1 trust disabled never wins over system",
            ]
        )
    }
}
