// Moves record lines from the workers to their destination: one queue, one thread.

package import Logging
package import LupinCore
package import LupinIO
import Synchronization

/// The one owner of the record log: takes chunks of finished lines from all workers and writes them
/// on its own thread.
///
/// It never makes a worker wait: when more than `queueBytesMax` bytes are queued, lines are
/// dropped, and the next written line reports their number.
package final class RecordWriter: Sendable {
    /// Bytes that may wait for the thread.
    ///
    /// Beyond this, lines are dropped.
    package static let queueBytesMax = 8 << 20
    /// Chunks that may wait; a chunk has 64 KiB under load and at least one line.
    private static let queueChunksMax = 16384

    /// Finished lines, and the numbers to count if they are lost.
    package struct Chunk: Sendable {
        package var bytes: [UInt8]
        package var lines: Int
        /// Lost lines that these lines report; they count again if these are lost.
        package var announced: Int
    }

    private let thread: HelperThread
    private let output: Mutex<RecordOutput>
    private let logger: Logger
    private let queueBytesMax: Int
    private let lastAttempts: Int
    private let queuedBytes = Atomic(0)
    private let droppedLines = Atomic(0)
    private let droppedTotal = Atomic(0)
    private let isClosing = Atomic(false)

    /// Opens the destination of `settings` and starts the thread.
    ///
    /// - Parameters:
    ///   - settings: The destination, and how files are rotated.
    ///   - logger: Receives lupin's own diagnostics when the destination fails.
    ///   - queueBytesMax: Bytes that may wait for the thread.
    ///   - lastAttempts: How often, at `close`, a destination that takes no bytes is tried again,
    ///     100 ms each.
    /// - Throws: The error of opening the file or starting the thread.
    package init(
        _ settings: LogSettings,
        logger: Logger,
        queueBytesMax: Int = RecordWriter.queueBytesMax,
        lastAttempts: Int = 10
    ) throws(SystemError) {
        self.logger = logger
        self.queueBytesMax = queueBytesMax
        self.lastAttempts = lastAttempts
        output = Mutex(try RecordOutput(settings))
        do throws(HelperThread.CannotStart) {
            thread = try HelperThread(name: "lupin-records", capacity: Self.queueChunksMax)
        } catch {
            throw SystemError(code: error.code)
        }
    }

    /// Closes the file and opens it again, after it was moved away (SIGUSR1).
    ///
    /// Lines queued before go to the old file.
    package func reopen() {
        thread.submit { self.report { output throws(SystemError) in try output.reopen() } }
    }

    /// Whether the destination of `settings` can be opened.
    /// - Throws: The error of opening it.
    package static func probe(_ settings: LogSettings) throws(SystemError) {
        _ = try RecordOutput(settings)
    }

    /// Switches to another destination after a reload.
    ///
    /// When that can't be opened, the error is reported and the old one is kept.
    package func change(to settings: LogSettings) {
        thread.submit {
            self.report { output throws(SystemError) in try output.change(to: settings) }
        }
    }

    /// Writes all lines handed over so far and ends the thread.
    ///
    /// Gives up after about a second on a destination that takes no bytes. Flush the sinks first.
    package func close() {
        isClosing.store(true, ordering: .relaxed)
        thread.join()
        let lost = takeDropped()
        if lost > 0 { logger.error("\(lost) records were lost because the log took no more") }
    }

    /// Hands lines over; never blocks.
    package func submit(_ chunk: Chunk) {
        let size = chunk.bytes.count
        let queued = queuedBytes.add(size, ordering: .relaxed).newValue
        if queued <= queueBytesMax, thread.submit({ self.write(chunk) }) { return }
        queuedBytes.subtract(size, ordering: .relaxed)
        drop(chunk.lines, announced: chunk.announced)
    }

    /// Waits until everything handed over so far has been written; for tests and for commands that
    /// end at once.
    ///
    /// Never call it on a loop.
    package func drain() {
        while queuedBytes.load(ordering: .acquiring) > 0 { TailedFile.pause(milliseconds: 1) }
    }

    /// Returns the number of lines lost since the last call, for the report in the next line.
    package func takeDropped() -> Int {
        if droppedLines.load(ordering: .relaxed) == 0 { return 0 }
        return droppedLines.exchange(0, ordering: .relaxed)
    }

    /// The number of all lines lost so far.
    package var dropped: Int { droppedTotal.load(ordering: .relaxed) }

    private func drop(_ lines: Int, announced: Int) {
        droppedTotal.add(lines, ordering: .relaxed)
        droppedLines.add(lines + announced, ordering: .relaxed)
    }

    private func write(_ chunk: Chunk) {
        var attempts = 0
        let result = output.withLock { output in
            output.write(chunk.bytes.span) {
                attempts += isClosing.load(ordering: .relaxed) ? 1 : 0
                return attempts < lastAttempts
            }
        }
        // Losing the first line loses the number that it announced. The lost line may be a later
        // one; then a number is reported twice rather than never.
        if result.lostLines > 0 { drop(result.lostLines, announced: chunk.announced) }
        if let message = result.message { logger.error("\(message)") }
        queuedBytes.subtract(chunk.bytes.count, ordering: .releasing)
    }

    private func report(
        _ change: (inout sending RecordOutput) throws(SystemError) -> Void
    ) {
        do throws(SystemError) {
            try output.withLock { output throws(SystemError) in try change(&output) }
        } catch {
            logger.error("cannot open the record log: \(error.message); going on as before")
        }
    }
}
