// Bytes that wait: all of them, in order, in blocks that go back when they are read.
import LupinIO
import LupinTestKit
import Testing

struct ByteQueueTests {
    /// Takes everything out, in pieces of `step` at most.
    private static func drain(_ queue: ByteQueue, by step: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        while !queue.isEmpty {
            let front = queue.front
            let count = min(step, front.count)
            for i in 0..<count { bytes.append(front[i]) }
            queue.discard(count)
        }
        return bytes
    }

    @Test func `an empty queue has nothing in front`() async throws {
        try await LoopFixture.run { fixture in
            let queue = ByteQueue(on: fixture.loop)
            #expect(queue.isEmpty)
            #expect(queue.front.count == 0)
            queue.append(Span())
            #expect(queue.isEmpty)
        }
    }

    @Test(arguments: [1, 7, 1000, 16_384, 100_000])
    func `bytes of many blocks come out as they went in`(step: Int) async throws {
        try await LoopFixture.run { fixture in
            let queue = ByteQueue(on: fixture.loop)
            defer { queue.removeAll() }
            let bytes = BytePattern.bytes(1, step == 1 ? 20_000 : 200_000)
            var start = 0
            while start < bytes.count {
                let end = min(bytes.count, start + 999)
                queue.append(bytes.span.extracting(start..<end))
                start = end
            }
            #expect(queue.count == bytes.count)
            #expect(Self.drain(queue, by: step) == bytes)
        }
    }

    @Test func `bytes may come while others go`() async throws {
        try await LoopFixture.run { fixture in
            let queue = ByteQueue(on: fixture.loop)
            defer { queue.removeAll() }
            let bytes = BytePattern.bytes(2, 300_000)
            var (sent, taken) = (0, [UInt8]())
            var turn = 0
            while taken.count < bytes.count {
                // Grows at first, and shrinks behind.
                let end = min(bytes.count, sent + 5000)
                queue.append(bytes.span.extracting(sent..<end))
                sent = end
                let front = queue.front
                let count = min(front.count, turn < 20 ? 3000 : 9000)
                for i in 0..<count { taken.append(front[i]) }
                queue.discard(count)
                #expect(queue.count == sent - taken.count)
                turn += 1
            }
            #expect(taken == bytes)
            #expect(queue.isEmpty)
        }
    }

    @Test func `what is thrown away is gone, and the queue goes on`() async throws {
        try await LoopFixture.run { fixture in
            let queue = ByteQueue(on: fixture.loop)
            let bytes = BytePattern.bytes(3, 50_000)
            queue.append(bytes.span)
            queue.discard(10)
            queue.removeAll()
            #expect(queue.isEmpty)
            #expect(queue.front.count == 0)
            queue.append(bytes.span.extracting(0..<5))
            #expect(Self.drain(queue, by: 5) == Array(bytes[..<5]))
        }
    }
}
