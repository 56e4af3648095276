// What else goes on while equal requests come: reloads, stops, listeners, who may what.
import LupinCore
import LupinIO
import LupinProxy
import LupinTestKit
import Testing

struct RepeatedSurroundingsTests {
    @Test func `a reload of the rules holds for the next request`() async throws {
        try await ProxyFixture.run { proxy in
            let equal = try EqualRequests(proxy)
            let steps = "response: [{set: {X-New: \"yes\"}}], request: [{set: {X-Step: \"1\"}}]"
            _ = try await proxy.reload(everywhere(steps))
            for _ in 0..<4 {
                #expect(try equal.ask()["X-Step"] == "1")
                try equal.connection.send(EqualRequests.good)
                #expect(try equal.client.response()["X-New"] == "yes")
            }
            _ = try await proxy.reload("upstream: {via: false}")
            for _ in 0..<5 {
                #expect(try equal.ask().names == ["Host"])
                try equal.connection.send(EqualRequests.good)
                #expect(try equal.client.response()["Via"] == nil)
            }
            _ = try await proxy.reload(everywhere("respond: {status: 418}"))
            #expect(try equal.client.get(equal.origin.url("/same")).status == 418)
            _ = try await proxy.reload("access: {clients: [127.0.0.9]}")
            #expect(try equal.client.get(equal.origin.url("/same")).status == 403)
        }
    }

