// How long lupin waits for an origin, by a clock that the test moves.
import LupinTestKit
import Testing

struct OriginTimeoutTests {
    @Test func `no response in time is a 504`() async throws {
        let clock = VirtualClock()
        try await ProxyFixture.run("timeouts: {response_header: 60s}", clock: clock) { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            try client.send("GET", origin.url())
            let connection = try origin.accept()
            try connection.request()
            // Half a head is no response.
            try connection.send("HTTP/1.1 200 OK\r\n")
            try clock.advance(by: .milliseconds(59_900))
            #expect(!client.stream.socket.hasUnread)
            try clock.advance(by: .milliseconds(200))
            let response = try client.response()
            #expect(response.status == 504)
            #expect(response["Proxy-Status"]?.contains("error=http_response_timeout") == true)
            _ = try connection.waitForEnd()
            #expect(!origin.hasWaiting)
            // The client's connection is as good as before.
            try client.send("GET", origin.url())
            let fresh = try origin.accept()
            try fresh.request()
            try fresh.reply(body: "ok")
            #expect(try client.response().bodyText == "ok")
        }
    }

    @Test func `the wait for a response begins with the end of the upload`() async throws {
        let clock = VirtualClock()
        let rules = "timeouts: {response_header: 10s, idle: 60s}"
        try await ProxyFixture.run(rules, clock: clock) { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            try client.send("POST", origin.url(), ["Content-Length: 2"])
            let connection = try origin.accept()
            _ = try connection.requestHead()
            try clock.advance(by: .seconds(50))
            try client.send("ab")
            #expect(try connection.stream.text(2) == "ab")
            try clock.advance(by: .milliseconds(9900))
            #expect(!client.stream.socket.hasUnread)
            try clock.advance(by: .milliseconds(200))
            #expect(try client.response().status == 504)
        }
    }

    @Test(arguments: ["Content-Length: 9", "Transfer-Encoding: chunked", "Connection: close"])
    func `a body that stands still is cut and never ends cleanly`(framing: String) async throws {
        let clock = VirtualClock()
        try await ProxyFixture.run("timeouts: {idle: 30s}", clock: clock) { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            try client.send("GET", origin.url())
            let connection = try origin.accept()
            try connection.request()
            try connection.send("HTTP/1.1 200 OK\r\n\(framing)\r\n\r\n3\r\nabc\r\n")
            _ = try client.stream.head()
            _ = try client.stream.some()
            try clock.advance(by: .milliseconds(29_900))
            #expect(!client.stream.socket.isClosedByPeer)
            try clock.advance(by: .milliseconds(200))
            let (rest, end) = try client.stream.untilEnd()
            #expect(end == .finished)
            #expect(!String(decoding: rest, as: UTF8.self).hasSuffix("0\r\n\r\n"))
            _ = try connection.waitForEnd()
            let record = try proxy.record()
            #expect(record["outcome"] == "truncated")
            #expect(record["error.type"] == "connection_read_timeout")
        }
    }

    @Test func `a client that reads nothing is cut as well`() async throws {
        let clock = VirtualClock()
        try await ProxyFixture.run("timeouts: {idle: 30s}", clock: clock) { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client(receiveBuffer: 4096)
            try client.send("GET", origin.url())
            let connection = try origin.accept()
            try connection.request()
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n")
            try proxy.fill(connection.stream.socket)
            try clock.advance(by: .milliseconds(30_100))
            try connection.stream.socket.waitUntilClosedByPeer()
            #expect(try proxy.record()["outcome"] == "truncated")
        }
    }

    @Test func `total cuts a body however lively`() async throws {
        let clock = VirtualClock()
        try await ProxyFixture.run("timeouts: {total: 10s}", clock: clock) { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            try client.send("GET", origin.url())
            let connection = try origin.accept()
            try connection.request()
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n")
            _ = try client.stream.head()
            for _ in 0..<9 {
                try connection.send("x")
                _ = try client.stream.some()
                try clock.advance(by: .seconds(1))
            }
            #expect(!client.stream.socket.isClosedByPeer)
            try clock.advance(by: .milliseconds(1200))
            let (rest, end) = try client.stream.untilEnd()
            #expect(end == .finished)
            #expect(rest.count < 100 - 9)
        }
    }

    @Test func `total of a rule is a 504 before the head`() async throws {
        let clock = VirtualClock()
        let rules = "rules: [{name: hasty, match: 127.0.0.1, timeouts: {total: 2s}}]"
        try await ProxyFixture.run(rules, clock: clock) { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            try client.send("GET", origin.url())
            let connection = try origin.accept()
            try connection.request()
            try clock.advance(by: .milliseconds(1900))
            #expect(!client.stream.socket.hasUnread)
            try clock.advance(by: .milliseconds(200))
            let response = try client.response()
            #expect(response.status == 504)
            #expect(response.bodyText.contains("timeouts.total"))
            #expect(try proxy.record()["rules.matched.0"] == "hasty")
        }
    }

    @Test func `an idle connection of the pool goes after pool idle`() async throws {
        let clock = VirtualClock()
        let rules = "upstream: {pool: {idle: 20s}}"
        try await ProxyFixture.run(rules, clock: clock) { proxy in
            let origin = try PlayedOrigin()
            let (_, pooled) = try proxy.pooledConnection(to: origin)
            try clock.advance(by: .seconds(15))
            #expect(!pooled.stream.socket.isClosedByPeer)
            for _ in 0..<7 { try clock.advance(by: .seconds(1)) }
            #expect(try pooled.waitForEnd() == .finished)
        }
    }

    @Test func `a silent origin does not keep an expected body for ever`() async throws {
        let clock = VirtualClock()
        try await ProxyFixture.run("timeouts: {expect: 3s}", clock: clock) { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            try client.send(
                "POST",
                origin.url(),
                ["Content-Length: 4", "Expect: 100-continue"]
            )
            let connection = try origin.accept()
            #expect(try connection.requestHead()["Expect"] == "100-continue")
            try clock.advance(by: .milliseconds(2900))
            #expect(!client.stream.socket.hasUnread)
            try clock.advance(by: .milliseconds(200))
            #expect(try client.interimResponse().status == 100)
            try client.send("body")
            #expect(try connection.stream.text(4) == "body")
            try connection.reply(201)
            #expect(try client.response().status == 201)
        }
    }

    @Test(arguments: [false, true])
    func `a silent tunnel is cut after tunnel_idle`(isHalfClosed: Bool) async throws {
        let clock = VirtualClock()
        try await ProxyFixture.run("timeouts: {tunnel_idle: 1h}", clock: clock) { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            #expect(try client.connect(origin.authority).status == 200)
            let far = try origin.accept()
            try clock.advance(by: .seconds(3000))
            try far.send("x")
            #expect(try client.stream.text(1) == "x")
            if isHalfClosed {
                client.shutdownWrite()
                try far.stream.socket.waitUntilClosedByPeer()
            }
            try clock.advance(by: .seconds(3599))
            #expect(proxy.recordsSoFar().isEmpty)
            try clock.advance(by: .seconds(2))
            let record = try proxy.record()
            #expect(record["outcome"] == "truncated")
            #expect(record["error.type"] == "connection_read_timeout")
            _ = try client.stream.untilEnd()
            _ = try far.waitForEnd()
        }
    }
}
