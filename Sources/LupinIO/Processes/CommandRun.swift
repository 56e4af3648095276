// Runs a small command to its end, within a time limit, and returns its output and exit code.
import CLinux
import Glibc
import LupinCore

/// Runs programs without interaction, for their effect or output.
package struct CommandRun: Sendable {
    /// The result of a run.
    package struct Outcome: Sendable {
        /// Its exit code; 128 plus the signal number if a signal ended it.
        package let code: Int32
        /// What it wrote to standard output and standard error.
        package let output: String
        package let hasTimedOut: Bool

        package var hasSucceeded: Bool { code == 0 && !hasTimedOut }
    }

    /// Output beyond this is dropped.
    private static let outputBytesMax = 4 << 20
    /// The time between two checks of the child grows up to this.
    private static let pauseMillisecondsMax: Int32 = 20

    private let environment: [String]
    private let temporaryFolder: String
    private let timeLimit: Duration

    /// - Parameters:
    ///   - environment: The whole environment of the programs.
    ///   - timeLimit: How long each may run.
    package init(environment: [String: String], timeLimit: Duration = .seconds(120)) {
        self.environment = environment.map { "\($0.key)=\($0.value)" }.sorted()
        let folder = environment["TMPDIR"] ?? ""
        temporaryFolder = folder.hasPrefix("/") ? folder : "/tmp"
        self.timeLimit = timeLimit
    }

    /// Runs a program with empty standard input and waits for its end.
    ///
    /// A program that exceeds the time limit is killed together with all that it started.
    /// - Parameters:
    /// - program: A path, or a name to search for in PATH.
    ///   - arguments: Without the program's own name.
    /// - Returns: Its outcome.
    /// - Throws: Why it can't be started.
    package func run(
        _ program: String,
        _ arguments: [String]
    ) throws(SystemError) -> Outcome {
        let folder = try PrivateFolder(in: temporaryFolder)
        let file = "\(folder.path)/output"
        var launch = ChildLaunch(program, arguments, environment: environment)
        launch.outputFile = file
        launch.leadsGroup = true
        let child = try ChildProcess(launch, signals: .ofAnyProgram)
        let deadline = SystemCall.monotonicMicroseconds() &+ timeLimit.boundedMicroseconds
        var pause: Int32 = 1
        while true {
            if case .ended(let code) = child.state() {
                return outcome(code, file, hasTimedOut: false)
            }
            if SystemCall.monotonicMicroseconds() >= deadline { break }
            TailedFile.pause(milliseconds: pause)
            pause = min(pause * 2, Self.pauseMillisecondsMax)
        }
        child.killGroup()
        while case .running = child.state() { TailedFile.pause(milliseconds: 1) }
        return outcome(128 + SIGKILL, file, hasTimedOut: true)
    }

    private func outcome(_ code: Int32, _ file: String, hasTimedOut: Bool) -> Outcome {
        let bytes = WholeFile.content(of: file, bytesMax: Self.outputBytesMax) ?? []
        let output = String(decoding: bytes, as: UTF8.self)
        return Outcome(code: code, output: output, hasTimedOut: hasTimedOut)
    }
}

extension SignalsBefore {
    /// The signal state that programs expect: none is blocked, and a broken pipe ends them.
    ///
    /// This process has another one.
    package static var ofAnyProgram: SignalsBefore {
        var (none, pipe) = (sigset_t(), sigset_t())
        // Safety: the calls fill the sets they are given.
        unsafe sigemptyset(&none)
        unsafe sigemptyset(&pipe)
        unsafe sigaddset(&pipe, SIGPIPE)
        return SignalsBefore(mask: none, defaults: pipe)
    }
}
