// The log at its levels: which lines an exchange leaves, in which order, and what is in none.
import LupinProxy
import LupinTestKit
import Synchronization
import Testing

extension RecordLine {
    /// The stage, or what else the line is about.
    var stage: String { self["stage"] ?? self["event"] ?? "" }
}

/// Counts from 1.
final class Counter: Sendable {
    private let count = Atomic(0)

    func next() -> Int { count.add(1, ordering: .relaxed).newValue }
}

struct StageLogTests {
    private static let retrying = """
        tokens: {local: {bearer: s3cr3tBearer, hosts: [127.0.0.1], plain_http: true}}
        rules:
          - name: flaky
            match: {path: "/flaky/**"}
            request: [{auth: local}, {set: {X-Key: s3cr3tBearer}}]
            validate: {status: 200, then: retry}
        """

    /// Answers the first request with 503, and others with 200.
    private func flakyOrigin(_ proxy: ProxyFixture) throws -> ScriptedOrigin {
        let requests = Counter()
        return try proxy.origin { connection in
            while try connection.nextRequest() != nil {
                let isFirst = requests.next() == 1
                try connection.reply(isFirst ? 503 : 200, body: "hello")
            }
        }
    }

    @Test func `a request with token and retry shows its stages in order`() async throws {
        try await ProxyFixture.run("log: {level: event}\n" + Self.retrying) { proxy in
            let flaky = try flakyOrigin(proxy)
            #expect(try proxy.client().get(flaky.url("/flaky/a?token=qu3ryToken")).status == 200)
            let lines = try proxy.linesUntilExchange()
            let stages = lines.map(\.stage)
            #expect(
                stages.filter { $0 != "connecting" } == [
                    "accepted", "matched", "token", "token_wait", "adapted", "sent", "response",
                    "attempt", "retrying", "adapted", "sent", "response", "attempt", "finished",
                    "exchange",
                ]
            )
            #expect(stages.firstIndex(of: "connecting") == 5)
            let own = lines.filter { $0.stage != "token" }
            #expect(Set(own.map { $0["id"] }).count == 1)
            try check(lines, of: flaky)
        }
    }

    /// Checks what the lines of the retried request say.
    private func check(_ lines: [RecordLine], of origin: ScriptedOrigin) throws {
        func line(_ stage: String, _ number: Int = 0) throws -> RecordLine {
            let all = lines.filter { $0.stage == stage }
            return try #require(all.indices.contains(number) ? all[number] : nil, "\(stage)")
        }
        #expect(try line("accepted")["http.request.method"] == "GET")
        #expect(try line("accepted")["client.address"] == "127.0.0.1")
        #expect(try line("accepted")["url.full"]?.contains("token=REDACTED.") == true)
        #expect(try line("matched").list("rules.matched") == ["flaky"])
        #expect(try line("token")["token"] == "local")
        #expect(try line("token")["action"] == "refreshed")
        #expect(try line("token")["version"] == "1")
        #expect(try line("token_wait")["auth.token"] == "local")
        #expect(try line("adapted").list("rules.steps").contains("auth local"))
        #expect(try line("connecting")["to"] == origin.authority)
        #expect(try line("sent")["peer"] == origin.authority)
        #expect(try line("response")["status"] == "503")
        #expect(try line("response", 1)["status"] == "200")
        #expect(try line("response", 1)["n"] == "2")
        #expect(try line("retrying")["decision"] == "retry")
        #expect(try line("retrying")["reason"]?.contains("503") == true)
        #expect(try line("attempt")["attempt.decision"] == "retry")
        #expect(try line("attempt", 1)["attempt.why"] == "retry")
        #expect(try line("attempt", 1)["attempt.status"] == "200")
        #expect(try line("finished")["outcome"] == "ok")
        #expect(try line("finished")["status"] == "200")
        #expect(try line("exchange")["auth.token"] == "local")
        #expect(try line("exchange")["validate.ok"] == "1")
    }

    @Test func `no line of any stage shows a secret`() async throws {
        let rules = "log: {level: event, headers: all}\n" + Self.retrying
        try await ProxyFixture.run(rules) { proxy in
            let origin = try flakyOrigin(proxy)
            let client = try proxy.client()
            try client.send(
                "GET",
                origin.url("/flaky/a?token=qu3ryToken&page=2"),
                ["Authorization: Bearer cl13ntBearer", "Cookie: a=c00kieValue"]
            )
            #expect(try client.response().status == 200)
            _ = try proxy.linesUntilExchange()
            #expect(origin.receivedText.contains("s3cr3tBearer"))
            for secret in ["s3cr3tBearer", "qu3ryToken", "cl13ntBearer", "c00kieValue"] {
                #expect(!proxy.logText.contains(secret), "\(secret)")
            }
        }
    }

    @Test func `at level attempt each attempt has its line, and nothing else`() async throws {
        try await ProxyFixture.run("log: {level: attempt}\n" + Self.retrying) { proxy in
            let origin = try flakyOrigin(proxy)
            try proxy.client().get(origin.url("/flaky/a"))
            let lines = try proxy.linesUntilExchange()
            try #require(lines.map(\.stage) == ["attempt", "attempt", "exchange"])
            #expect(lines[0]["attempt.n"] == "1" && lines[1]["attempt.n"] == "2")
            #expect(lines[1]["attempt.timing.receive"] != nil)
            #expect(lines[0]["url.domain"] == "127.0.0.1")
            #expect(Set(lines.map { $0["id"] }).count == 1)
        }
    }

    @Test func `at level exchange there is one line`() async throws {
        try await ProxyFixture.run(Self.retrying) { proxy in
            let origin = try flakyOrigin(proxy)
            try proxy.client().get(origin.url("/flaky/a"))
            #expect(try proxy.linesUntilExchange().map(\.stage) == ["exchange"])
        }
    }

    @Test func `a rule has its own level, higher or lower`() async throws {
        let rules = """
            log: {level: attempt}
            rules:
              - {name: all, match: {path: "/all"}, log: {level: event}}
              - {name: one, match: {path: "/one"}, log: {level: exchange}}
              - {name: off, match: {path: "/off"}, log: off}
            """
        try await ProxyFixture.run(rules) { proxy in
            let origin = try proxy.origin(answering: "HTTP/1.1 204 No Content\r\n\r\n")
            let client = try proxy.client()
            for path in ["/off", "/one", "/other", "/all"] { try client.get(origin.url(path)) }
            var lines: [RecordLine] = []
            try eventually("three records") {
                lines = proxy.recordsSoFar()
                return lines.count { $0.stage == "exchange" } == 3
            }
            #expect(
                lines.map(\.stage) == [
                    "exchange", "attempt", "exchange", "accepted", "matched", "adapted", "sent",
                    "response", "attempt", "finished", "exchange",
                ]
            )
            #expect(lines.first { $0.stage == "sent" }?["reused"] == "1")
        }
    }

    @Test func `a long body shows how far it has come, by bytes and by time`() async throws {
        let clock = VirtualClock()
        try await ProxyFixture.run("log: {level: event}", clock: clock) { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            try client.send("GET", origin.url(), [])
            let connection = try origin.accept()
            try connection.request()
            let count = 5 << 20
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: \(count + 8)\r\n\r\n1234")
            let socket = client.stream.socket
            #expect(try socket.receive(until: "\r\n\r\n").hasPrefix("HTTP/1.1 200"))
            #expect(try socket.receive(exactly: 4) == Array("1234".utf8))
            // The next bytes must not be read in this turn, which goes by the time before.
            try proxy.settle()
            try clock.advance(by: .seconds(1))
            // Nor in a turn that began before this second.
            try proxy.settle()
            try connection.send("5678")
            #expect(try socket.receive(exactly: 4) == Array("5678".utf8))
            // Nor may what follows be read together with them.
            try proxy.settle()
            let sending = TestThread {
                try connection.stream.socket.send(pattern: 7, count: count)
            }
            try socket.receive(pattern: 7, count: count)
            try sending.join()
            try clock.advance(by: .milliseconds(20))
            let lines = try proxy.linesUntilExchange()
            let progress = lines.filter { $0.stage == "progress" }
            let bytes = progress.compactMap { $0.number("bytes.down") }
            // Long before the first mebibyte: a second has passed.
            #expect(bytes.first.map { $0 < Double(1 << 20) } == true, "\(bytes)")
            // A turn may move 1 MiB at once, behind a little less.
            #expect(3...6 ~= bytes.count, "\(bytes)")
            #expect(zip(bytes, bytes.dropFirst()).allSatisfy { $1 - $0 >= Double(1 << 20) })
            #expect(progress.allSatisfy { $0["n"] == "1" })
            #expect(lines.suffix(2).map(\.stage) == ["finished", "exchange"])
        }
    }

    @Test func `an upload shows its progress as well`() async throws {
        try await ProxyFixture.run("log: {level: event}", clock: VirtualClock()) { proxy in
            let origin = try proxy.origin { connection in
                try connection.request()
                try connection.reply(body: "hello")
            }
            let client = try proxy.client()
            let count = 3 << 20
            try client.send("POST", origin.url(), ["Content-Length: \(count)"])
            try client.stream.socket.send(pattern: 7, count: count)
            #expect(try client.response().status == 200)
            let progress = try proxy.linesUntilExchange().filter { $0.stage == "progress" }
            #expect((progress.first?.number("bytes.up") ?? 0) >= Double(1 << 20))
            #expect(progress.first?.number("bytes.down") == 0)
        }
    }

    @Test func `a tunnel shows its progress as well`() async throws {
        let rules = "log: {level: event}\naccess: {connect_ports: [1-65535]}"
        try await ProxyFixture.run(rules, clock: VirtualClock()) { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            #expect(try client.connect(origin.authority).status == 200)
            let connection = try origin.accept()
            let count = 2 << 20
            let sending = TestThread {
                try connection.stream.socket.send(pattern: 3, count: count)
            }
            try client.stream.socket.receive(pattern: 3, count: count)
            try sending.join()
            connection.close()
            client.close()
            let progress = try proxy.linesUntilExchange().filter { $0.stage == "progress" }
            #expect((progress.first?.number("bytes.down") ?? 0) >= Double(1 << 20))
        }
    }

    @Test func `a request that comes to no rule is accepted and finished`() async throws {
        try await ProxyFixture.run("log: {level: event}") { proxy in
            let client = try proxy.client()
            try client.send("GET / HTTP/1.1\r\nHost: a b\r\n\r\n")
            #expect(try client.response().status == 400)
            let lines = try proxy.linesUntilExchange()
            try #require(lines.map(\.stage) == ["accepted", "finished", "exchange"])
            #expect(lines[1]["error.type"] == "http_request_error")
        }
    }

    @Test func `a tunnel has stages of its own`() async throws {
        try await ProxyFixture.run(
            "log: {level: event}\naccess: {connect_ports: [1-65535]}"
        ) { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            #expect(try client.connect(origin.authority).status == 200)
            let connection = try origin.accept()
            client.close()
            connection.close()
            let lines = try proxy.linesUntilExchange()
            try #require(
                lines.map(\.stage) == [
                    "accepted", "matched", "connecting", "attempt", "finished", "tunnel",
                ]
            )
            #expect(lines[0]["url.full"] == origin.authority)
        }
    }

    @Test func `a token that cannot be fetched is written at every level`() async throws {
        let rules = """
            tokens: {gone: {command: [/bin/false], hosts: [127.0.0.1], plain_http: true}}
            rules: [{name: gone, match: {}, request: [{auth: gone}], log: off}]
            """
        try await ProxyFixture.run(rules) { proxy in
            let origin = try proxy.origin(answering: "HTTP/1.1 204 No Content\r\n\r\n")
            #expect(try proxy.client().get(origin.url()).status == 502)
            let lines = try proxy.linesUntilExchange()
            try #require(lines.map(\.stage) == ["token", "exchange"])
            #expect(lines[0]["token"] == "gone")
            #expect(lines[0]["action"] == "failed")
            #expect(lines[0]["detail"]?.isEmpty == false)
            #expect(lines[1]["auth.action"] == "missing")
        }
    }
}

extension ProxyFixture {
    /// All lines, once that of an exchange or a tunnel is there.
    func linesUntilExchange() throws -> [RecordLine] {
        var lines: [RecordLine] = []
        try eventually("the record of an exchange") {
            lines = recordsSoFar()
            if lines.contains(where: { ["exchange", "tunnel"].contains($0.stage) }) { return true }
            try? clock?.advance(by: .milliseconds(20))
            return false
        }
        return lines
    }
}
