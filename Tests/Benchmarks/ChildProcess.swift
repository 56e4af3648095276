// How child processes are started, pinned, heard and ended, so that none outlives the benchmark.
import Foundation
import Synchronization

/// What went wrong around a child, in words for the user.
struct BenchError: Error, CustomStringConvertible {
    var description: String
    init(_ description: String) { self.description = description }
}

/// What is to be started.
struct Launch {
    var name: String
    var executable: String
    var arguments: [String] = []
    /// The processor it may run on.
    var core: Int?
    /// The whole environment: a proxy must not find another proxy in it.
    var environment: [String: String] = [:]
    /// Where standard output and standard error go; a pipe for output without one.
    var log: URL?
}

/// Children that run, for those who must end them in a hurry.
final class Children: Sendable {
    private struct State {
        var running: Set<Int32> = []
        var isInterrupted = false
    }

    private let state = Mutex(State())

    /// Whether the user wants the benchmark to end.
    var isInterrupted: Bool { state.withLock { $0.isInterrupted } }

    /// Ends every child; what waits for one sees its end and goes on to clean up.
    func interrupt() {
        let running = state.withLock { state in
            state.isInterrupted = true
            return state.running
        }
        for child in running { _ = kill(child, SIGTERM) }
    }

    func check() throws {
        if isInterrupted { throw BenchError("interrupted") }
    }

    fileprivate func add(_ child: Int32) { state.withLock { _ = $0.running.insert(child) } }
    fileprivate func remove(_ child: Int32) { state.withLock { _ = $0.running.remove(child) } }

    /// Waits, but not longer than until an interruption.
    func pause(_ seconds: Double) throws {
        let end = Date(timeIntervalSinceNow: seconds)
        repeat {
            try check()
            Thread.sleep(forTimeInterval: min(0.05, max(0, end.timeIntervalSinceNow)))
        } while end.timeIntervalSinceNow > 0
        try check()
    }
}

/// A running child, the leader of its own process group.
final class ChildProcess {
    let name: String
    private let process = Process()
    private let input = Pipe()
    private let output = Pipe()
    private let children: Children
    private var unread = Data()

    /// Programs of util-linux that start the others.
    static let tools = ["taskset", "setpriv"]

    /// How long a proxy may take to stop before it is killed; an emulator around it writes files.
    private static let graceSeconds = 10.0

    init(_ launch: Launch, among children: Children) throws {
        try children.check()
        name = launch.name
        self.children = children
        var words = [launch.executable] + launch.arguments
        if let core = launch.core { words = ["taskset", "-c", "\(core)"] + words }
        // The kernel ends the child if the benchmark itself is killed.
        words = ["setpriv", "--pdeathsig", "TERM"] + words
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = words
        process.environment = launch.environment
        process.standardInput = input
        if let log = launch.log {
            _ = FileManager.default.createFile(atPath: log.path, contents: nil)
            let file = try FileHandle(forWritingTo: log)
            process.standardOutput = file
            process.standardError = file
        } else {
            process.standardOutput = output
        }
        try process.run()
        children.add(identifier)
    }

    var identifier: Int32 { process.processIdentifier }
    var isRunning: Bool { process.isRunning }

    /// The next line of standard output.
    func readLine() throws -> String {
        while true {
            if let end = unread.firstIndex(of: UInt8(ascii: "\n")) {
                let line = String(decoding: unread[unread.startIndex..<end], as: UTF8.self)
                unread = Data(unread[(end + 1)...])
                return line
            }
            let more = output.fileHandleForReading.availableData
            try children.check()
            guard !more.isEmpty else { throw BenchError("\(name) ended too early") }
            unread.append(more)
        }
    }

    /// Ends standard input, which asks our own children to stop.
    func closeInput() { try? input.fileHandleForWriting.close() }

    /// Stops it, and whatever it has started in its group.
    func end() {
        closeInput()
        if process.isRunning { process.terminate() }
        let end = Date(timeIntervalSinceNow: Self.graceSeconds)
        while process.isRunning, end.timeIntervalSinceNow > 0 {
            Thread.sleep(forTimeInterval: 0.01)
        }
        _ = kill(-identifier, SIGKILL)
        process.waitUntilExit()
        children.remove(identifier)
    }
}
