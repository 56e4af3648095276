// A body that is all there already needs no further event to get to the other side.
import LupinIO
import LupinProxy
import LupinTestKit
import Testing

struct LongTurnTests {
    /// More than lupin moves before others get their turn, and little enough for the kernel to
    /// hold all of it: then no event tells of the rest.
    private static let bodyBytes = 1_300_000

    @Test func `a body that came at once goes on after its first turn`() async throws {
        let body = LongBody.bytes(Self.bodyBytes)
        try await ProxyFixture.run { proxy in
            let origin = try PlayedOrigin()
            var connection: OriginConnection?
            // The kernel's buffers grow by use: the first round only prepares the others.
            for round in 0..<8 {
                let client = try proxy.client()
                try client.send("GET", origin.url())
                let current = try connection ?? origin.accept()
                connection = current
                try current.request()
                let sent = round == 0 ? LongBody.bytes(16 << 20) : body
                let isSent = Bell()
                let answering = TestThread {
                    try current.send("HTTP/1.1 200 OK\r\nContent-Length: \(sent.count)\r\n\r\n")
                    try current.send(sent)
                    isSent.ring()
                }
                // The worker comes to it only when everything lies in its socket.
                if round > 0 {
                    proxy.proxy.executors[0].mailbox.post { _ = isSent.wait(.milliseconds(20)) }
                }
                #expect(try client.response().body == sent)
                try answering.join()
            }
        }
    }
}
