// How another program is started, and how it ended.
import CLinux
import Glibc

/// What program to start, and with which arguments, environment and streams.
package struct ChildLaunch: Sendable {
    /// A path, or a name to search for in PATH.
    package var program: String
    /// Without the program's own name.
    package var arguments: [String]
    /// `NAME=value` lines; the whole environment.
    package var environment: [String]
    /// A new file for standard output and standard error; nil inherits all three streams.
    ///
    /// With a file, standard input is empty, and no other descriptor is inherited.
    package var outputFile: String?
    /// Descriptors for standard output and standard error; standard input is /dev/null, and no
    /// other descriptor is inherited.
    package var outputDescriptors: (output: Int32, errors: Int32)?
    /// Descriptors that it gets in the place of streams that it would inherit.
    package var replacedStreams: [(descriptor: Int32, number: Int32)] = []
    /// Its working folder; nil for this process's.
    package var folder: String?
    /// A descriptor that it gets as ``passedNumber``; nil for none.
    package var passedDescriptor: Int32?
    package static let passedNumber: Int32 = 3
    /// Whether it leads its own process group, so that signals reach the group as a whole.
    package var leadsGroup = false
    /// Whether it is a job, as those of shells are: it leads its own process group, which is in
    /// front of the terminal while this process's would be; without a terminal it leads a session.
    package var isJob = false

    package init(_ program: String, _ arguments: [String], environment: [String]) {
        self.program = program
        self.arguments = arguments
        self.environment = environment
    }
}

