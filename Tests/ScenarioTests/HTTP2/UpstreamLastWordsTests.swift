// What an HTTP/2 origin said before its connection broke is not lost, although lupin found out by
// writing.

import LupinCore
import LupinProxy
import LupinTestKit
import Synchronization
import Testing

struct UpstreamLastWordsTests {
    @Test func `answers that lie unread when a write fails are delivered`() async throws {
        let interlude = Interlude()
        var hooks = Hooks()
        hooks.eventMonitors = [interlude]
        try await ProxyFixture.run(resolve: ProxyFixture.here, hooks: hooks) { proxy in
            let story = UpstreamStory(proxy: proxy, origin: try PlayedOrigin())
            let clients = try (0..<2).map { _ in try story.client() }
            let old = try story.served(by: clients[0])
            try clients[0].send("GET", story.url("/a"))
            let first = try old.request()
            try clients[1].send("GET", story.url("/b"))
            let second = try old.request()
            // The worker has read all there is, and has a PING to answer, when the rest comes.
            interlude.await {
                try? old.reply(to: second.stream, body: "b")
                old.frames.reset()
            }
            try old.frames.send(
                .ping("8 octets"),
                .headers(first.stream, [":status": "200", "content-length": "1"]),
                .data(first.stream, "a", end: true)
            )
            #expect(try clients[0].response().bodyText == "a")
            #expect(try clients[1].response().bodyText == "b")
            #expect(!story.origin.hasWaiting)
        }
    }
}

/// Has something happen on the worker's own thread, between a response's head and what follows.
private final class Interlude: EventMonitor {
    private let action = Mutex<(@Sendable () -> Void)?>(nil)

    func await(_ body: @Sendable @escaping () -> Void) { action.withLock { $0 = body } }

    func exchange(_ exchange: ExchangeMoment, didReceiveResponseWith status: UInt16) {
        let body = action.withLock { $0.take() }
        body?()
    }
}
