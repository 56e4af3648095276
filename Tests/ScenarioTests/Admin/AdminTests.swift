// What a running lupin tells and does when it is asked over its socket.
import Foundation
import LupinIO
import LupinProxy
import LupinTestKit
import Synchronization
import Testing

struct AdminTests {
    private let rules = ProxyFixture.adminSocket

    @Test func `status says where it listens, by which rules and what it did`() async throws {
        try await ProxyFixture.run(rules) { proxy in
            let origin = try proxy.origin(answering: head("HTTP/1.1 204 None"))
            let client = try proxy.client()
            for _ in 0..<3 { try client.get(origin.url()) }
            try proxy.settle()
            let status = try proxy.adminJSON("/v1/status")
            #expect(status["version"] == "test")
            #expect(status["pid"] == "\(getpid())")
            #expect(status.list("listeners") == ["\(proxy.address)"])
            #expect(status["rules.version"] == proxy.proxy.rulesVersion)
            #expect(status["connections"] == "1")
            #expect(status["live"] == "0")
            #expect(status["exchanges.ok"] == "3")
            #expect(status["attempts"] == "3")
            #expect(status.number("bytes.client_in").map { $0 > 100 } == true)
            #expect(status["history.kept"] == "3")
            #expect(status["history.limit"] == "1000")
            let metrics = try proxy.admin("GET", "/v1/metrics")
            #expect(metrics["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8")
            for line in [
                "# TYPE lupin_exchanges_total counter", "lupin_exchanges_total{outcome=\"ok\"} 3",
                "lupin_attempts_total 3", "lupin_repeats_total{why=\"retry\"} 0",
                "lupin_connections 1", "lupin_exchanges_live 0",
                "lupin_records_dropped_total 0", "lupin_reloads_total{result=\"ok\"} 0",
            ] {
                #expect(metrics.bodyText.split(separator: "\n").contains(line[...]), "\(line)")
            }
        }
    }

    @Test func `a connection takes several requests, whatever they ask for`() async throws {
        try await ProxyFixture.run(rules) { proxy in
            let client = try proxy.adminClient()
            defer { client.close() }
            let rows: [(String, String, Int, String?)] = [
                ("GET", "/v1/status", 200, nil), ("HEAD", "/v1/status", 200, nil),
                ("GET", "/v1/nothing", 404, nil), ("GET", "/", 404, nil),
                ("POST", "/v1/status", 405, "GET, HEAD"), ("GET", "/v1/reload", 405, "POST"),
                ("PUT", "/v1/exchanges/live", 405, "GET, HEAD"),
                ("GET", "/v1/exchanges?limit=x", 400, nil),
                ("GET", "/v1/exchanges/\(String(repeating: "0", count: 32))", 404, nil),
                ("DELETE", "/v1/exchanges/\(String(repeating: "0", count: 32))", 404, nil),
                ("GET", "/v1/exchanges/+0000000000000000000000000000000", 404, nil),
            ]
            for (method, path, status, allow) in rows {
                try client.send(
                    "\(method) \(path) HTTP/1.1\r\nHost: lupin\r\nContent-Length: 2\r\n\r\n{}"
                )
                let response = try client.response(to: method)
                #expect(response.status == status, "\(method) \(path)")
                #expect(response["Allow"] == allow, "\(method) \(path)")
                if status >= 400 {
                    #expect(RecordLine(response.bodyText)?["error"] != nil, "\(path)")
                }
            }
        }
    }

    @Test func `what is no request, or too long, is refused and ends`() async throws {
        try await ProxyFixture.run(rules) { proxy in
            let long = String(repeating: "a", count: 20 << 10)
            for (bytes, status) in [
                ("nonsense\r\n\r\n", 400), ("GET /\(long) HTTP/1.1\r\nHost: l\r\n\r\n", 414),
                ("GET / HTTP/1.1\r\nHost: l\r\nX: \(long)\r\n\r\n", 431),
                ("POST / HTTP/1.1\r\nHost: l\r\nContent-Length: 17000000\r\n\r\n", 413),
            ] {
                let client = try proxy.adminClient()
                try client.send(bytes)
                #expect(try client.response().status == status)
                client.close()
            }
            #expect(try proxy.admin("GET", "/v1/status").status == 200)
        }
    }

    @Test func `a client that says nothing stops nobody, and goes in time`() async throws {
        let clock = VirtualClock()
        try await ProxyFixture.run(rules, clock: clock) { proxy in
            let silent = try proxy.adminClient()
            let slow = try proxy.adminClient()
            try slow.send("GET /v1")
            #expect(try proxy.admin("GET", "/v1/status").status == 200)
            try proxy.advance(by: .seconds(1), until: "the slow one is told") {
                slow.stream.socket.hasUnread
            }
            #expect(try slow.response().status == 408)
            slow.close()
            for _ in 0..<61 { try clock.advance(by: .seconds(1)) }
            #expect(try silent.waitForEnd() == .finished)
            silent.close()
        }
    }

