// In which order letters are opened, and on which thread.
import LupinIO
import LupinTestKit
import Synchronization
import Testing

struct MailboxTests {
    @Test func `letters are opened at home in the order in which they were posted`() throws {
        let fixture = try LoopFixture()
        defer { fixture.stop() }
        let opened = Mutex<[Int]>([])
        let away = Atomic(0)
        let bell = Bell()
        for i in 0..<1000 {
            fixture.executor.mailbox.post { [executor = fixture.executor] in
                if !executor.isHome { away.add(1, ordering: .relaxed) }
                opened.withLock { $0.append(i) }
                if i == 999 { bell.ring() }
            }
        }
        #expect(bell.wait())
        #expect(opened.withLock { $0 } == Array(0..<1000))
        #expect(away.load(ordering: .relaxed) == 0)
    }

    @Test func `a letter that a letter posts is opened in a later batch`() throws {
        let fixture = try LoopFixture()
        defer { fixture.stop() }
        let events = EventLog()
        let mailbox = fixture.executor.mailbox
        mailbox.post {
            mailbox.post { events.note("inner") }
            events.note("outer")
        }
        #expect(events.wait(for: 2) == ["outer", "inner"])
    }

    @Test func `a ring alone wakes the loop and opens nothing`() throws {
        let fixture = try LoopFixture()
        defer { fixture.stop() }
        let events = EventLog()
        for _ in 0..<10 { fixture.executor.mailbox.ring() }
        fixture.executor.mailbox.post { events.note("letter") }
        #expect(events.wait(for: 1) == ["letter"])
    }

    @Test func `the letters of several threads all arrive`() throws {
        let fixture = try LoopFixture()
        defer { fixture.stop() }
        let count = Atomic(0)
        let bell = Bell()
        let threads = try (0..<4).map { try HelperThread(name: "test-\($0)", capacity: 8) }
        for thread in threads {
            thread.submit { [mailbox = fixture.executor.mailbox] in
                for _ in 0..<250 {
                    mailbox.post {
                        if count.add(1, ordering: .relaxed).newValue == 1000 { bell.ring() }
                    }
                }
            }
        }
        for thread in threads { thread.join() }
        #expect(bell.wait())
    }
}
