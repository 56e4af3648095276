// Changing the rules while the proxy runs: what takes them, what keeps the old ones, what refuses.
import Foundation
import LupinCore
import LupinIO
import LupinProxy
import LupinTestKit
import Testing

struct ReloadTests {
    private static func rules(_ value: String, _ more: String = "") -> String {
        """
        \(more)
        rules:
          - {name: \(value), match: {scheme: http}, request: [set: {X-Rule: \(value)}]}
        """
    }

    @Test func `an exchange keeps its rules, and the next on its connection has new ones`()
        async throws
    {
        try await ProxyFixture.run(Self.rules("old")) { proxy in
            let oldVersion = proxy.proxy.rulesVersion
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            try client.send("POST", origin.url(), ["Expect: 100-continue", "Content-Length: 4"])
            let connection = try origin.accept()
            #expect(try connection.requestHead()["X-Rule"] == "old")
            let result = try await proxy.reload(Self.rules("new"))
            #expect(result == .loaded(version: proxy.proxy.rulesVersion, warnings: []))
            try client.send("body")
            #expect(try connection.stream.text(4) == "body")
            try connection.reply(body: "one")
            #expect(try client.response(to: "POST").bodyText == "one")
            try client.send("GET", origin.url())
            #expect(try connection.request()["X-Rule"] == "new")
            try connection.reply(body: "two")
            #expect(try client.response().bodyText == "two")
            let lines = try proxy.records(3)
            let event = try #require(lines.first { $0["event"] == "config" })
            #expect(event["outcome"] == "loaded")
            #expect(event["rules.version"] == proxy.proxy.rulesVersion)
            let exchanges = lines.filter { $0["event"] == "exchange" }
            #expect(
                exchanges.map { $0["rules.version"] } == [oldVersion, proxy.proxy.rulesVersion]
            )
            #expect(exchanges.map { $0.list("rules.matched") } == [["old"], ["new"]])
        }
    }

    @Test func `streams of one connection each have the rules of their beginning`() async throws {
        try await ProxyFixture.run(Self.rules("old")) { proxy in
            let origin = try PlayedOrigin()
            let client = try HTTP2Client(to: proxy.address)
            let first = try client.send(.request(authority: origin.authority, path: "/1"))
            let one = try origin.accept()
            #expect(try one.request()["X-Rule"] == "old")
            _ = try await proxy.reload(Self.rules("new"))
            let second = try client.send(.request(authority: origin.authority, path: "/2"))
            let two = try origin.accept()
            #expect(try two.request()["X-Rule"] == "new")
            try two.reply(body: "second")
            try one.reply(body: "first")
            #expect(try client.response(on: second).bodyText == "second")
            #expect(try client.response(on: first).bodyText == "first")
            client.close()
        }
    }

    @Test func `a bad file keeps the old rules and says what is wrong everywhere`() async throws {
        try await ProxyFixture.run(Self.rules("old", ProxyFixture.adminSocket)) { proxy in
            let version = proxy.proxy.rulesVersion
            try proxy.write(rules: "\(ProxyFixture.adminSocket)nonsense: 1")
            let answer = try proxy.admin("POST", "/v1/reload")
            #expect(answer.status == 422)
            let error = RecordLine(answer.bodyText)?.list("errors").first ?? ""
            #expect(
                error.hasPrefix("test.yaml:3:1: unknown key \"nonsense\"  [E-KEY]\n    nonsense")
            )
            let record = try proxy.record()
            #expect(record["event"] == "config")
            #expect(record["outcome"] == "rejected")
            #expect(record["error.type"] == "config_rejected")
            #expect(record.list("errors") == ["test.yaml:3:1: unknown key \"nonsense\"  [E-KEY]"])
            #expect(record["rules.version"] == version)
            #expect(proxy.warnings.contains { $0.contains("unknown key") })
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            try client.send("GET", origin.url())
            let connection = try origin.accept()
            #expect(try connection.request()["X-Rule"] == "old")
            try connection.reply()
            try client.response()
            let status = try proxy.adminJSON("/v1/status")
            #expect(status["rules.version"] == version)
            #expect(status["reloads.rejected"] == "1")
        }
    }

    @Test func `a file that is renamed into place is taken by itself`() async throws {
        try await ProxyFixture.run(Self.rules("old"), watchesRules: true) { proxy in
            let old = proxy.proxy.rulesVersion
            try proxy.write(rules: Self.rules("new"))
            try eventually("new rules") { proxy.proxy.rulesVersion != old }
            // The same text again changes nothing, and no line says that it did.
            try proxy.write(rules: Self.rules("new"))
            try proxy.write(rules: "nonsense: 1")
            try eventually("a line about them") {
                proxy.recordsSoFar().contains { $0["outcome"] == "rejected" }
            }
            #expect(proxy.recordsSoFar().map { $0["outcome"] } == ["loaded", "rejected"])
        }
    }

    @Test func `a list of hosts is taken when it changes, and a bad one keeps the old`()
        async throws
    {
        let rules = """
            rules:
              - {name: blocked, match: {host: {file: DIR/blocked.txt}}, respond: {status: 451}}
            """
        let files = ["blocked.txt": Array("0.0.0.0 one.invalid\n".utf8)]
        try await ProxyFixture.run(rules, files: files, watchesRules: true) { proxy in
            let client = try proxy.client()
            func status(of host: String) throws -> Int {
                try client.send("GET", "http://\(host)/")
                return try client.response().status
            }
            #expect(try status(of: "one.invalid") == 451)
            #expect(try status(of: "two.invalid") != 451)
            try proxy.write("two.invalid\n", to: "blocked.txt")
            // Workers take a snapshot after it is everybody's.
            try eventually("the new list") { (try? status(of: "two.invalid")) == 451 }
            #expect(try status(of: "one.invalid") != 451)
            let version = proxy.proxy.rulesVersion
            try proxy.write("two.invalid three.invalid\n", to: "blocked.txt")
            try eventually("a line about the bad list") {
                proxy.recordsSoFar().contains { $0["outcome"] == "rejected" }
            }
            #expect(proxy.warnings.contains { $0.contains("blocked.txt:1:13: one host a line") })
            #expect(try status(of: "two.invalid") == 451)
            #expect(proxy.proxy.rulesVersion == version)
        }
    }

    @Test(arguments: [
        ("workers: 1", "workers: 2", "2:1", "workers"),
        ("admin: {history: 5}", "admin: {history: 6}", "2:9", "admin.history"),
        ("admin: {socket: DIR/a}", "admin: {socket: DIR/b}", "2:9", "admin.socket"),
        ("", "admin: {http: {address: 127.0.0.1:0, token: 0123456789abcdef}}", "2:9", "admin.http"),
    ])
    func `what needs a restart says so, and nothing else changes`(
        before: String,
        after: String,
        place: String,
        key: String
    ) async throws {
        try await ProxyFixture.run(before) { proxy in
            let version = proxy.proxy.rulesVersion
            let result = try await proxy.reload(Self.rules("new", after))
            let error = "test.yaml:\(place): a change of \(key) needs a restart"
            #expect(result == .rejected(errors: [error]))
            #expect(proxy.proxy.rulesVersion == version)
        }
    }

    @Test func `secrets of former rules stay hidden`() async throws {
        let key = "former-0123456789"
        let rules = "upstream: {proxy: \"http://u:${env:KEY}@192.0.2.1:1\", no_proxy: [127.0.0.1]}"
        try await ProxyFixture.run(rules, environment: ["KEY": key]) { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            try client.send("GET", origin.url("/\(key)"))
            let connection = try origin.accept()
            try connection.request()
            _ = try await proxy.reload("")
            try connection.reply()
            try client.response()
            let line = try #require(proxy.records(2).last)
            #expect(line["event"] == "exchange")
            #expect(line["url.path"]?.hasPrefix("/REDACTED.") == true)
            #expect(!proxy.logText.contains(key))
        }
    }

    @Test func `limits, access and the log follow`() async throws {
        try await ProxyFixture.run { proxy in
            let origin = try proxy.origin(answering: head("HTTP/1.1 204 None"))
            let client = try proxy.client()
            #expect(try client.get(origin.url()).status == 204)
            let log = "log: {to: DIR/other}"
            _ = try await proxy.reload("\(log)\naccess: {clients: [192.0.2.1]}")
            #expect(try client.get(origin.url()).status == 403)
            let other = "\(proxy.directory)/other"
            try eventually("a record in the new log") {
                let text = (try? String(contentsOfFile: other, encoding: .utf8)) ?? ""
                return text.contains("\"outcome\":\"denied\"")
            }
            let result = try await proxy.reload("log: {to: DIR/missing/log}")
            guard case .rejected(let errors) = result else {
                Issue.record("\(result)")
                return
            }
            let start = "test.yaml:2:7: cannot write records to "
            #expect(errors.first?.hasPrefix(start) == true)
            #expect(try client.get(origin.url()).status == 403)
        }
    }
}
