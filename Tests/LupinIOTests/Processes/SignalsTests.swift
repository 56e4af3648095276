// That a signal becomes an event of the loop.
import Glibc
import LupinIO
import LupinTestKit
import Testing

struct SignalsTests {
    @Test func `a signal raised on the loop's thread is read there`() async throws {
        try await LoopFixture.run { fixture in
            // A loop's thread has all signals blocked, and `raise` is for the calling thread only:
            // no other thread of the tests can be hit.
            let reader = try SignalReader([.user1, .hangUp], on: fixture.loop)
            raise(ProcessSignal.user1.rawValue)
            #expect(await reader.next() == .user1)
            let waiting = fixture.start { await reader.next() }
            await fixture.settle()
            raise(ProcessSignal.hangUp.rawValue)
            #expect(try await waiting.value == .hangUp)
        }
    }
}
