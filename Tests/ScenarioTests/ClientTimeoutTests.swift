// How long lupin waits for a client, by a clock that the test moves.
import LupinTestKit
import Testing

struct ClientTimeoutTests {
    @Test func `an idle connection is closed without a word`() async throws {
        let clock = VirtualClock()
        try await ProxyFixture.run("timeouts: {client_idle: 5s}", clock: clock) { proxy in
            let origin = try proxy.origin(answering: "HTTP/1.1 204 No Content\r\n\r\n")
            let fresh = try proxy.client()
            let used = try proxy.client()
            #expect(try used.get(origin.url()).status == 204)
            try clock.advance(by: .milliseconds(4900))
            #expect(try used.get(origin.url()).status == 204)
            #expect(!fresh.stream.socket.isClosedByPeer)
            // Who is idle is looked at once a second.
            try clock.advance(by: .seconds(1))
            try clock.advance(by: .seconds(1))
            #expect(try fresh.waitForEnd() == .finished)
            #expect(!used.stream.socket.isClosedByPeer)
            for _ in 0..<4 { try clock.advance(by: .seconds(1)) }
            #expect(try used.waitForEnd() == .finished)
            #expect(try proxy.records(2).count == 2)
        }
    }

    @Test(arguments: [false, true])
    func `dripping a head does not buy time`(isSecondRequest: Bool) async throws {
        let clock = VirtualClock()
        try await ProxyFixture.run("timeouts: {client_header: 10s}", clock: clock) { proxy in
            let origin = try proxy.origin(answering: "HTTP/1.1 204 No Content\r\n\r\n")
            let client = try proxy.client()
            if isSecondRequest {
                #expect(try client.get(origin.url()).status == 204)
                try clock.advance(by: .seconds(60))
            }
            for piece in ["GET http://a/ HT", "TP/1.1\r\n", "Host: a\r\n", "X: 1\r\n"] {
                try client.send(piece)
                #expect(!client.stream.socket.hasUnread)
                try clock.advance(by: .milliseconds(2490))
            }
            #expect(!client.stream.socket.hasUnread)
            try clock.advance(by: .milliseconds(40))
            let response = try client.response()
            #expect(response.status == 408)
            #expect(response["Connection"] == "close")
            client.close()
            let record = try proxy.records(isSecondRequest ? 2 : 1).last
            #expect(record?["outcome"] == "error")
            #expect(record?["error.type"] == "http_request_error")
        }
    }

    @Test func `a head in time is served however slow`() async throws {
        let clock = VirtualClock()
        try await ProxyFixture.run("timeouts: {client_header: 10s}", clock: clock) { proxy in
            let origin = try proxy.origin(answering: "HTTP/1.1 204 No Content\r\n\r\n")
            let client = try proxy.client()
            try client.send("GET \(origin.url()) HTTP/1.1\r\n")
            try clock.advance(by: .milliseconds(9900))
            try client.send("Host: a\r\n\r\n")
            #expect(try client.response().status == 204)
        }
    }

    @Test func `an upload below min_rate gets 408`() async throws {
        let clock = VirtualClock()
        try await ProxyFixture.run("timeouts: {min_rate: 10/s}", clock: clock) { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            try client.send("POST", origin.url(), ["Content-Length: 1000"])
            let connection = try origin.accept()
            _ = try connection.requestHead()
            // 300 bytes are due in each window of 30 s.
            try client.send([UInt8](repeating: 0x61, count: 300))
            _ = try connection.stream.bytes(300)
            try clock.advance(by: .seconds(30))
            #expect(!client.stream.socket.hasUnread)
            try client.send([UInt8](repeating: 0x61, count: 299))
            _ = try connection.stream.bytes(299)
            try clock.advance(by: .milliseconds(29_900))
            #expect(!client.stream.socket.hasUnread)
            try clock.advance(by: .milliseconds(200))
            #expect(try client.response().status == 408)
            _ = try connection.waitForEnd()
        }
    }

    @Test func `a client that stops in the middle of its body`() async throws {
        let clock = VirtualClock()
        try await ProxyFixture.run("timeouts: {idle: 20s}", clock: clock) { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            try client.send("POST", origin.url(), ["Content-Length: 10"])
            let connection = try origin.accept()
            _ = try connection.requestHead()
            try clock.advance(by: .seconds(15))
            try client.send("12345")
            _ = try connection.stream.bytes(5)
            try clock.advance(by: .milliseconds(19_900))
            #expect(!client.stream.socket.hasUnread)
            try clock.advance(by: .milliseconds(200))
            #expect(try client.response().status == 408)
            _ = try connection.waitForEnd()
        }
    }

    @Test func `an origin that stops taking a body`() async throws {
        let clock = VirtualClock()
        try await ProxyFixture.run("timeouts: {idle: 20s}", clock: clock) { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            try client.send("POST", origin.url(), ["Content-Length: 1000000000"])
            let connection = try origin.accept()
            _ = try connection.requestHead()
            try proxy.fill(client.stream.socket)
            try clock.advance(by: .milliseconds(20_100))
            let response = try client.response()
            #expect(response.status == 504)
            #expect(response["Proxy-Status"]?.contains("connection_write_timeout") == true)
        }
    }
}
