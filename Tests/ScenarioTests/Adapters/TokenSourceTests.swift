// Where credentials come from: the file, the environment, secret files and programs.
import LupinTestKit
import Testing

struct TokenSourceTests {
    private static let rule = """
        rules:
          - {name: api, match: {path: /**}, request: [{auth: me}]}
        """

    /// Runs a story with a token and an origin that says what it was shown.
    private func run(
        _ token: String,
        files: [String: String] = [:],
        environment: [String: String] = [:],
        clock: VirtualClock? = nil,
        _ body: @Sendable @escaping (ProxyFixture, ScriptedOrigin) throws -> Void
    ) async throws {
        try await ProxyFixture.run(
            "tokens: {me: {\(token)}}\n" + Self.rule,
            clock: clock,
            environment: environment,
            files: files.mapValues { Array($0.utf8) }
        ) { proxy in
            let origin = try proxy.origin { connection in
                while let request = try connection.nextRequest() {
                    try connection.reply(body: request["authorization"] ?? "none")
                }
            }
            try body(proxy, origin)
        }
    }

    @Test func `a token of the file and one of the environment are sent as they are`()
        async throws
    {
        try await run("bearer: abc123") { proxy, origin in
            let response = try proxy.client().get(origin.url())
            #expect(response.bodyText == "Bearer abc123")
            #expect(try proxy.record().list("rules.steps") == ["auth me"])
        }
        try await run("bearer: \"${env:TOKEN}\"", environment: ["TOKEN": "env-token"]) {
            let response = try $0.client().get($1.url())
            #expect(response.bodyText == "Bearer env-token")
        }
        try await run("bearer: abc, header: {name: X-Key, value: \"k=${token}\"}") { proxy, _ in
            let origin = try proxy.origin { connection in
                let request = try connection.request()
                try connection.reply(body: request["x-key"] ?? "none")
            }
            #expect(try proxy.client().get(origin.url()).bodyText == "k=abc")
        }
    }

    @Test func `a secret file that changes is read again`() async throws {
        let clock = VirtualClock()
        try await run("bearer: \"${file:DIR/t}\"", files: ["t": "one\n"], clock: clock) {
            let client = try $0.client()
            #expect(try client.get($1.url()).bodyText == "Bearer one")
            try $0.replace("t", with: "two\n")
            try clock.advance(by: .seconds(2))
            #expect(try client.get($1.url()).bodyText == "Bearer two")
        }
    }

    @Test func `a secret file is read again at a 401 and the request replayed`() async throws {
        let clock = VirtualClock()
        try await run("bearer: \"${file:DIR/t}\"", files: ["t": "one"], clock: clock) { proxy, _ in
            let accepted = Accepted(["one"])
            let origin = try proxy.guardedOrigin(accepted)
            let client = try proxy.client()
            #expect(try client.get(origin.url()).status == 200)
            accepted.set(["two"])
            try proxy.replace("t", with: "two")
            // No time passes: nobody would look at the file otherwise.
            #expect(try client.get(origin.url()).status == 200)
            #expect(try proxy.records(2)[1]["attempts.0.decision"] == "refresh")
            accepted.set([])
            #expect(try client.get(origin.url()).status == 401)
        }
    }

    @Test func `a secret file that others may read is refused with a sentence`() async throws {
        try await run("bearer: \"${file:DIR/t}\"", files: ["t": "s3cr3t"]) { proxy, origin in
            try proxy.replace("t", with: "s3cr3t", mode: 0o644)
            let response = try proxy.client().get(origin.url())
            #expect(response.status == 502)
            #expect(response.bodyText.contains("chmod 600"))
            #expect(response.bodyText.contains(proxy.directory + "/t"))
            #expect(!response.bodyText.contains("s3cr3t"))
            #expect(origin.connections.isEmpty)
            #expect(proxy.warnings.contains { $0.contains("chmod 600") })
        }
    }

    @Test func `a secret with a line end in it is never sent`() async throws {
        for text in ["a\r\nX-Evil: 1", "a\nb", "a\u{0}b"] {
            // At the start such a file is an error of the rules.
            try await run("bearer: \"${file:DIR/t}\"", files: ["t": "good"]) { proxy, origin in
                try proxy.replace("t", with: text)
                let response = try proxy.client().get(origin.url())
                #expect(response.status == 502)
                #expect(!response.bodyText.contains("Evil"))
                #expect(origin.connections.isEmpty)
            }
        }
    }
}

