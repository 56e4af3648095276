// Bodies that are sent again after a 401, clients that leave meanwhile, and a stop.
import Foundation
import LupinTestKit
import Testing

struct TokenReplayTests {
    @Test func `a body of 200 KiB comes twice byte by byte the same`() async throws {
        let server = try TokenServer()
        defer { server.stop() }
        try await ProxyFixture.run(TokenRefreshTests.rules(server)) { proxy in
            let accepted = Accepted(["t2"])
            let origin = try proxy.guardedOrigin(accepted)
            let body = BytePattern.bytes(7, 200 << 10).map { 0x61 + $0 % 26 }
            let client = try proxy.client()
            try client.send(
                "POST",
                origin.url("/api/a"),
                ["Content-Length: \(body.count)"]
            )
            try client.send(body)
            let response = try client.response(to: "POST")
            #expect(response.status == 200)
            // A difference of this length would take for ever to print.
            let isSame = response.body == body
            #expect(isSame)
            #expect(accepted.asked == 2)
            let record = try proxy.record()
            #expect(record["http.request.body.size"] == "\(body.count)")
            #expect(record["http.request.resend_count"] == "1")
        }
    }

    @Test func `a chunked body with trailers comes twice the same`() async throws {
        let server = try TokenServer()
        defer { server.stop() }
        try await ProxyFixture.run(TokenRefreshTests.rules(server)) { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            try client.send(
                head(
                    "POST \(origin.url("/api/a")) HTTP/1.1",
                    "Host: \(origin.authority)",
                    "Transfer-Encoding: chunked",
                    "Trailer: X-Sum"
                ) + "5\r\nhello\r\n6\r\n world\r\n0\r\nX-Sum: 11\r\n\r\n"
            )
            let connection = try origin.accept()
            for round in 1...2 {
                let request = try connection.request()
                #expect(request["authorization"] == "Bearer t\(round)")
                #expect(request.bodyText == "hello world")
                #expect(request.trailer("x-sum") == "11")
                try connection.reply(round == 1 ? 401 : 200, body: "\(round)")
            }
            #expect(try client.response(to: "POST").bodyText == "2")
        }
    }

    @Test func `a body that is too long to keep leaves the client its 401`() async throws {
        let server = try TokenServer()
        defer { server.stop() }
        try await ProxyFixture.run(TokenRefreshTests.rules(server)) { proxy in
            let accepted = Accepted(["t2"])
            let origin = try proxy.guardedOrigin(accepted, refusal: "no")
            let client = try proxy.client()
            let count = 300 << 10
            try client.send("POST", origin.url("/api/a"), ["Content-Length: \(count)"])
            try client.send(BytePattern.bytes(1, count))
            let response = try client.response(to: "POST")
            #expect(response.status == 401)
            #expect(response.bodyText == "no")
            #expect(accepted.asked == 1)
            let record = try proxy.record()
            #expect(record["attempts.0.decision"] == "deliver")
            #expect(record["attempts.0.reason"] == "the body was not kept")
            // The next one has it better.
            #expect(try proxy.client().get(origin.url("/api/b")).status == 200)
        }
    }

    @Test func `a 401 in the middle of an upload is cured and the rest follows`() async throws {
        let server = try TokenServer()
        defer { server.stop() }
        try await ProxyFixture.run(TokenRefreshTests.rules(server)) { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            let body = BytePattern.bytes(3, 120 << 10)
            try client.send("PUT", origin.url("/api/a"), ["Content-Length: \(body.count)"])
            try client.send(Array(body[..<(50 << 10)]))
            let first = try origin.accept()
            _ = try first.requestHead()
            try first.reply(401, body: "early")
            let second = try origin.accept()
            let request = try second.requestHead()
            #expect(request["authorization"] == "Bearer t2")
            try client.send(Array(body[(50 << 10)...]))
            #expect(try second.stream.bytes(body.count) == body)
            try second.reply(body: "done")
            #expect(try client.response(to: "PUT").bodyText == "done")
            #expect(try proxy.record()["http.request.body.size"] == "\(body.count)")
        }
    }

    @Test func `an upload that outgrows the replay during the refresh leaves the 401`()
        async throws
    {
        let gate = Bell()
        let server = try TokenServer()
        defer { server.stop() }
        try await ProxyFixture.run(TokenRefreshTests.rules(server)) { proxy in
            let origin = try PlayedOrigin()
            // The first token comes at once, the second when the gate opens.
            let refused = try proxy.client()
            try refused.send("GET", origin.url("/api/warm"))
            let warm = try origin.accept()
            try warm.request()
            try warm.reply(body: "warm")
            try refused.response()
            server.change { $0.gate = gate }
            #expect(server.asked.wait())
            let client = try proxy.client()
            let count = 600 << 10
            try client.send("POST", origin.url("/api/a"), ["Content-Length: \(count)"])
            try client.send(BytePattern.bytes(1, 10 << 10))
            _ = try warm.requestHead()
            // Longer than what is held back, so that the connection stays.
            let page = String(repeating: "x", count: 200 << 10)
            try warm.send(
                head("HTTP/1.1 401 No", "Content-Length: \(page.utf8.count)")
                    + String(page.prefix(100 << 10))
            )
            #expect(server.asked.wait())
            let sender = TestThread {
                try client.send(Array(BytePattern.bytes(1, count).dropFirst(10 << 10)))
            }
            _ = try warm.stream.bytes(count)
            gate.ring()
            try warm.send(String(page.dropFirst(100 << 10)))
            let response = try client.response(to: "POST")
            #expect(response.status == 401)
            #expect(response.bodyText == page)
            try sender.join()
            #expect(try proxy.records(2)[1]["attempts.0.reason"] == "the body was not kept")
        }
    }

