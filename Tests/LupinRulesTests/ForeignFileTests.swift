// A rules file of somebody else: nothing it refers to is read, and no message repeats it.
import LupinCore
import LupinRules
import LupinTestKit
import Testing

struct ForeignFileTests {
    /// Decodes a file for which no other file and no variable may be read.
    private func unread(_ text: String) -> LoadResult {
        var surroundings = Surroundings(environment: [:], home: "/users/ann", directory: "/tmp/x") {
            path throws(FileProblem) in
            Issue.record("\(path) was read")
            throw FileProblem("it is not read")
        }
        surroundings.secrets = .unread
        return RulesFile.decode(
            text: "lupin: 1\n" + text,
            fileName: "theirs.yaml",
            surroundings: surroundings
        )
    }

    @Test(
        arguments: [
            "rules: [{match: {host: {file: ~/.ssh/id_rsa}}, respond: {status: 403}}]",
            "timeouts: {connect: \"${env:AWS_SECRET_ACCESS_KEY}\"}",
            "rules: [{name: \"${env:X}\", match: a.test, respond: {status: 403}}]",
            "tokens: {t: {bearer: \"${file:~/.netrc}\"}}\n"
                + "rules: [{match: a.test, request: [{auth: t}]}]",
            "tokens: {t: {basic: {user: \"${env:U}\", password: \"${secret:P}\"}}}",
            "rules: [{match: a.test, client_cert: {cert: ~/c.pem, key: ~/k.pem}}]",
            "trust: {own: {certificates: [~/ca.pem]}}\nrules: [{match: a.test, trust: own}]",
            "upstream: {tls: {roots: [/etc/shadow]}}", "upstream: {proxy: environment}",
            "log: {to: \"${env:X}\"}", "listen: [{address: \"127.0.0.1:${env:PORT}\"}]",
            "rules: [{match: a.test, request: [{set: {X-A: \"${file:/etc/passwd}\"}}]}]",
        ]
    )
    func `its form is checked, and nothing is read`(text: String) {
        let result = unread(text)
        #expect(result.errors.report() == "")
        #expect(result.unreadReferences > 0)
    }

    @Test func `its own mistakes are found`() {
        let result = unread("rules: [{match: a.test, respnd: {status: 403}}]")
        #expect(result.errors.map(\.code) == [.key])
    }

    @Test(
        arguments: [
            "timeouts: {connect: \"${env:X}\"}", "limits: {connections: \"${env:X}\"}",
            "rules: [{match: {host: \"${env:X}\"}, respond: {status: 403}}]",
            "log: {level: \"${env:X}\"}", "rules: [{name: \"${env:X}\", match: {}, intercept: x}]",
        ]
    )
    func `no message shows the value of a variable`(text: String) {
        let value = "hunter22 not/a value"
        let report = decode(text, environment: ["X": value]).errors.report()
        #expect(!report.isEmpty && !report.contains("hunter22"), "\(report)")
    }

    @Test func `a host list elsewhere is told of by its lines' numbers`() {
        let rule = "rules: [{match: {host: {file: PATH}}, respond: {status: 403}}]"
        let list = SampleFile.text("good.test\nsecret text here\n")
        let elsewhere = errors(
            rule.replacing("PATH", with: "/users/ann/.ssh/id"),
            files: ["/users/ann/.ssh/id": list]
        )
        #expect(elsewhere.contains("no host or pattern on line 2"))
        #expect(!elsewhere.contains("secret text"))
        let beside = errors(
            rule.replacing("PATH", with: "b.txt"),
            files: ["/etc/lupin/b.txt": list]
        )
        #expect(beside.contains("secret text here"))
    }

    @Test(
        arguments: [
            "rules: [{name: \"a\\e]0;x\\a\", match: a.test, respond: {status: 403}}]",
            "rules: [{name: \"a\\u202Eb\", match: a.test, respond: {status: 403}}]",
            "tokens: {\"t\\u009Bx\": {bearer: tttttt}}",
            "tokens: {\"t\\u200Bx\": {bearer: tttttt}}", "\"x\\u2066y\": 1",
        ]
    )
    func `a name that would act on a terminal is an error`(text: String) {
        let found = decode(text).errors
        #expect(found.contains { $0.code == .name })
        for problem in found {
            #expect(LogText.isHarmless(problem.text.replacing("\n", with: " ")))
        }
    }

    // MARK: Cost

    /// Files of so many items made of their numbers.
    private static func crowds(_ count: Int) -> [String] {
        func many(_ separator: String, _ item: (Int) -> String) -> String {
            (0..<count).map(item).joined(separator: separator)
        }
        return [
            "tokens: {\(many(", ") { "t\($0): {bearer: tttttt\($0)}" })}",
            "tokens: {\(many(", ") { "t\($0): {bearr: x}" })}",
            "rules: [\(many(", ") { "{name: r\($0), match: a.test, respnd: x}" })]",
            "log: {redact: {headers: [\(many(", ") { "h\($0)" })]}}",
            "tokens: {\(many(", ") { "t\($0): {bearer: tttttt\($0)}" })}\nrules:\n"
                + many("\n") { "- {match: a\($0).test, request: [{auth: u\($0)}]}" },
            "tokens: {\(many(", ") { "t\($0): {bearer: tttttt\($0)}" })}\nrules:\n"
                + many("\n") { "- {match: a\($0).test, scrub: false, stand_ins: [t\($0)]}" },
        ]
    }

    @Test(arguments: 0..<6)
    func `a long line with many problems costs no more than many lines`(index: Int) {
        let (few, many) = (Self.crowds(150)[index], Self.crowds(1200)[index])
        var problems: [Diagnostic] = []
        let usual = processorTime { _ = decode(few) }
        let time = processorTime {
            let result = decode(many)
            problems = result.errors + result.warnings
        }
        // What is linear takes eight times as long, and what is quadratic 64 times.
        #expect(time < usual * 24, "\(usual), then \(time)")
        for problem in problems.prefix(300) { #expect(problem.excerpt.count <= 210) }
        #expect(problems.report().utf8.count < 20_000)
    }

    @Test func `a secret that a window cuts is not shown in part`() {
        let secret = String(repeating: "s3cret-", count: 60)
        let text = "tokens: {a: {bearer: \"\(secret)\"}, b: {bearr: x}, c: {bearer: \(secret)}}"
        let report = decode(text).errors.report()
        #expect(!report.isEmpty && !report.contains("s3cret"), "\(report)")
    }
}
