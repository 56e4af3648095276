// A second thread for a test that sends and receives at once, and bytes that can be told apart.
import Glibc
import LupinIO
import Synchronization

/// Runs `body` on a thread of its own.
package final class TestThread: Sendable {
    private let thread: HelperThread?
    private let failure = Mutex<(any Error)?>(nil)

    package init(_ body: @escaping @Sendable () throws -> Void) {
        thread = try? HelperThread(name: "test-thread", capacity: 1)
        let isRunning = thread?.submit { [self] in
            do {
                try body()
            } catch {
                failure.withLock { $0 = error }
            }
        }
        if isRunning != true { failure.withLock { $0 = SocketFailure("no thread was to be had") } }
    }

    /// Waits for the end and throws what `body` threw.
    package func join() throws {
        thread?.join()
        if let error = failure.withLock({ $0 }) { throw error }
    }

    /// Takes the thread that calls it, and no other, into a new network (unshare(2), which Glibc's
    /// module lacks); returns false where that is not allowed.
    package static func leaveNetwork() -> Bool {
        // Safety: the C library has the function, and that is its type.
        guard let symbol = unsafe dlsym(nil, "unshare") else { return false }
        typealias Unshare = @convention(c) (CInt) -> CInt
        let unshare = unsafe unsafeBitCast(symbol, to: Unshare.self)
        let newNetwork: CInt = 0x4000_0000
        return unshare(newNetwork) == 0
    }
}

/// Bytes that depend on a seed and on their place: a lost, doubled or misplaced one shows.
package struct BytePattern {
    private var state: UInt64

    package init(_ seed: UInt64) { state = seed &* 0x9E37_79B9_7F4A_7C15 | 1 }

    /// The next `count` bytes; only the last piece may be no multiple of 8.
    package mutating func next(_ count: Int) -> [UInt8] {
        var words = [UInt64](repeating: 0, count: (count + 7) / 8)
        for i in words.indices {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            words[i] = state ^ state >> 29
        }
        // Safety: the bytes are copied while the words live.
        return unsafe words.withUnsafeBytes { unsafe Array($0.prefix(count)) }
    }
}

extension PlainSocket {
    private static let piece = 64 << 10

    /// Sends `count` bytes of a pattern.
    package func send(pattern seed: UInt64, count: Int) throws {
        var pattern = BytePattern(seed)
        var left = count
        while left > 0 {
            let size = min(left, Self.piece)
            try send(pattern.next(size))
            left -= size
        }
    }

    /// Receives `count` bytes, which must be those of the pattern.
    package func receive(pattern seed: UInt64, count: Int) throws {
        var pattern = BytePattern(seed)
        var left = count
        while left > 0 {
            let size = min(left, Self.piece)
            guard try receive(exactly: size) == pattern.next(size) else {
                throw SocketFailure("other bytes than those sent, \(count - left) bytes on")
            }
            left -= size
        }
    }
}

extension BytePattern {
    /// All bytes of a pattern up to `count`.
    package static func bytes(_ seed: UInt64, _ count: Int) -> [UInt8] {
        var pattern = BytePattern(seed)
        return pattern.next(count)
    }
}
