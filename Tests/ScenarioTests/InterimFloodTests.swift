// Interim responses without end: they cost the origin its exchange, not lupin its memory.
import LupinTestKit
import Testing

struct InterimFloodTests {
    @Test func `an origin that never comes to the final response is given up`() async throws {
        try await ProxyFixture.run { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client(receiveBuffer: 4096)
            try client.send("GET", origin.url())
            let connection = try origin.accept()
            try connection.request()
            let hints = head("HTTP/1.1 103 Early Hints", "X: " + String(repeating: "y", count: 999))
            let flood = String(repeating: hints, count: 64)
            var sent = 0
            // The client reads nothing meanwhile.
            while sent < 16 << 20, (try? connection.send(flood)) != nil {
                sent += flood.utf8.count
            }
            #expect(sent < 16 << 20, "all of it was taken")
            let record = try proxy.record()
            #expect(record["error.type"] == "http_protocol_error")
            #expect(record["attempts.0.retry.decision"] != "retry")
        }
    }
}