    @Test func `history has the record and the heads, secrets as placeholders`() async throws {
        let rules = """
            \(rules)upstream: {proxy: "http://u:${env:KEY}@192.0.2.1:1", no_proxy: [127.0.0.1]}
            rules:
              - match: {}
                name: key
                request:
                  - set: {X-Api-Key: "${env:KEY}", X-Note: "by ${env:KEY}", X-Env: dev}
            """
        let secret = "s3cr3t-0123456789"
        try await ProxyFixture.run(rules, environment: ["KEY": secret]) { proxy in
            let origin = try proxy.origin(
                answering: "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nSet-Cookie: a=\(secret)\r\n\r\n"
            )
            try proxy.client().get(
                origin.url("/a?token=\(secret)"),
                "Authorization: Bearer \(secret)",
                "X-Mine: 1"
            )
            let record = try proxy.record()
            let id = try #require(record["id"])
            let answer = try proxy.adminJSON("/v1/exchanges/\(id)")
            #expect(answer.text.contains("\"record\":\(record.text)"))
            #expect(answer["request.method"] == "GET")
            #expect(answer["request.target"]?.hasPrefix("/a?token=REDACTED.") == true)
            func fields(_ part: String) -> [String: String] {
                var result: [String: String] = [:]
                for i in 0..<answer.count("\(part).fields") {
                    let name = answer["\(part).fields.\(i).0"] ?? ""
                    result[name.lowercased()] = answer["\(part).fields.\(i).1"]
                }
                return result
            }
            #expect(fields("request")["x-mine"] == "1")
            #expect(fields("request")["x-env"] == nil)
            #expect(fields("sent")["x-env"] == "dev")
            #expect(fields("sent")["x-api-key"]?.hasPrefix("REDACTED.") == true)
            #expect(fields("sent")["x-note"]?.hasPrefix("by REDACTED.") == true)
            #expect(fields("response")["set-cookie"]?.hasPrefix("REDACTED.") == true)
            #expect(answer["response.status"] == "200")
            #expect(!answer.text.contains(secret))
            #expect(!(try proxy.admin("GET", "/v1/exchanges").bodyText.contains(secret)))
        }
    }

    @Test func `the text of the rules is whole`() async throws {
        let comments = (0..<300).map { "# a comment, the one with number \($0)\n" }.joined()
        let rules = "admin: {socket: DIR/admin}\n\(comments)log: {level: event}\n"
        try await ProxyFixture.run(rules) { proxy in
            let text = try proxy.adminJSON("/v1/rules")["text"]
            #expect(text?.contains(comments) == true)
            #expect(text?.hasSuffix("log: {level: event}\n") == true)
        }
    }

