// That a helper thread runs what it was given, in order, within its bounds, and ends when told to.

import LupinIO
import Synchronization
import Testing

struct HelperThreadTests {
    @Test func `jobs run in the order they were submitted`() throws {
        let thread = try HelperThread(name: "test", capacity: 10_000)
        let seen = Log()
        for i in 0..<5000 { #expect(thread.submit { seen.append(i) }) }
        thread.join()
        #expect(seen.values == Array(0..<5000))
    }

    @Test func `a full queue refuses a job instead of waiting`() throws {
        let thread = try HelperThread(name: "test", capacity: 2)
        let gate = Gate()
        let seen = Log()
        thread.submit { gate.wait() }
        gate.waitUntilSomebodyWaits()
        #expect(thread.submit { seen.append(1) })
        #expect(thread.submit { seen.append(2) })
        #expect(!thread.submit { seen.append(3) })
        gate.open()
        thread.join()
        #expect(seen.values == [1, 2])
    }

    @Test func `after join nothing is accepted and join may be called again`() throws {
        let thread = try HelperThread(name: "test", capacity: 2)
        thread.join()
        thread.join()
        thread.abandon()
        #expect(!thread.submit {})
    }

    @Test func `threads may end while they are abandoned`() throws {
        let count = Log()
        for i in 0..<2000 {
            let thread = try HelperThread(name: "test", capacity: 1)
            thread.submit { count.append(i) }
            thread.abandon()
        }
        #expect(count.values.count <= 2000)
    }

    @Test func `abandon drops what waits and does not wait for what runs`() throws {
        let thread = try HelperThread(name: "test", capacity: 2)
        let gate = Gate()
        let seen = Log()
        thread.submit { gate.wait() }
        gate.waitUntilSomebodyWaits()
        thread.submit { seen.append(1) }
        thread.abandon()
        #expect(!thread.submit { seen.append(2) })
        gate.open()
        #expect(seen.values == [])
    }

    @Test func `a sleeping thread wakes for every job`() throws {
        let thread = try HelperThread(name: "test", capacity: 2)
        for _ in 0..<200 {
            let gate = Gate()
            #expect(thread.submit { gate.wait() })
            gate.waitUntilSomebodyWaits()
            gate.open()
        }
        thread.join()
    }

    @Test func `many threads may submit at once`() async throws {
        let thread = try HelperThread(name: "test", capacity: 100_000)
        let seen = Log()
        await withTaskGroup(of: Void.self) { group in
            for i in 0..<8 {
                group.addTask { for j in 0..<500 { thread.submit { seen.append(i * 500 + j) } } }
            }
        }
        thread.join()
        #expect(seen.values.sorted() == Array(0..<4000))
    }

    @Test func `the last reference may go away on the thread itself`() throws {
        let gate = Gate()
        var thread: HelperThread? = try HelperThread(name: "test", capacity: 2)
        let box = Box(thread)
        thread?.submit {
            gate.wait()
            box.clear()
        }
        gate.waitUntilSomebodyWaits()
        thread = nil
        gate.open()
    }
}

/// Numbers that threads leave behind.
private final class Log: Sendable {
    private let numbers = Mutex<[Int]>([])
    var values: [Int] { numbers.withLock { $0 } }
    func append(_ number: Int) { numbers.withLock { $0.append(number) } }
}

/// Holds a thread up until it is opened.
private final class Gate: Sendable {
    private let isOpen = Atomic(false)
    private let isWaiting = Atomic(false)

    func wait() {
        isWaiting.store(true, ordering: .releasing)
        while !isOpen.load(ordering: .acquiring) { TailedFile.pause(milliseconds: 1) }
    }

    func waitUntilSomebodyWaits() {
        while !isWaiting.load(ordering: .acquiring) { TailedFile.pause(milliseconds: 1) }
    }

    func open() { isOpen.store(true, ordering: .releasing) }
}

private final class Box: Sendable {
    private let content: Mutex<HelperThread?>
    init(_ thread: HelperThread?) { content = Mutex(thread) }
    func clear() { content.withLock { $0 = nil } }
}
