// A queue of bytes that is never empty remembers no more than what waits in it.
import LupinIO
import LupinTestKit
import Testing

struct ByteQueueMemoryTests {
    @Test(arguments: [1, 3, 40])
    func `ten thousand blocks go through it and leave no place behind`(waiting: Int)
        async throws
    {
        try await LoopFixture.run { fixture in
            let queue = ByteQueue(on: fixture.loop)
            defer { queue.removeAll() }
            let block = [UInt8](repeating: 7, count: InputBuffer.capacity)
            for _ in 0..<waiting { queue.append(block.span) }
            var slots = 0
            for _ in 0..<10_000 {
                queue.append(block.span)
                queue.discard(queue.front.count)
                slots = max(slots, queue.slots)
            }
            #expect(queue.count == waiting * InputBuffer.capacity)
            #expect(slots <= 2 * waiting + 32)
        }
    }
}