    @Test func `who waits for a place at the socket costs nothing, and gets it`() async throws {
        try await ProxyFixture.run("admin: {socket: DIR/admin}") { proxy in
            let control = try #require(proxy.proxy.executors.last)
            let origin = try proxy.origin(answering: head("HTTP/1.1 204 None"))
            let held = try (0..<64).map { _ in try proxy.adminClient() }
            for client in held {
                try client.send("GET /v1/status HTTP/1.1\r\nHost: lupin\r\n\r\n")
                #expect(try client.response().status == 200)
            }
            let late = try proxy.adminClient()
            try late.send("GET /v1/status HTTP/1.1\r\nHost: lupin\r\n\r\n")
            let before = try turns(of: control)
            for _ in 0..<200 { #expect(try proxy.client().get(origin.url()).status == 204) }
            // A loop that spins has thousands.
            #expect(try turns(of: control) - before < 200)
            held[0].close()
            #expect(try late.response().status == 200)
        }
    }

    /// How often a loop came round so far.
    private func turns(of executor: LoopExecutor) throws -> UInt64 {
        let bell = Bell()
        let count = Atomic<UInt64>(0)
        executor.mailbox.post {
            count.store(executor.loop.turn, ordering: .relaxed)
            bell.ring()
        }
        guard bell.wait() else { throw SocketFailure("the loop is stuck") }
        return count.load(ordering: .relaxed)
    }

    @Test func `history has the last ones, the latest first`() async throws {
        let rules = """
            admin: {socket: DIR/admin, history: 3}
            rules: [{match: {path: /quiet}, log: off}]
            """
        try await ProxyFixture.run(rules) { proxy in
            let origin = try proxy.origin(answering: head("HTTP/1.1 204 None"))
            let client = try proxy.client()
            for path in ["/1", "/2", "/3", "/quiet", "/4"] { try client.get(origin.url(path)) }
            try proxy.settle()
            func paths(_ query: String) throws -> [String] {
                let answer = try proxy.adminJSON("/v1/exchanges\(query)")
                return (0..<answer.count("exchanges")).compactMap {
                    answer["exchanges.\($0).url.path"]
                }
            }
            #expect(try paths("") == ["/4", "/3", "/2"])
            #expect(try paths("?limit=2") == ["/4", "/3"])
            #expect(try paths("?limit=0") == [])
        }
    }

    @Test func `an exchange under way is shown, and cut when it is cancelled`() async throws {
        try await ProxyFixture.run("workers: 2\n\(rules)") { proxy in
            let origin = try PlayedOrigin()
            let waiting = try proxy.client()
            try waiting.send("GET", origin.url("/wait"))
            let first = try origin.accept()
            try first.request()
            let reading = try proxy.client()
            try reading.send("GET", origin.url("/read"))
            let second = try origin.accept()
            try second.request()
            try second.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nbegun")
            _ = try reading.stream.head()
            #expect(try reading.stream.text(5) == "begun")
            let live = try proxy.adminJSON("/v1/exchanges/live")
            let status = try proxy.adminJSON("/v1/status")
            #expect(status["waiting.response_head"] == "1")
            #expect(status["waiting.response_body"] == "1")
            #expect(status["attempts"] == "2")
            #expect(live["exchanges.0.url"] == origin.url("/wait"))
            #expect(live["exchanges.1.url"] == origin.url("/read"))
            #expect(live["exchanges.0.method"] == "GET")
            #expect(live.number("exchanges.1.bytes.client_out").map { $0 > 5 } == true)
            for (i, client) in [waiting, reading].enumerated() {
                let id = try #require(live["exchanges.\(i).id"])
                #expect(try proxy.adminJSON("/v1/exchanges/\(id)")["live.id"] == id)
                #expect(try proxy.admin("DELETE", "/v1/exchanges/\(id)").status == 200)
                #expect(try client.waitForEnd() == .reset)
                #expect(try proxy.admin("DELETE", "/v1/exchanges/\(id)").status == 404)
            }
            for record in try proxy.records(2) {
                #expect(record["outcome"] == "error")
                #expect(record["error.detail"]?.contains("cancelled") == true)
            }
            #expect(try proxy.adminJSON("/v1/status")["live"] == "0")
        }
    }

    @Test func `a stream of HTTP/2 is cancelled alone`() async throws {
        try await ProxyFixture.run(rules) { proxy in
            let origin = try PlayedOrigin()
            let client = try HTTP2Client(to: proxy.address)
            let stream = try client.send(.request(authority: origin.authority, path: "/a"))
            let connection = try origin.accept()
            try connection.request()
            let id = try #require(proxy.adminJSON("/v1/exchanges/live")["exchanges.0.id"])
            #expect(try proxy.admin("DELETE", "/v1/exchanges/\(id)").status == 200)
            _ = try client.frames.first("a reset of the stream") { event -> Bool? in
                if case .reset(stream, _) = event { true } else { nil }
            }
            let next = try client.send(.request(authority: origin.authority, path: "/b"))
            let another = try origin.accept()
            try another.request()
            try another.reply(body: "fine")
            #expect(try client.response(on: next).bodyText == "fine")
            client.close()
        }
    }

    @Test func `the socket is for one lupin, and another does without`() async throws {
        try await ProxyFixture.run(rules) { proxy in
            let attributes = try FileManager.default.attributesOfItem(atPath: proxy.adminPath)
            #expect(attributes[.posixPermissions] as? Int == 0o600)
            let path = proxy.adminPath
            try await ProxyFixture.run("admin: {socket: \(path)}") { other in
                let problem =
                    "no admin socket at \(path): the lupin of process \(getpid()), which runs "
                    + "without a rules file, listens there; lupin status and its like ask that "
                    + "one, and `admin: {socket: …}` in the rules file of this one names another "
                    + "place"
                #expect(other.warnings == [problem])
                let origin = try other.origin(answering: head("HTTP/1.1 204 None"))
                #expect(try other.client().get(origin.url()).status == 204)
            }
            #expect(try proxy.admin("GET", "/v1/status").status == 200)
            await proxy.beginStopping().value
            #expect(!FileManager.default.fileExists(atPath: path))
        }
    }

    @Test(.enabled(if: geteuid() == 0 && canBecomeAnother))
    func `another user is refused`() async throws {
        try await ProxyFixture.run(rules) { proxy in
            // As if somebody had opened the way to the socket.
            let path = proxy.adminPath
            for (file, mode) in [(proxy.directory, 0o755), (path, 0o666)] {
                try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: file)
            }
            let result = try Lupin.run(
                program: "/usr/bin/setpriv",
                [
                    "--reuid=65534", "--clear-groups", "/usr/bin/curl", "-s", "--unix-socket", path,
                    "-w", " %{http_code}", "http://lupin/v1/status",
                ]
            )
            #expect(result.output == "{\"error\":\"this lupin belongs to another user\"}\n 403")
        }
    }

    private static let canBecomeAnother = ["setpriv", "curl"].allSatisfy {
        FileManager.default.isExecutableFile(atPath: "/usr/bin/\($0)")
    }
}
