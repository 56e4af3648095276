// What happened on another thread, in order, for a test that waits for it.
import LupinTestKit
import Synchronization

/// A list of words that any thread appends to.
final class EventLog: Sendable {
    private let words = Mutex<[String]>([])
    private let bell = Bell()

    var all: [String] { words.withLock { $0 } }

    func note(_ word: String) {
        words.withLock { $0.append(word) }
        bell.ring()
    }

    /// Waits until there are `count` words, or for the patience of a test.
    func wait(for count: Int) -> [String] {
        while all.count < count, bell.wait() {}
        return all
    }
}