    @Test func `a kept body survives a connection that breaks in the second attempt`()
        async throws
    {
        let server = try TokenServer()
        defer { server.stop() }
        // So slow that the second attempt has sent but a part of it.
        let rules = TokenRefreshTests.rules(server)
            .replacing("[{auth: me}]", with: "[{auth: me}], throttle: {up: 64KiB/s}")
        try await ProxyFixture.run(rules, clock: VirtualClock()) { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            let body = BytePattern.bytes(9, 200 << 10)
            try client.send("PUT", origin.url("/api/a"), ["Content-Length: \(body.count)"])
            try client.send(body)
            let first = try origin.accept()
            _ = try first.requestHead()
            try receive(body, on: first, proxy)
            try first.reply(401, body: "no")
            let second = try first.requestHead()
            #expect(second["authorization"] == "Bearer t2")
            try proxy.settle()
            first.reset()
            let third = try origin.accept()
            let request = try third.requestHead()
            #expect(request.method == "PUT")
            #expect(request["authorization"] == "Bearer t2")
            try receive(body, on: third, proxy)
            try third.reply(body: "whole")
            #expect(try client.response(to: "PUT").bodyText == "whole")
        }
    }

    /// Reads a body while time moves, and compares it.
    private func receive(
        _ body: [UInt8],
        on connection: OriginConnection,
        _ proxy: ProxyFixture
    ) throws {
        let bell = Bell()
        let reading = TestThread {
            defer { bell.ring() }
            guard try connection.stream.bytes(body.count) == body else {
                throw SocketFailure("other bytes than those sent")
            }
        }
        try proxy.advance(by: .milliseconds(100), until: "the body") {
            bell.wait(.milliseconds(1))
        }
        try reading.join()
    }

    @Test func `who asks first may send Expect, and the body still comes once`() async throws {
        let server = try TokenServer()
        defer { server.stop() }
        try await ProxyFixture.run(TokenRefreshTests.rules(server)) { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            try client.send(
                "POST",
                origin.url("/api/a"),
                ["Expect: 100-continue", "Content-Length: 4"]
            )
            let first = try origin.accept()
            _ = try first.requestHead()
            try first.reply(401, body: "no")
            let second = try origin.accept()
            #expect(try second.requestHead()["authorization"] == "Bearer t2")
            try second.send(head("HTTP/1.1 100 Continue"))
            #expect(try client.interimResponse().status == 100)
            try client.send("ping")
            #expect(try second.stream.text(4) == "ping")
            try second.reply(body: "pong")
            #expect(try client.response(to: "POST").bodyText == "pong")
        }
    }

    @Test func `a client that leaves while it waits takes nothing with it`() async throws {
        let gate = Bell()
        let server = try TokenServer(life: 3600, gate: gate)
        defer { server.stop() }
        try await ProxyFixture.run(TokenRefreshTests.rules(server)) { proxy in
            let accepted = Accepted(["t1"])
            let origin = try proxy.guardedOrigin(accepted)
            let client = try proxy.client()
            try client.send("GET", origin.url("/api/a"))
            #expect(server.asked.wait())
            client.close()
            #expect(try proxy.record()["outcome"] == "aborted")
            gate.ring()
            #expect(try proxy.client().get(origin.url("/api/b")).status == 200)
            #expect(server.count == 1)
            #expect(accepted.asked == 1)
        }
    }

    @Test func `a refresh that runs at the stop is finished and kept`() async throws {
        let gate = Bell()
        let server = try TokenServer(life: 3600, rotates: true, gate: gate)
        defer { server.stop() }
        let folder = try Folder()
        let file = folder.path + "/store.json"
        try await ProxyFixture.run(TokenRotationTests.rules(server, store: file)) { proxy in
            let client = try proxy.client()
            try client.send("GET", "http://127.0.0.1:1/api/a")
            #expect(server.asked.wait())
            client.close()
            _ = try proxy.record()
            proxy.beginStopping()
            try proxy.settle()
            gate.ring()
        }
        let text = try String(contentsOfFile: file, encoding: .utf8)
        #expect(text.contains(#""refresh_token": "r1""#))
    }
}
