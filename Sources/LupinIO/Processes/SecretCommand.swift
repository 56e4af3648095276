// Runs a program that prints a secret: the output never reaches a disk or a log.
import CLinux
import Glibc
import LupinCore

/// A program that prints one secret on its standard output.
///
/// Its standard input is empty, and its output and standard error stay in memory.
package struct SecretCommand: Sendable {
    /// The result of a run.
    package enum Outcome: Sendable, Equatable {
        case output([UInt8])
        /// Its exit code, 128 plus the signal number if a signal ended it, and the beginning of its
        /// standard error.
        case failed(code: Int32, errors: [UInt8])
        case timedOut
        /// It printed more than `bytesMax`.
        case tooLong
    }

    /// The time between two checks of the child grows up to this.
    private static let pauseMillisecondsMax: Int32 = 20
    /// How much of its standard error is kept.
    private static let errorBytesMax = 4096
    /// Beyond this, the memory of what is not kept is given back.
    private static let errorBytesHeldMax = 1 << 20

    private let arguments: [String]
    private let environment: [String]
    private let folder: String?
    private let timeLimit: Duration
    private let bytesMax: Int

    /// - Parameters:
    ///   - arguments: The program and its arguments; never empty.
    ///   - environment: Its whole environment.
    ///   - folder: Where it runs; nil for this process's working folder.
    ///   - timeLimit: How long it may run.
    ///   - bytesMax: The longest output.
    package init(
        _ arguments: [String],
        environment: [String: String],
        in folder: String? = nil,
        timeLimit: Duration,
        bytesMax: Int
    ) {
        precondition(!arguments.isEmpty, "a command without a program")
        self.arguments = arguments
        self.environment = environment.map { "\($0.key)=\($0.value)" }.sorted()
        self.folder = folder
        self.timeLimit = timeLimit
        self.bytesMax = bytesMax
    }

    /// Runs the program and waits for its end; it blocks.
    ///
    /// A program that exceeds the time limit is killed together with all that it started.
    /// - Throws: Why it can't be started.
    package func run() throws(SystemError) -> Outcome {
        let memory = Descriptor(owning: try SystemCall.check { linux_memory_file() })
        var launch = ChildLaunch(
            arguments[0],
            Array(arguments.dropFirst()),
            environment: environment
        )
        launch.folder = folder
        let errors = Descriptor(owning: try SystemCall.check { linux_memory_file() })
        launch.outputDescriptors = (memory.raw, errors.raw)
        launch.leadsGroup = true
        let child = try ChildProcess(launch, signals: .ofAnyProgram)
        // Processes that it started and left behind are killed too.
        defer { child.killGroup() }
        let deadline = SystemCall.monotonicMicroseconds() &+ timeLimit.boundedMicroseconds
        var pause: Int32 = 1
        while true {
            if case .ended(let code) = child.state() {
                if code == 0 { return content(of: memory) }
                return .failed(code: code, errors: beginning(of: errors, Self.errorBytesMax))
            }
            if size(of: errors) > Self.errorBytesHeldMax {
                // What follows is written behind a gap.
                _ = ftruncate(errors.raw, off_t(Self.errorBytesMax))
            }
            let isTooLong = size(of: memory) > bytesMax
            if isTooLong || SystemCall.monotonicMicroseconds() >= deadline {
                child.killGroup()
                while case .running = child.state() { TailedFile.pause(milliseconds: 1) }
                return isTooLong ? .tooLong : .timedOut
            }
            TailedFile.pause(milliseconds: pause)
            pause = min(pause * 2, Self.pauseMillisecondsMax)
        }
    }

    private func size(of memory: borrowing Descriptor) -> Int {
        var status = stat()
        // Safety: fstat fills the struct it is given.
        guard unsafe fstat(memory.raw, &status) == 0 else { return 0 }
        return Int(status.st_size)
    }

    private func content(of memory: borrowing Descriptor) -> Outcome {
        let count = size(of: memory)
        return count <= bytesMax ? .output(beginning(of: memory, count)) : .tooLong
    }

    private func beginning(of memory: borrowing Descriptor, _ bytesMax: Int) -> [UInt8] {
        let count = min(size(of: memory), bytesMax)
        var bytes = [UInt8](repeating: 0, count: count)
        let descriptor = memory.raw
        // Safety: the kernel writes at most `count` bytes into the array of that size.
        let read = unsafe bytes.withUnsafeMutableBytes {
            unsafe pread(descriptor, $0.baseAddress, count, 0)
        }
        return Array(bytes.prefix(max(0, read)))
    }
}
