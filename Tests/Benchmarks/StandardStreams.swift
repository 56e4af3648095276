// How the processes of a benchmark speak to each other: lines on standard input and output.
import Foundation

/// Standard output without a buffer: a line is at its reader at once.
///
/// A reader that is gone is no reason to stop before the children have.
enum StandardOutput {
    static func print(_ line: String) {
        try? FileHandle.standardOutput.write(contentsOf: Data((line + "\n").utf8))
    }
}

/// Standard error, where progress goes while standard output may be a pipe.
enum StandardError {
    static func print(_ line: String) {
        try? FileHandle.standardError.write(contentsOf: Data((line + "\n").utf8))
    }
}

/// Standard input as a leash: a child ends when whoever started it does.
enum StandardInput {
    /// Runs `action` on another thread at the end of standard input.
    static func whenItEnds(_ action: @escaping @Sendable () -> Void) {
        Thread.detachNewThread {
            while !FileHandle.standardInput.availableData.isEmpty {}
            action()
        }
    }
}
