// FIN before the response is complete: an abort in HTTP/1.1, a half-close in HTTP/1.0.
import LupinTestKit
import Testing

struct ClientLeavingTests {
    @Test func `FIN of an HTTP 1.1 client cancels its request`() async throws {
        try await ProxyFixture.run { proxy in
            let origin = try proxy.origin { connection in
                try connection.request()
                _ = try connection.waitForEnd()
            }
            let client = try proxy.client()
            try client.send("GET", origin.url())
            try eventually("the request at the origin") { origin.receivedText.contains("\r\n\r\n") }
            client.shutdownWrite()
            _ = try client.waitForEnd()
            try eventually("the end at the origin") { origin.connections[0].stream.end != nil }
            let record = try proxy.record()
            #expect(record["outcome"] == "aborted")
            #expect(record["http.response.status_code"] == nil)
        }
    }

    @Test func `a request pipelined behind does not hide the FIN`() async throws {
        try await ProxyFixture.run { proxy in
            let origin = try proxy.origin { connection in
                try connection.request()
                _ = try connection.waitForEnd()
            }
            let client = try proxy.client()
            try client.send("GET", origin.url())
            try client.send("GET", origin.url("/second"))
            try eventually("the request at the origin") { origin.receivedText.contains("\r\n\r\n") }
            client.shutdownWrite()
            try eventually("the end at the origin") { origin.connections[0].stream.end != nil }
            #expect(!origin.receivedText.contains("second"))
            #expect(try proxy.record()["outcome"] == "aborted")
        }
    }

    @Test func `FIN in the middle of the body cancels the request`() async throws {
        try await ProxyFixture.run { proxy in
            let origin = try proxy.origin { connection in
                _ = try connection.requestHead()
                _ = try connection.waitForEnd()
            }
            let client = try proxy.client()
            try client.send("POST", origin.url(), ["Content-Length: 10"])
            try client.send("hello")
            try eventually("the body at the origin") { origin.receivedText.hasSuffix("hello") }
            client.shutdownWrite()
            try eventually("the end at the origin") { origin.connections[0].stream.end != nil }
            #expect(try proxy.record()["outcome"] == "aborted")
        }
    }

    @Test func `an HTTP 1.0 client may close its side and wait`() async throws {
        try await ProxyFixture.run { proxy in
            let gate = Bell()
            let origin = try proxy.origin { connection in
                try connection.request()
                #expect(gate.wait())
                try connection.reply(body: "late")
            }
            let client = try proxy.client()
            try client.send(head("GET \(origin.url()) HTTP/1.0"))
            client.shutdownWrite()
            try eventually("the request at the origin") { origin.receivedText.contains("\r\n\r\n") }
            gate.ring()
            #expect(try client.response().bodyText == "late")
            #expect(try client.waitForEnd() == .finished)
            #expect(try proxy.record()["outcome"] == "ok")
        }
    }

    @Test func `FIN right behind an HTTP 1.0 request disturbs nothing`() async throws {
        try await ProxyFixture.run { proxy in
            // A connection without a request fails its script.
            let origin = try proxy.origin { connection in
                try connection.request()
                try connection.reply(200, "Connection: close", body: "ok")
            }
            for _ in 0..<20 {
                let client = try proxy.client()
                try client.send(head("GET \(origin.url()) HTTP/1.0"))
                client.shutdownWrite()
                #expect(try client.response().bodyText == "ok")
            }
            #expect(origin.connections.count == 20)
        }
    }

    @Test func `FIN after the last response is no abort`() async throws {
        try await ProxyFixture.run { proxy in
            let origin = try proxy.origin(answering: head("HTTP/1.1 204 None"))
            let client = try proxy.client()
            try client.get(origin.url())
            client.shutdownWrite()
            #expect(try client.waitForEnd() == .finished)
            #expect(try proxy.record()["outcome"] == "ok")
            #expect(proxy.recordsSoFar().count == 1)
        }
    }
}
