// A program that a test starts, hears and waits for.
import CLinux
import Foundation
import Glibc
import LupinIO
import Synchronization

/// A program as Foundation's `Process` would start it, with the same words for the same things.
///
/// `Process` of Swift 6.3 copies 256 bytes of each name in /proc/self/fd, however short the name
/// and near the end of what it read: with more than some 1,300 descriptors it crashes. It also
/// passes the caller's blocked signals on, with which a child would be safe from those that it
/// forgot to block itself.
final class ChildProgram {
    let path: String
    var arguments: [String]
    /// Its whole environment; nil for this process's.
    var environment: [String: String]?
    /// Nil for this process's.
    var workingFolder: String?
    var standardInput: any ChildStream = FileHandle.standardInput
    var standardOutput: any ChildStream = FileHandle.standardOutput
    var standardError: any ChildStream = FileHandle.standardError
    /// 0 before it runs.
    private(set) var processIdentifier: Int32 = 0
    /// What waitpid(2) told of its end.
    private var ending: Int32?

    /// Children of values that are gone; whoever starts the next one reaps those that ended.
    private static let abandoned = Mutex<[Int32]>([])

    init(_ path: String, _ arguments: [String]) {
        self.path = path
        self.arguments = arguments
    }

    deinit {
        guard processIdentifier > 0, ending == nil else { return }
        Self.abandoned.withLock { $0.append(processIdentifier) }
    }

    /// Starts it in a process group of its own, with no signal blocked or ignored, and with no
    /// descriptors but the three.
    /// - Throws: what posix_spawn(3) says.
    func run() throws(SystemError) {
        Self.abandoned.withLock { $0.removeAll { Self.ending(of: $0, WNOHANG) != nil } }
        var attributes = posix_spawnattr_t()
        var actions = unsafe posix_spawn_file_actions_t()
        var (none, all) = (sigset_t(), sigset_t())
        let flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP
        // Safety: all are initialised here, and both destroyed below; the calls copy what they get.
        unsafe sigemptyset(&none)
        unsafe sigfillset(&all)
        unsafe posix_spawnattr_init(&attributes)
        unsafe posix_spawn_file_actions_init(&actions)
        defer {
            unsafe posix_spawnattr_destroy(&attributes)
            unsafe posix_spawn_file_actions_destroy(&actions)
        }
        unsafe posix_spawnattr_setflags(&attributes, Int16(flags))
        unsafe posix_spawnattr_setsigmask(&attributes, &none)
        unsafe posix_spawnattr_setsigdefault(&attributes, &all)
        if let workingFolder { _ = unsafe linux_spawn_change_folder(&actions, workingFolder) }
        let streams = [standardInput, standardOutput, standardError]
        for (number, stream) in streams.enumerated() {
            let number = Int32(number)
            let handle = stream.end(isInput: number == 0)
            if handle === FileHandle.nullDevice {
                unsafe posix_spawn_file_actions_addopen(&actions, number, "/dev/null", O_RDWR, 0)
            } else {
                unsafe posix_spawn_file_actions_adddup2(&actions, handle.fileDescriptor, number)
            }
        }
        _ = unsafe linux_spawn_close_from(&actions, 3)
        let variables = environment ?? ProcessInfo.processInfo.environment
        var words = unsafe Self.copies(of: [path] + arguments)
        var lines = unsafe Self.copies(of: variables.map { "\($0)=\($1)" })
        defer {
            unsafe words.forEach { unsafe free($0) }
            unsafe lines.forEach { unsafe free($0) }
        }
        var child: pid_t = 0
        // Safety: both lists end with nil and, like all else, outlive the call.
        let code = unsafe posix_spawn(&child, path, &actions, &attributes, &words, &lines)
        guard code == 0 else { throw SystemError(code: code) }
        processIdentifier = child
        // A pipe ends when the child closes its end.
        for (number, stream) in streams.enumerated() where stream is Pipe {
            try? stream.end(isInput: number == 0).close()
        }
    }

    var isRunning: Bool {
        if processIdentifier > 0, ending == nil {
            ending = Self.ending(of: processIdentifier, WNOHANG)
        }
        return processIdentifier > 0 && ending == nil
    }

    func waitUntilExit() {
        if ending == nil { ending = Self.ending(of: processIdentifier, 0) }
    }

    /// Its exit code, or the number of the signal that ended it.
    var terminationStatus: Int32 {
        let status = ending ?? 0
        return status & 0x7F == 0 ? (status >> 8) & 0xFF : status & 0x7F
    }

    /// What waitpid(2) tells of a child's end; nil while it runs.
    private static func ending(of child: Int32, _ options: Int32) -> Int32? {
        var status: Int32 = 0
        var found: pid_t
        // Safety: waitpid fills the integer it is given.
        repeat { found = unsafe waitpid(child, &status, options) } while found < 0 && errno == EINTR
        return found == 0 ? nil : status
    }

    /// C strings and a nil behind them; the caller frees them.
    private static func copies(of texts: [String]) -> [UnsafeMutablePointer<CChar>?] {
        // Safety: strdup copies the NUL-terminated form that lives for the call.
        unsafe texts.map { unsafe strdup($0) } + [nil]
    }
}

/// What a child gets in the place of a standard stream.
protocol ChildStream {
    /// The child's end of it.
    func end(isInput: Bool) -> FileHandle
}

extension FileHandle: ChildStream {
    func end(isInput: Bool) -> FileHandle { self }
}

extension Pipe: ChildStream {
    func end(isInput: Bool) -> FileHandle { isInput ? fileHandleForReading : fileHandleForWriting }
}
