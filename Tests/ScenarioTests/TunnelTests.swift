// CONNECT: bytes both ways, unseen, until both sides are done (RFC 9110 §9.3.6).
import LupinIO
import LupinTestKit
import Testing

struct TunnelTests {
    @Test func `one side may end before the other`() async throws {
        try await ProxyFixture.run { proxy in
            let origin = try PlayedOrigin()
            for clientEndsFirst in [true, false] {
                let client = try proxy.client()
                #expect(try client.connect(origin.authority).status == 200)
                let far = try origin.accept()
                let near = client.stream.socket
                let other = far.stream.socket
                let (first, second) = clientEndsFirst ? (near, other) : (other, near)
                try first.send("all of it")
                first.shutdownWrite()
                #expect(try second.receive(exactly: 9) == Array("all of it".utf8))
                try second.waitUntilClosedByPeer()
                try second.send("an answer to that")
                #expect(try first.receive(exactly: 17) == Array("an answer to that".utf8))
                #expect(!first.isClosedByPeer)
                second.shutdownWrite()
                #expect(try first.receiveUntilEOF().isEmpty)
                let record = try proxy.records(clientEndsFirst ? 1 : 2).last
                #expect(record?["outcome"] == "ok")
                #expect(record?["tunnel.closed_by"] == (clientEndsFirst ? "client" : "upstream"))
                #expect(record?["tunnel.sent"] == (clientEndsFirst ? "9" : "17"))
                #expect(record?["tunnel.received"] == (clientEndsFirst ? "17" : "9"))
            }
        }
    }

    @Test func `much goes both ways at once`() async throws {
        try await ProxyFixture.run { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            #expect(try client.connect(origin.authority).status == 200)
            let far = try origin.accept().stream.socket
            let near = client.stream.socket
            let count = 8 << 20
            let sends = [(near, UInt64(1)), (far, UInt64(2))].map { socket, seed in
                TestThread {
                    try socket.send(pattern: seed, count: count)
                    socket.shutdownWrite()
                }
            }
            let upward = TestThread { try far.receive(pattern: 1, count: count) }
            try near.receive(pattern: 2, count: count)
            for thread in sends + [upward] { try thread.join() }
            let record = try proxy.record()
            #expect(record["tunnel.sent"] == "\(count)")
            #expect(record["tunnel.received"] == "\(count)")
            #expect(record["outcome"] == "ok")
            #expect(try #require(record.number("bytes.upstream_out")) == Double(count))
            #expect(try #require(record.number("bytes.upstream_in")) == Double(count))
            #expect(try #require(record.number("bytes.client_in")) > Double(count))
        }
    }

    @Test func `RST of the client passes on`() async throws {
        try await ProxyFixture.run { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            #expect(try client.connect(origin.authority).status == 200)
            let far = try origin.accept()
            try client.send("half a mess")
            #expect(try far.stream.text(11) == "half a mess")
            client.reset()
            #expect(try far.waitForEnd() == .reset)
            #expect(try proxy.record()["outcome"] == "aborted")
        }
    }

    @Test(arguments: [true, false])
    func `RST of the target passes on`(isHalfClosed: Bool) async throws {
        try await ProxyFixture.run { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            #expect(try client.connect(origin.authority).status == 200)
            let far = try origin.accept()
            if isHalfClosed {
                client.shutdownWrite()
                try far.stream.socket.waitUntilClosedByPeer()
            }
            far.reset()
            #expect(try client.stream.untilEnd().end == .reset)
            let record = try proxy.record()
            #expect(record["outcome"] == "truncated")
            // Who closed is who was the first to.
            #expect(record["tunnel.closed_by"] == (isHalfClosed ? "client" : "upstream"))
        }
    }

    @Test func `a refused target is a 502 to the CONNECT`() async throws {
        try await ProxyFixture.run { proxy in
            let origin = try PlayedOrigin()
            origin.close()
            let client = try proxy.client()
            try client.send("CONNECT", origin.authority)
            let response = try client.response()
            #expect(response.status == 502)
            #expect(response["Proxy-Status"]?.contains("error=connection_refused") == true)
            let record = try proxy.record()
            #expect(record["mode"] == "tunnel")
            #expect(record["url.port"] == "\(origin.address.port)")
            #expect(try client.waitForEnd() == .finished)
        }
    }

    @Test func `bytes right behind the CONNECT are the tunnel's`() async throws {
        try await ProxyFixture.run { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            try client.send(
                "CONNECT \(origin.authority) HTTP/1.1\r\nHost: \(origin.authority)\r\n\r\nhello"
            )
            let far = try origin.accept()
            #expect(try far.stream.text(5) == "hello")
            #expect(try client.response(to: "CONNECT").status == 200)
            try far.send("hello yourself")
            #expect(try client.stream.text(14) == "hello yourself")
        }
    }

    @Test func `a client that leaves takes the tunnel along`() async throws {
        try await ProxyFixture.run { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            #expect(try client.connect(origin.authority).status == 200)
            let far = try origin.accept()
            client.close()
            #expect(try far.waitForEnd() == .finished)
            // FIN of a tunnel's client only ends one direction; the next byte finds nobody.
            try far.send("x")
            try eventually("the end of the tunnel") {
                (try? far.send("x")) == nil || far.stream.socket.isClosedByPeer
            }
            far.close()
            _ = try proxy.record()
        }
    }
}