/// `command:`, whose output is a secret and whose environment is small.
struct TokenCommandTests {
    private func run(
        _ command: String,
        _ more: String = "",
        environment: [String: String] = [:],
        clock: VirtualClock? = nil,
        _ body: @Sendable @escaping (ProxyFixture, ScriptedOrigin) throws -> Void
    ) async throws {
        let rules = """
            tokens:
              me: {command: [/bin/sh, -c, '\(command)']\(more)}
            rules:
              - {name: api, match: {path: /**}, request: [{auth: me}]}
            """
        try await ProxyFixture.run(rules, clock: clock, environment: environment) { proxy in
            let origin = try proxy.origin { connection in
                while let request = try connection.nextRequest() {
                    try connection.reply(body: request["authorization"] ?? "none")
                }
            }
            try body(proxy, origin)
        }
    }

    @Test func `what a program prints is the token, and no log has it`() async throws {
        try await run("echo pr1nted; echo wh1spered >&2") { proxy, origin in
            #expect(try proxy.client().get(origin.url()).bodyText == "Bearer pr1nted")
            _ = try proxy.record()
            #expect(!proxy.logText.contains("pr1nted"))
            #expect(!proxy.warnings.contains { $0.contains("1") && $0.contains("wh1spered") })
        }
    }

    @Test func `a program knows the way home and no proxy`() async throws {
        let environment = [
            "PATH": "/usr/bin:/bin", "HOME": "/var/me", "HTTP_PROXY": "http://p",
            "https_proxy": "http://p", "ALL_PROXY": "http://p", "SECRET": "x",
            "LD_PRELOAD": "/x.so",
        ]
        try await run("env | cut -d= -f1 | sort | tr \"\\n\" +", environment: environment) {
            let shown = try $0.client().get($1.url()).bodyText
            let names = Set(shown.dropFirst("Bearer ".count).split(separator: "+"))
            // A shell adds where it stands.
            #expect(names.subtracting(["PWD", "OLDPWD", "SHLVL", "_"]) == ["HOME", "PATH"])
        }
    }

    @Test func `a program that fails leaves 502 with its exit code and nothing it said`()
        async throws
    {
        try await run("echo s3cr3t; exit 7") { proxy, origin in
            let response = try proxy.client().get(origin.url())
            #expect(response.status == 502)
            #expect(response.bodyText.contains("ended with code 7"))
            #expect(!response.bodyText.contains("s3cr3t"))
            #expect(!proxy.warnings.contains { $0.contains("s3cr3t") })
            #expect(origin.connections.isEmpty)
        }
    }

    @Test func `what a program that fails complains of is told on standard error alone`()
        async throws
    {
        try await run("echo >&2; echo not signed in >&2; echo more >&2; exit 1") { proxy, origin in
            let response = try proxy.client().get(origin.url())
            #expect(response.status == 502)
            #expect(!response.bodyText.contains("signed in"))
            _ = try proxy.record()
            #expect(!proxy.logText.contains("signed in"))
            #expect(proxy.warnings.contains { $0.hasSuffix("It said: not signed in") })
        }
    }

    @Test func `a program may complain at length`() async throws {
        let much = "head -c 9000000 /dev/zero | tr \"\\0\" x >&2; echo t0ken"
        try await run(much) { proxy, origin in
            let response = try proxy.client().get(origin.url())
            #expect(response.bodyText == "Bearer t0ken")
        }
    }

    @Test func `a program that hangs is ended in time`() async throws {
        try await run("sleep 30", ", timeout: 100ms") { proxy, origin in
            let response = try proxy.client().get(origin.url())
            #expect(response.status == 502)
            #expect(response.bodyText.contains("did not end in time"))
        }
    }

    @Test func `a program that prints too much gives no token`() async throws {
        try await run("head -c 40000 /dev/zero | tr \"\\0\" x") { proxy, origin in
            let response = try proxy.client().get(origin.url())
            #expect(response.status == 502)
            #expect(response.bodyText.contains("printed more than a credential"))
        }
    }

    @Test func `a program runs again when its time is over, and after a 401`() async throws {
        let clock = VirtualClock()
        let count = "n=$(cat $HOME/n 2>/dev/null || echo 0); n=$((n+1)); echo $n >$HOME/n; echo c$n"
        let folder = try Folder()
        let environment = ["PATH": "/usr/bin:/bin", "HOME": folder.path]
        try await run(count, ", every: 10m", environment: environment, clock: clock) { proxy, _ in
            let accepted = Accepted(["c1", "c2"])
            let origin = try proxy.guardedOrigin(accepted)
            let client = try proxy.client()
            for _ in 0..<3 { #expect(try client.get(origin.url()).status == 200) }
            try clock.advance(by: .seconds(601))
            accepted.set(["c2"])
            #expect(try proxy.client().get(origin.url()).status == 200)
            accepted.set(["c3"])
            #expect(try proxy.client().get(origin.url()).status == 200)
            #expect(try proxy.records(5).map { $0.count("attempts") } == [1, 1, 1, 1, 2])
        }
    }
}