/// A started program, confined to the thread that asks for its state.
package final class ChildProcess {
    /// What a child is doing.
    package enum State: Equatable, Sendable {
        case running
        /// By the signal of this number.
        case stopped(by: Int32)
        /// Its exit code; 128 plus the signal number if a signal ended it, as in shells.
        case ended(code: Int32)
    }

    package let identifier: Int32
    private let leadsGroup: Bool
    private let isJob: Bool
    /// Of a job.
    private let terminal: ControllingTerminal?
    /// Whether the terminal was given to the job.
    private var isLent = false
    private var ending: State?

    /// Starts a program with the signals that this process had before `ChildSignals.block`.
    /// - Throws: ENOENT when there is no such program, EACCES or ENOEXEC when it cannot be run.
    package init(_ launch: ChildLaunch, signals: SignalsBefore) throws(SystemError) {
        leadsGroup = launch.leadsGroup
        isJob = launch.isJob
        let terminal = launch.isJob ? ControllingTerminal() : nil
        self.terminal = terminal
        let isAlone = launch.isJob && terminal == nil
        identifier = try ChildProcess.spawn(launch, signals, inSession: isAlone)
        // Others of a pipeline may need it for keys; a job that does asks by its stop.
        if Terminal.isStandardInput, Terminal.isStandardOutput { lend() }
    }

    /// Its state now; never waits.
    package func state() -> State {
        if let ending { return ending }
        var status: Int32 = 0
        let child = identifier
        // Safety: waitpid fills the integer it is given.
        let found = SystemCall.value { unsafe Int(waitpid(child, &status, WNOHANG | WUNTRACED)) }
        guard found != 0 else { return .running }
        let signal = status & 0x7F
        let state: State
        if found < 0 {
            // Other code reaped the child, so its exit code is lost.
            state = .ended(code: 1)
        } else if status & 0xFF == 0x7F {
            return .stopped(by: (status >> 8) & 0xFF)
        } else if signal == 0 {
            state = .ended(code: (status >> 8) & 0xFF)
        } else {
            state = .ended(code: 128 + signal)
        }
        ending = state
        takeBack()
        return state
    }

    /// Sends a signal, unless the child has ended and its process ID may be reused.
    package func send(signal number: Int32) {
        guard ending == nil else { return }
        _ = kill(leadsGroup ? -identifier : identifier, number)
    }

    /// Passes on what the terminal sent to this process's group; a job's group got none of it.
    package func send(fromTerminal number: Int32) {
        guard isJob, ending == nil else { return }
        _ = confine_send_signal(identifier, number, 1)
    }

    /// Kills what is left of the group that the child led, including the child.
    package func killGroup() {
        guard leadsGroup else { return }
        _ = kill(-identifier, SIGKILL)
    }

    /// Stops this process as the child was stopped, and continues the child when it is continued.
    ///
    /// Only for a child in another group: within one the terminal stops both by itself.
    package func stopAlong(by signal: Int32) {
        guard !isJob else { return stopJob(by: signal) }
        let group = getpgid(identifier)
        guard group > 0, group != getpgrp() else { return }
        _ = kill(getpid(), SIGSTOP)
        _ = kill(-group, SIGCONT)
    }

    /// Stops this process's own job, unless the child only wants the terminal.
    private func stopJob(by signal: Int32) {
        let wantsTerminal = signal == SIGTTIN || signal == SIGTTOU
        if !wantsTerminal || terminal?.isOurs != true {
            takeBack()
            // The others of a pipeline stop, too; processes that merely started this one go on. The
            // kernel discards the signal where no shell could continue the process.
            _ = kill(getpgrp() == getpid() ? 0 : getpid(), SIGTSTP)
        }
        lend()
        _ = kill(identifier, SIGCONT)
    }

    /// Puts the job in front of the terminal, if this process's own is.
    private func lend() {
        guard terminal?.isOurs == true else { return }
        terminal?.bringToFront(identifier)
        isLent = true
    }

    private func takeBack() {
        guard isLent else { return }
        terminal?.bringToFront(getpgrp())
        isLent = false
    }

    private static func spawn(
        _ launch: ChildLaunch,
        _ signals: SignalsBefore,
        inSession: Bool
    ) throws(SystemError) -> Int32 {
        var attributes = posix_spawnattr_t()
        var actions = unsafe posix_spawn_file_actions_t()
        var mask = signals.mask
        var defaults = signals.defaults
        var (flags, inheritsAll) = (POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF, false)
        if inSession {
            flags |= LINUX_SPAWN_SESSION
        } else if launch.leadsGroup || launch.isJob {
            flags |= POSIX_SPAWN_SETPGROUP
        }
        // Safety: both are initialised here and destroyed below; the calls copy what they are
        // given.
        unsafe posix_spawnattr_init(&attributes)
        unsafe posix_spawn_file_actions_init(&actions)
        defer {
            unsafe posix_spawnattr_destroy(&attributes)
            unsafe posix_spawn_file_actions_destroy(&actions)
        }
        unsafe posix_spawnattr_setflags(&attributes, Int16(flags))
        unsafe posix_spawnattr_setsigmask(&attributes, &mask)
        unsafe posix_spawnattr_setsigdefault(&attributes, &defaults)
        if let folder = launch.folder { _ = unsafe linux_spawn_change_folder(&actions, folder) }
        if let file = launch.outputFile {
            let mode = O_WRONLY | O_CREAT | O_TRUNC
            unsafe posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
            unsafe posix_spawn_file_actions_addopen(&actions, 1, file, mode, 0o600)
            unsafe posix_spawn_file_actions_adddup2(&actions, 1, 2)
        } else if let descriptors = launch.outputDescriptors {
            unsafe posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
            unsafe posix_spawn_file_actions_adddup2(&actions, descriptors.output, 1)
            unsafe posix_spawn_file_actions_adddup2(&actions, descriptors.errors, 2)
        } else {
            for (descriptor, number) in launch.replacedStreams {
                unsafe posix_spawn_file_actions_adddup2(&actions, descriptor, number)
            }
            inheritsAll = true
        }
        if let passed = launch.passedDescriptor {
            unsafe posix_spawn_file_actions_adddup2(&actions, passed, ChildLaunch.passedNumber)
        }
        // A helper gets nothing of the program that lupin may be embedded in. Who inherits the
        // streams inherits what a shell opened for it, too.
        if !inheritsAll {
            let first = launch.passedDescriptor == nil ? 3 : ChildLaunch.passedNumber + 1
            _ = unsafe linux_spawn_close_from(&actions, first)
        }
        var arguments = unsafe copies(of: [launch.program] + launch.arguments)
        var environment = unsafe copies(of: launch.environment)
        defer {
            unsafe arguments.forEach { unsafe free($0) }
            unsafe environment.forEach { unsafe free($0) }
        }
        var child: pid_t = 0
        // Safety: both lists end with nil and, like all else, outlive the call.
        let code = unsafe posix_spawnp(
            &child,
            launch.program,
            &actions,
            &attributes,
            &arguments,
            &environment
        )
        guard code == 0 else { throw SystemError(code: code) }
        return child
    }

    /// C strings and a nil behind them; the caller frees them.
    private static func copies(of texts: [String]) -> [UnsafeMutablePointer<CChar>?] {
        // Safety: strdup copies the NUL-terminated form that lives for the call.
        unsafe texts.map { unsafe strdup($0) } + [nil]
    }
}

extension SystemError {
    /// There is no such file.
    package var isAbsence: Bool { code == ENOENT || code == ENOTDIR }

    /// The user may not.
    package var isDenial: Bool { code == EACCES }
}
