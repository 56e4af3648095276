// Files of hosts: which lines they may have, what is told of others, and what of them is watched.

import LupinCore
import LupinPolicy
import LupinRules
import Testing

struct HostListFileTests {
    private static let rule = """
        rules:
          - {match: {host: {file: blocked.txt}}, respond: {status: 451}}
        """
    private static let path = "/etc/lupin/blocked.txt"

    private static func file(_ text: String) -> [String: FileContents] {
        [path: FileContents(bytes: Array(text.utf8))]
    }

    private static func matches(
        _ host: String,
        _ text: String,
        _ body: String = rule
    ) throws -> Bool {
        let rules = try configuration(body, files: file(text)).rules.rules
        let host = try #require(Host(host))
        return rules[0].matches[0].hosts?.contains { $0.matches(host) } ?? false
    }

    @Test(arguments: [
        ("a.example", true), ("b.example", true), ("x.c.example", true), ("d.example", true),
        ("e.example", true), ("f.example", true), ("10.1.1.1", true), ("g.example", true),
        ("localhost", false), ("0.0.0.0", false), ("h.example", false), ("x.a.example", false),
    ])
    func `lines are hosts, patterns, or an address and its names`(host: String, isIn: Bool) throws {
        let text = """
            # A list.
            a.example
              B.Example.   # with a comment
            **.c.example
            \t
            0.0.0.0 d.example e.example#h.example
            ::1 localhost ip6-localhost
            fe80::1%lo0 localhost
            127.0.0.1\tlocalhost f.example\r
            0.0.0.0 0.0.0.0
            10.1.1.1
            g.example
            """
        #expect(try Self.matches(host, text) == isIn)
    }

    @Test func `a file and patterns stand side by side`() throws {
        let body = "rules:\n  - {match: {host: [{file: blocked.txt}, z.example]}, request: []}"
        #expect(try Self.matches("a.example", "a.example", body))
        #expect(try Self.matches("z.example", "a.example", body))
        #expect(try !Self.matches("b.example", "a.example", body))
    }

    @Test func `a line that is no host is told with the list's own name and place`() {
        let report = errors(Self.rule, files: Self.file("a.example\n  http://b.example/\nc d\n"))
        #expect(report.contains("/etc/lupin/blocked.txt:2:3: a host has no scheme"), "\(report)")
        #expect(report.contains("/etc/lupin/blocked.txt:3:3: one host a line"), "\(report)")
    }

    @Test func `of many bad lines the first are told`() {
        let text = (1...30).map { "\($0) x" }.joined(separator: "\n")
        let result = decode(Self.rule, files: Self.file(text))
        #expect(result.configuration == nil)
        #expect(result.errors.count == 21)
        #expect(result.errors.report(limit: 100).contains("10 more lines are no hosts"))
    }

    @Test(arguments: [
        ("{file: missing.txt}", "cannot read /etc/lupin/missing.txt: there is no such file"),
        ("{path: blocked.txt}", "unknown key \"path\""),
        ("{}", "expected a file, found nothing"),
        ("{file: [a]}", "expected a file"),
    ])
    func `what is no list is told`(host: String, message: String) {
        let report = errors("rules:\n  - {match: {host: \(host)}, request: []}")
        #expect(report.contains(message), "\(report)")
    }

    @Test func `an empty list is warned of`() {
        let result = decode(Self.rule, files: Self.file("# nothing yet\n"))
        #expect(result.configuration != nil)
        #expect(result.warnings.report().contains("holds no host"))
    }

    @Test func `the version covers the list, and the list is watched also when it is bad`() throws {
        let one = try configuration(Self.rule, files: Self.file("a.example"))
        let other = try configuration(Self.rule, files: Self.file("b.example"))
        #expect(one.version != other.version)
        #expect(one.textVersion == other.textVersion)
        #expect(one.files == [Self.path])
        #expect(decode(Self.rule, files: Self.file("a b")).files == [Self.path])
        #expect(decode(Self.rule).files == [Self.path])
    }

    @Test func `many hosts in one rule are one list`() throws {
        let hosts = (0..<1000).map { "h\($0).example" }.joined(separator: ", ")
        let body = "rules:\n  - {match: {host: [\(hosts)]}, request: []}"
        let rules = try configuration(body).rules.rules
        #expect(rules[0].matches[0].hosts?.count == 1)
        #expect(rules[0].matches[0].hosts?[0].source == "h0.example, h1.example, … (1000 hosts)")
        #expect(try Self.matches("h999.example", "", body))
        #expect(try !Self.matches("h1000.example", "", body))
    }
}
