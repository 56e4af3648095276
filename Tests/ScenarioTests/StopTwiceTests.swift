// Stopping a proxy that has stopped, or is about to.
import LupinProxy
import LupinTestKit
import Testing

struct StopTwiceTests {
    @Test(.timeLimit(.minutes(20)))
    func `a second stop comes back like the first`() async throws {
        try await ProxyFixture.run { proxy in
            await proxy.beginStopping().value
            let done = Bell()
            Task {
                await proxy.proxy.stop()
                done.ring()
            }
            #expect(done.wait())
        }
    }
}
