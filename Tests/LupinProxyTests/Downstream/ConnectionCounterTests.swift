// Whether connections are counted for whoever holds them, and warnings come once a minute.
import LupinProxy
import Testing

struct ConnectionCounterTests {
    @Test func `a warning comes once a minute, also where workers' clocks differ`() {
        let counter = ConnectionCounter()
        #expect(counter.mayWarn(now: 1_000_000))
        #expect(!counter.mayWarn(now: 999_000))
        #expect(!counter.mayWarn(now: 60_999_999))
        #expect(counter.mayWarn(now: 61_000_000))
        #expect(!counter.mayWarn(now: 60_000_000))
    }

    @Test func `one may have half of what the others leave`() {
        let counter = ConnectionCounter()
        for _ in 0..<10 { counter.opened() }
        for _ in 0..<6 { counter.hold(.user(1)) }
        let (held, allowed) = counter.share(of: .user(1), limit: 12)
        #expect(held == 6 && allowed == 4)
        counter.release(.user(1))
        #expect(counter.share(of: .user(1), limit: 12).held == 5)
        let other = counter.share(of: .user(2), limit: 12)
        #expect(other.held == 0 && other.allowed == 1)
    }
}
