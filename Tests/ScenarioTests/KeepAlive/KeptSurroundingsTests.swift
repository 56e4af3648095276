// What goes on around connections that are kept: history, stops, listeners, who may what.
import LupinCore
import LupinIO
import LupinProxy
import LupinTestKit
import Testing

struct KeptSurroundingsTests {
    @Test func `history and figures have all of them`() async throws {
        try await ProxyFixture.run(ProxyFixture.adminSocket) { proxy in
            let kept = try KeptConnection(proxy)
            for i in 0..<3 {
                try kept.repeatOnce(
                    KeptConnection.response(
                        200,
                        "Date: Sun, 22 Nov 2026 09:40:0\(i) GMT",
                        body: "good"
                    )
                )
            }
            let records = try proxy.records(KeptConnection.served + 3).suffix(3)
            for (i, record) in records.enumerated() {
                let id = try #require(record["id"])
                let shown = try proxy.admin("GET", "/v1/exchanges/\(id)").bodyText
                #expect(shown.contains("Sun, 22 Nov 2026 09:40:0\(i) GMT"))
                for value in ["ts", "client.port", "attempts.0.peer"] {
                    #expect(shown.contains(try #require(record[value])), "\(value)")
                }
            }
            let metrics = try proxy.admin("GET", "/v1/metrics").bodyText
            #expect(metrics.contains("outcome=\"ok\"} 4\n"))
            try kept.ask()
            #expect(try proxy.adminJSON("/v1/status")["live"] == "1")
            let live = try proxy.adminJSON("/v1/exchanges/live")
            #expect(live.count("exchanges") == 1)
            #expect(live["exchanges.0.url"] == kept.origin.url("/same"))
            let id = try #require(live["exchanges.0.id"])
            #expect(try proxy.admin("DELETE", "/v1/exchanges/\(id)").status == 200)
            #expect(try kept.client.waitForEnd() == .reset)
            _ = try kept.connection.waitForEnd()
        }
    }

    @Test(arguments: [false, true])
    func `a stop waits for one that is under way`(isTooLate: Bool) async throws {
        let clock = VirtualClock()
        try await ProxyFixture.run("timeouts: {drain: 5s}", clock: clock) { proxy in
            let kept = try KeptConnection(proxy)
            try kept.ask()
            let stopping = try proxy.beginDraining()
            if isTooLate {
                clock.push(by: .milliseconds(5100))
                #expect(try kept.client.response().status == 503)
            } else {
                try kept.connection.send(KeptConnection.good)
                let response = try kept.client.response()
                #expect(response.bodyText == "good")
                #expect(response["Connection"] == "close")
            }
            if !isTooLate { #expect(try kept.client.waitForEnd() == .finished) }
            kept.client.close()
            _ = try kept.connection.waitForEnd()
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
            let kept = try KeptConnection(proxy, by: removed)
            try kept.ask()
            _ = try await proxy.reload(one)
            try kept.connection.send(KeptConnection.good)
            let response = try removed.response()
            #expect(response.bodyText == "good")
            #expect(response["Connection"] == "close")
            #expect(try removed.waitForEnd() == .finished)
            removed.close()
            let client = try proxy.client()
            #expect(try kept.repeatOnce(by: client).bodyText == "good")
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
            let kept = try KeptConnection(proxy, by: local)
            let stranger = try ScriptedClient(to: SocketAddress(address: own, port: port))
            try stranger.send(String(repeating: kept.request, count: 40))
            for _ in 0..<40 {
                let refused = try stranger.response()
                guard refused.status == 502,
                    refused["Proxy-Status"]?.contains("destination_ip_prohibited") == true
                else { throw SocketFailure("not refused: \(refused.startLine)") }
            }
            #expect(try kept.repeatOnce().bodyText == "good")
            stranger.close()
            local.close()
        }
    }

    @Test func `behind TLS a connection is kept as well`() async throws {
        let files = try TestAuthority.identityFiles("proxy.test")
        let listener =
            "listen: [{address: \"127.0.0.1:1\", tls: {cert: DIR/proxy.pem, key: DIR/proxy.key}}]"
        try await ProxyFixture.run(
            listener,
            files: ["proxy.pem": files.pem, "proxy.key": files.key]
        ) { proxy in
            let client = try proxy.client().secure(SecureSocket.Client("proxy.test"))
            let kept = try KeptConnection(proxy, by: client)
            #expect(try kept.repeatOnce().bodyText == "good")
            try client.send(kept.request + kept.request)
            for _ in 0..<2 {
                try kept.connection.request()
                try kept.connection.send(KeptConnection.good)
                #expect(try client.response().bodyText == "good")
            }
            let records = try proxy.records(KeptConnection.served + 3)
            #expect(Set(records.compactMap { $0["client.port"] }).count == 1)
        }
    }
}
