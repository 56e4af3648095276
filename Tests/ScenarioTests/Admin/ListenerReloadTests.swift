// Listeners that come and go while the proxy runs, and what becomes of their connections.
import LupinIO
import LupinProxy
import LupinTestKit
import Testing

struct ListenerReloadTests {
    private static let one = "listen: [{address: 127.0.0.1:0}]"
    private static let two = "listen: [{address: 127.0.0.1:0}, {address: 127.0.0.2:0}]"

    @Test(arguments: [1, 2])
    func `a new listener serves, and the old one keeps its socket`(workers: Int) async throws {
        try await ProxyFixture.run("workers: \(workers)\n\(Self.one)") { proxy in
            let origin = try proxy.origin(answering: head("HTTP/1.1 204 None"))
            let before = proxy.address
            let client = try proxy.client()
            #expect(try client.get(origin.url()).status == 204)
            _ = try await proxy.reload("workers: \(workers)\n\(Self.two)")
            #expect(proxy.proxy.addresses.count == 2)
            #expect(proxy.proxy.addresses.first == before)
            #expect(try client.get(origin.url()).status == 204)
            for address in proxy.proxy.addresses {
                let other = try ScriptedClient(to: address)
                #expect(try other.get(origin.url()).status == 204)
                other.close()
            }
        }
    }

    @Test func `a removed listener drains: a download is finished and the idle end`() async throws {
        try await ProxyFixture.run("workers: 2\n\(Self.two)") { proxy in
            let removed = proxy.proxy.addresses[1]
            let origin = try PlayedOrigin()
            let idle = try ScriptedClient(to: removed)
            try idle.send("GET", origin.url())
            let first = try origin.accept()
            try first.request()
            try first.reply(200, "Connection: close", body: "x")
            #expect(try idle.response()["Connection"] == nil)
            let multiplexed = try HTTP2Client(to: removed)
            let reading = try ScriptedClient(to: removed)
            try reading.send("GET", origin.url("/long"))
            let waiting = try ScriptedClient(to: removed)
            try waiting.send("GET", origin.url("/late"))
            let connections = [try origin.accept(), try origin.accept()]
            let targets = try connections.map { try $0.request().target }
            let long = connections[targets[0] == "/long" ? 0 : 1]
            let late = connections[targets[0] == "/long" ? 1 : 0]
            // Closed, so that no pooled connection serves who comes later.
            try long.send(
                "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 8\r\n\r\nhalf"
            )
            _ = try reading.stream.head()
            #expect(try reading.stream.text(4) == "half")
            let result = try await proxy.reload("workers: 2\n\(Self.one)")
            #expect(result == .loaded(version: proxy.proxy.rulesVersion, warnings: []))
            #expect(throws: SocketFailure.self) { try PlainSocket.connect(to: removed) }
            #expect(try idle.waitForEnd() == .finished)
            _ = try multiplexed.frames.first("GOAWAY") { event -> Bool? in
                if case .goAway = event { true } else { nil }
            }
            try long.send("rest")
            #expect(try reading.stream.text(4) == "rest")
            #expect(try reading.waitForEnd() == .finished)
            try late.reply(200, "Connection: close", body: "last")
            let response = try waiting.response()
            #expect(response.bodyText == "last")
            #expect(response["Connection"] == "close")
            #expect(try waiting.waitForEnd() == .finished)
            #expect(try multiplexed.frames.waitForEnd() == .finished)
            for client in [idle, reading, waiting] { client.close() }
            multiplexed.close()
            // The other listener never noticed.
            let client = try proxy.client()
            try client.send("GET", origin.url())
            let another = try origin.accept()
            try another.request()
            try another.reply(body: "y")
            #expect(try client.response().bodyText == "y")
        }
    }

    @Test func `a listener that cannot be bound leaves everything as it was`() async throws {
        try await ProxyFixture.run(Self.one) { proxy in
            let version = proxy.proxy.rulesVersion
            // No address of this machine.
            let result = try await proxy.reload(
                "listen: [{address: 127.0.0.2:0}, {address: 192.0.2.1:0, auth: none}]"
            )
            guard case .rejected(let errors) = result else {
                Issue.record("\(result)")
                return
            }
            let start = "test.yaml:2:1: cannot listen on 192.0.2.1:0: "
            #expect(errors.first?.hasPrefix(start) == true)
            #expect(proxy.proxy.rulesVersion == version)
            #expect(proxy.proxy.addresses == [proxy.address])
            let origin = try proxy.origin(answering: head("HTTP/1.1 204 None"))
            #expect(try proxy.client().get(origin.url()).status == 204)
        }
    }

    @Test func `a listener that asks for passwords from now on asks who is connected too`()
        async throws
    {
        let file = ["users": Array("ann:$2y$04$\(String(repeating: "a", count: 53))\n".utf8)]
        try await ProxyFixture.run(Self.one, files: file) { proxy in
            let origin = try proxy.origin(answering: head("HTTP/1.1 204 None"))
            let client = try proxy.client()
            #expect(try client.get(origin.url()).status == 204)
            let result = try await proxy.reload(
                "listen: [{address: 127.0.0.1:0, auth: {basic: {file: DIR/users}}}]"
            )
            #expect(result == .loaded(version: proxy.proxy.rulesVersion, warnings: []))
            #expect(try client.get(origin.url()).status == 407)
        }
    }
}