    @Test(arguments: ["client: 127.0.0.1", "client: 127.0.0.9", "program: none-such"])
    func `where rules look at clients each client is looked at`(test: String) async throws {
        try await ProxyFixture.run(
            "rules: [{name: one, match: {path: /**, \(test)}, respond: {status: 418}}]"
        ) { proxy in
            guard test != "client: 127.0.0.1" else {
                for _ in 0..<5 { #expect(try proxy.client().get("http://a.test/").status == 418) }
                return
            }
            let equal = try EqualRequests(proxy)
            for _ in 0..<3 { #expect(try equal.repeatOnce().bodyText == "good") }
        }
    }

    @Test func `a reload while one is under way is for those behind it`() async throws {
        try await ProxyFixture.run(environment: ["WORD": "hush-hush-hush"]) { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            let request = EqualRequests.request(origin.url("/hush-hush-hush"))
            try client.send(request)
            let connection = try origin.accept()
            for _ in 0..<6 {
                try connection.request()
                try connection.send(EqualRequests.good)
                try client.response()
                try client.send(request)
            }
            try connection.request()
            let before = proxy.proxy.rulesVersion
            let tokens = "tokens: {one: {bearer: \"${env:WORD}\", header: {name: X-One}}}"
            let result = try await proxy.reload(everywhere("request: [{auth: one}]", tokens))
            #expect(proxy.proxy.rulesVersion != before, "\(result)")
            try connection.send(EqualRequests.good)
            #expect(try client.response().bodyText == "good")
            let record = try proxy.exchanges(7)[6]
            #expect(record["rules.version"] == before)
            #expect(!record.text.contains("hush"))
            try client.send(request)
            #expect(try connection.request()["X-One"]?.contains("hush-hush-hush") == true)
            try connection.send(EqualRequests.good)
            try client.response()
        }
    }

    @Test func `what a rule leaves out of the log stays out, and what it wants is there`()
        async throws
    {
        try await ProxyFixture.run { proxy in
            let equal = try EqualRequests(proxy)
            _ = try await proxy.reload(everywhere("log: off"))
            for _ in 0..<6 { try equal.repeatOnce() }
            _ = try await proxy.reload(everywhere("log: {headers: all}"))
            for i in 0..<6 {
                let date = "Sun, 22 Nov 2026 09:40:0\(i) GMT"
                try equal.repeatOnce(
                    EqualRequests.response(200, "Date: \(date)", body: "good")
                )
            }
            let records = try proxy.exchanges(EqualRequests.warmUps + 6)
            #expect(records.count == EqualRequests.warmUps + 6)
            for (i, record) in records.suffix(6).enumerated() {
                #expect(record.text.contains("Sun, 22 Nov 2026 09:40:0\(i) GMT"))
            }
        }
    }

    @Test func `history and figures have all of them`() async throws {
        try await ProxyFixture.run(ProxyFixture.adminSocket) { proxy in
            let equal = try EqualRequests(proxy)
            for i in 0..<6 {
                try equal.repeatOnce(
                    EqualRequests.response(
                        200,
                        "Date: Sun, 22 Nov 2026 09:40:0\(i) GMT",
                        body: "good"
                    )
                )
            }
            let records = try proxy.records(EqualRequests.warmUps + 6).suffix(6)
            for (i, record) in records.enumerated() {
                let id = try #require(record["id"])
                let shown = try proxy.admin("GET", "/v1/exchanges/\(id)").bodyText
                #expect(shown.contains("Sun, 22 Nov 2026 09:40:0\(i) GMT"))
                for value in ["ts", "client.port", "attempts.0.peer"] {
                    #expect(shown.contains(try #require(record[value])), "\(value)")
                }
            }
            let metrics = try proxy.admin("GET", "/v1/metrics").bodyText
            #expect(metrics.contains("outcome=\"ok\"} 10\n"))
            try equal.ask()
            #expect(try proxy.adminJSON("/v1/status")["live"] == "1")
            let live = try proxy.adminJSON("/v1/exchanges/live")
            #expect(live.count("exchanges") == 1)
            #expect(live["exchanges.0.url"] == equal.origin.url("/same"))
            let id = try #require(live["exchanges.0.id"])
            #expect(try proxy.admin("DELETE", "/v1/exchanges/\(id)").status == 200)
            #expect(try equal.client.waitForEnd() == .reset)
            _ = try equal.connection.waitForEnd()
        }
    }

    @Test(arguments: [false, true])
    func `a stop waits for one that is under way`(isTooLate: Bool) async throws {
        let clock = VirtualClock()
        try await ProxyFixture.run("timeouts: {drain: 5s}", clock: clock) { proxy in
            let equal = try EqualRequests(proxy)
            try equal.ask()
            let stopping = try proxy.beginDraining()
            if isTooLate {
                clock.push(by: .milliseconds(5100))
                #expect(try equal.client.response().status == 503)
            } else {
                try equal.connection.send(EqualRequests.good)
                let response = try equal.client.response()
                #expect(response.bodyText == "good")
                #expect(response["Connection"] == "close")
            }
            if !isTooLate { #expect(try equal.client.waitForEnd() == .finished) }
            equal.client.close()
            _ = try equal.connection.waitForEnd()
            await stopping.value
        }
    }

    @Test func `one under way at a listener that goes is finished, and is the last`()
        async throws
    {
        let one = "listen: [{address: 127.0.0.1:0}]"
        let two = "listen: [{address: 127.0.0.1:0}, {address: 127.0.0.2:0}]"
        try await ProxyFixture.run(two) { proxy in
            let removed = try ScriptedClient(to: proxy.proxy.addresses[1])
            let equal = try EqualRequests(proxy, by: removed)
            try equal.ask()
            _ = try await proxy.reload(one)
            try equal.connection.send(EqualRequests.good)
            let response = try removed.response()
            #expect(response.bodyText == "good")
            #expect(response["Connection"] == "close")
            #expect(try removed.waitForEnd() == .finished)
            removed.close()
            let client = try proxy.client()
            for _ in 0..<4 { #expect(try equal.repeatOnce(by: client).bodyText == "good") }
        }
    }

    @Test func `a listener of HTTP 2 alone takes no request for its likeness`() async throws {
        let rules = """
            listen: [{address: 127.0.0.1:0}, {address: 127.0.0.2:0, protocols: [h2]}]
            """
        let clock = VirtualClock()
        try await ProxyFixture.run(rules, clock: clock) { proxy in
            let equal = try EqualRequests(proxy)
            let other = try ScriptedClient(to: proxy.proxy.addresses[1])
            // Silent for so long it has no task.
            try proxy.settleWell()
            try clock.advance(by: .milliseconds(20))
            try other.send(equal.request)
            #expect(try other.response().status == 505)
            other.close()
        }
    }

    @Test func `a listener with a password asks for it`() async throws {
        let users = try ClientUsers()
        try await ProxyFixture.run(
            "listen: [{address: 127.0.0.1:0}, {address: 127.0.0.2:0}]",
            authentication: [.none, users.authentication]
        ) { proxy in
            let equal = try EqualRequests(proxy)
            let other = try ScriptedClient(to: proxy.proxy.addresses[1])
            for _ in 0..<3 {
                try other.send(equal.request)
                #expect(try other.response().status == 407)
            }
            other.close()
        }
    }

    @Test(.enabled(if: LocalAddress.inNetwork != nil))
    func `a local client's connection is not lent to clients from elsewhere`() async throws {
        let own = try #require(LocalAddress.inNetwork)
        let rules = """
            listen: [{address: "0.0.0.0:8080", auth: none}]
            access: {clients: ["0.0.0.0/0"]}
            """
        try await ProxyFixture.run(rules) { proxy in
            let port = proxy.address.port
            let local = try ScriptedClient(to: .loopback(port: port))
            let equal = try EqualRequests(proxy, by: local)
            let stranger = try ScriptedClient(to: SocketAddress(address: own, port: port))
            let count = 2000
            let sender = TestThread {
                for _ in 0..<count / 100 {
                    try stranger.send(String(repeating: equal.request, count: 100))
                }
            }
            for _ in 0..<count {
                let refused = try stranger.response()
                guard refused.status == 502,
                    refused["Proxy-Status"]?.contains("destination_ip_prohibited") == true
                else { throw SocketFailure("not refused: \(refused.whole)") }
            }
            try sender.join()
            #expect(try equal.repeatOnce().bodyText == "good")
            stranger.close()
            local.close()
        }
    }

    @Test func `behind TLS they are repeated as well`() async throws {
        let files = try TestAuthority.identityFiles("proxy.test")
        let listener =
            "listen: [{address: \"127.0.0.1:1\", tls: {cert: DIR/proxy.pem, key: DIR/proxy.key}}]"
        try await ProxyFixture.run(
            listener,
            files: ["proxy.pem": files.pem, "proxy.key": files.key]
        ) { proxy in
            let client = try proxy.client().secure(SecureSocket.Client("proxy.test"))
            let equal = try EqualRequests(proxy, by: client)
            for _ in 0..<4 { #expect(try equal.repeatOnce().bodyText == "good") }
            try client.send(equal.request + equal.request)
            for _ in 0..<2 {
                try equal.connection.request()
                try equal.connection.send(EqualRequests.good)
                #expect(try client.response().bodyText == "good")
            }
            let records = try proxy.records(EqualRequests.warmUps + 6)
            #expect(Set(records.dropFirst().map(\.likeOthers)).count == 1)
        }
    }
}
