// Expect: 100-continue: who waits for whom, and for how long (RFC 9110 §10.1.1).
import LupinTestKit
import Testing

struct ExpectTests {
    @Test func `the body is asked for by the origin's 100`() async throws {
        try await ProxyFixture.run { proxy in
            let origin = try proxy.origin { connection in
                var request = try connection.requestHead()
                #expect(request["expect"] == "100-Continue")
                #expect(request["content-length"] == "5")
                try connection.send(head("HTTP/1.1 100 Continue"))
                try connection.stream.body(of: &request)
                try connection.reply(body: request.bodyText)
            }
            let client = try proxy.client()
            try client.send(
                "POST",
                origin.url(),
                ["Expect: 100-Continue", "Content-Length: 5"]
            )
            #expect(try client.interimResponse().status == 100)
            try client.send("hello")
            #expect(try client.response().bodyText == "hello")
            #expect(try proxy.record()["http.request.body.size"] == "5")
        }
    }

    @Test(arguments: [401, 413, 417])
    func `a final status before the body is delivered and the body never asked for`(
        status: Int
    ) async throws {
        try await ProxyFixture.run { proxy in
            let origin = try proxy.origin { connection in
                _ = try connection.requestHead()
                try connection.reply(status, body: "no")
            }
            let client = try proxy.client()
            try client.send(
                "PUT",
                origin.url(),
                ["Expect: 100-continue", "Content-Length: 5"]
            )
            let response = try client.response()
            #expect(response.interim.isEmpty)
            #expect(response.status == status)
            #expect(response["connection"] == "close")
            #expect(try client.waitForEnd() == .finished)
            #expect(try !origin.connection().receivedText.contains("hello"))
        }
    }

    @Test func `a silent origin gets the body after a second`() async throws {
        let clock = VirtualClock()
        try await ProxyFixture.run(clock: clock) { proxy in
            let origin = try proxy.origin { connection in
                let request = try connection.request()
                try connection.reply(body: request.bodyText)
            }
            let client = try proxy.client()
            try client.send(
                "PUT",
                origin.url(),
                ["Expect: 100-continue", "Content-Length: 5"]
            )
            try eventually("the head at the origin") { origin.receivedText.contains("\r\n\r\n") }
            try clock.advance(by: .milliseconds(900))
            #expect(!client.stream.socket.hasUnread)
            try proxy.advance(by: .milliseconds(100), until: "lupin's 100") {
                client.stream.socket.hasUnread
            }
            #expect(try client.interimResponse().status == 100)
            try client.send("hello")
            #expect(try client.response().bodyText == "hello")
        }
    }

    @Test func `a client that does not wait is not kept waiting`() async throws {
        // Nobody moves the clock: if lupin waited, it would be for ever.
        try await ProxyFixture.run(clock: VirtualClock()) { proxy in
            let origin = try proxy.origin { connection in
                let request = try connection.request()
                try connection.reply(body: request.bodyText)
            }
            let client = try proxy.client()
            try client.send("PUT", origin.url(), ["Expect: 100-continue"], body: "hello")
            #expect(try client.response().bodyText == "hello")
        }
    }

    @Test(arguments: ["100-continued", "100-continue, x", "magic"])
    func `an unknown expectation is a 417`(expectation: String) async throws {
        try await ProxyFixture.run { proxy in
            let origin = try proxy.origin { _ in }
            let client = try proxy.client()
            try client.send("PUT", origin.url(), ["Expect: \(expectation)"], body: "hello")
            #expect(try client.response().status == 417)
            #expect(origin.connections.isEmpty)
        }
    }

    @Test func `what HTTP 1.0 expects is ignored`() async throws {
        try await ProxyFixture.run { proxy in
            let origin = try proxy.origin { connection in
                let request = try connection.request()
                #expect(request["expect"] == nil)
                try connection.reply(body: request.bodyText)
            }
            let client = try proxy.client()
            try client.send(
                head("PUT \(origin.url()) HTTP/1.0", "Expect: 100-continue", "Content-Length: 2")
                    + "ok"
            )
            #expect(try client.response().bodyText == "ok")
        }
    }

    @Test func `a 100 that nobody asked for is passed on`() async throws {
        try await ProxyFixture.run { proxy in
            let origin = try proxy.origin(
                answering: head("HTTP/1.1 100 Continue") + head("HTTP/1.1 204 None")
            )
            let response = try proxy.client().get(origin.url())
            #expect(response.status == 204)
            #expect(response.interim.map(\.status) == [100])
        }
    }

    @Test func `two expectations become one`() async throws {
        try await ProxyFixture.run { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            let twice = ["Expect: 100-continue", "Expect: 100-Continue", "Content-Length: 4"]
            try client.send("POST", origin.url(), twice)
            let far = try origin.accept()
            #expect(try far.requestHead().values("Expect").count == 1)
            try far.send(head("HTTP/1.1 100 Continue"))
            #expect(try client.interimResponse().status == 100)
            try client.send("body")
            #expect(try far.stream.text(4) == "body")
            try far.reply(body: "fine")
            #expect(try client.response().bodyText == "fine")
        }
    }
}
