// Two channels joined to each other, and how many bytes of a channel have not left yet.
import LupinIO
import LupinTestKit
import Testing

struct ChannelPairTests {
    @Test func `what one end sends the other receives, both ways`() async throws {
        try await LoopFixture.run { fixture in
            let (one, two) = try Channel.pair(on: fixture.loop)
            defer {
                one.close()
                two.close()
            }
            #expect(try one.send(text: "to two") == 6)
            #expect(try two.send(text: "to one") == 6)
            _ = try two.receive()
            _ = try one.receive()
            #expect(two.text == "to two")
            #expect(one.text == "to one")
        }
    }

    @Test func `a closed end is the end for the other`() async throws {
        try await LoopFixture.run { fixture in
            let (one, two) = try Channel.pair(on: fixture.loop)
            defer { two.close() }
            #expect(try one.send(text: "last") == 4)
            one.close()
            _ = try two.receive()
            #expect(two.take(4) == Array("last".utf8))
            await fixture.settle()
            #expect(try two.receive() == .end)
        }
    }

    @Test func `staged bytes are unsent until they have left`() async throws {
        try await LoopFixture.run { fixture in
            let (one, two) = try Channel.pair(on: fixture.loop)
            defer {
                one.close()
                two.close()
            }
            #expect(one.unsentCount == 0)
            one.stage { $0 += Array("abc".utf8) }
            one.stage { $0 += Array("de".utf8) }
            #expect(one.unsentCount == 5)
            #expect(try one.flush())
            #expect(one.unsentCount == 0)
        }
    }

    @Test func `what the kernel does not take stays unsent, and is counted`() async throws {
        try await LoopFixture.run { fixture in
            let (one, two) = try Channel.pair(on: fixture.loop)
            defer {
                one.close()
                two.close()
            }
            let count = 4 << 20
            one.stage { $0 += [UInt8](repeating: 1, count: count) }
            #expect(try !one.flush())
            let left = one.unsentCount
            #expect(left > 0 && left < count)
            #expect(UInt64(count - left) == one.bytesSent)
        }
    }
}
