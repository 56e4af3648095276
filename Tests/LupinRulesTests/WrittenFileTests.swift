// Where each key stands, and what it says there in its author's words.

import LupinCore
import LupinPolicy
import LupinRules
import Testing

struct WrittenFileTests {
    private static let body = """
        timeouts: {connect: 5s}
        intercept:
          client_rejects:
            for: 2h
        rules:
          - name: a
            match: a.dev
            timeouts:
              total: 9s
              dns: 1s
            log: off
            request:
              - rewrite: {header: X-C, from: "${secret:NOT}", to: x}
              - set: {X-A: "${secret:ONE}${env:TWO}", X-B: "${file:/c}"}
              - query: {set: {q: "${secret:THREE:-geheim}"}, remove: [x]}
        """

    private static let environment = ["ONE": "1", "TWO": "2", "THREE": "3"]

    private static var files: [String: FileContents] { ["/c": SampleFile.text("c")] }

    @Test func `a checked file knows its lines and its name`() throws {
        let loaded = try configuration(
            Self.body,
            environment: Self.environment,
            files: Self.files
        )
        #expect(loaded.fileName == "lupin.yaml")
        #expect(loaded.settingPlaces["timeouts"]?.line == 2)
        #expect(loaded.settingPlaces["timeouts.connect"]?.line == 2)
        #expect(loaded.settingPlaces["intercept.client_rejects.for"]?.line == 5)
        #expect(
            loaded.rules.rules[0].keyLines == [
                "match": 8, "timeouts.total": 10, "timeouts.dns": 11, "log": 12,
                "request": 13,
            ]
        )
    }

    @Test func `values are those of the author, on one line`() throws {
        let file = WrittenFile(text: "lupin: 1\n\(Self.body)", redaction: RedactionSettings())
        #expect(file.settings["timeouts.connect"] == WrittenFile.Value(line: 2, text: "5s"))
        let rule = try #require(file.rules.first)
        #expect(
            rule.keys.map(\.key) == [
                "name", "match", "timeouts.total", "timeouts.dns", "log", "request",
            ]
        )
        #expect(rule.value(of: "timeouts.total") == WrittenFile.Value(line: 10, text: "9s"))
    }

    @Test func `labels come in the order in which steps hold secrets`() throws {
        let file = WrittenFile(text: "lupin: 1\n\(Self.body)", redaction: RedactionSettings())
        let labels = try #require(file.rules.first?.labels)
        #expect(labels == ["<secret ONE>", "<file /c>", "<secret THREE>"])
        let loaded = try configuration(
            Self.body,
            environment: Self.environment,
            files: Self.files
        )
        let held = loaded.rules.rules[0].labellingSecrets(labels).steps.flatMap {
            step -> [Template.Part] in
            switch step {
            case .set(_, let value): value.parts
            case .query(let set, _): set.flatMap(\.value.parts)
            default: []
            }
        }
        let found = held.compactMap { if case .secret(let text) = $0 { text } else { nil } }
        #expect(found == labels)
    }

    @Test func `a file that is no YAML says nothing`() {
        let file = WrittenFile(text: "a: [", redaction: RedactionSettings())
        #expect(file.rules.isEmpty && file.settings.isEmpty)
    }

    @Test func `settings that decide are told as they are written, or by default`() {
        let text = """
            lupin: 1
            upstream: {dns: {ttl: 1h}, proxy: "http://proxy.corp:3128"}
            access: {clients: [192.0.2.1]}
            listen: [{address: 127.0.0.1:0}]
            tokens:
              github: {secret: "${env:GH}"}
            """
        let written = WrittenFile(text: text, redaction: RedactionSettings())
        let names = [
            "upstream.dns.ttl", "upstream.dns.", "timeouts.dns", "access.", "limits.", "listen",
            "tokens.github", "tokens.other", "retry", "trust", "request", "proxy",
        ]
        let told = written.settings(named: names)
        #expect(
            told.map(\.name) == [
                "upstream.dns.ttl", "timeouts.dns", "access.clients", "listen", "tokens.github",
            ]
        )
        #expect(told.map(\.line) == [2, nil, 3, 4, 6])
        #expect(told.map(\.text).prefix(3) == ["1h", "5s", "[192.0.2.1]"])
    }
}
