// The processes of a confined command: the one outside that stands for it, the first one inside,
// and the command without any privilege.
import CLinux
import Glibc
import LupinIO

extension Confinement {
    /// Runs a command in the namespaces that were entered, until it ends.
    ///
    /// - Parameters:
    ///   - words: The program and its arguments.
    ///   - view: What it sees of the file system.
    ///   - complain: Prints why the command can't be run.
    /// - Returns: Its exit code: 126 or 127 if it can't be run, 128 plus the signal that ended it.
    package static func run(
        _ words: [String],
        seeing view: ViewRequest,
        complain: (String) -> Void
    ) -> Int32 {
        let directory = currentFolder()
        let before = blockSignals()
        let terminal = ControllingTerminal()
        let isInFront = terminal?.isOurs ?? false
        var inputs: ConfinedInputs
        do throws(ConfinementProblem) {
            inputs = try ConfinedInputs(storage: view.storage)
        } catch {
            complain(error.message)
            return 126
        }
        let (life, first): (Life, Int32)
        do throws(SystemError) {
            life = try Life()
            first = try SystemCall.check { confine_fork() }
        } catch {
            complain("cannot run \(words[0]): \(error.message)")
            return 126
        }
        guard first == 0 else {
            // Else lupin would wait at its end as long as this process runs.
            close(socket)
            let code = supervise(first) { number, _, value in
                // What lies behind the terminal was continued there, and stays there.
                let isLent = number == SIGCONT && terminal?.isOurs == true
                _ = confine_send_signal(first, number, isLent ? 1 : value)
            }
            inputs.tellPositions()
            return code
        }
        // Without its outer half no process would wait for the command's end.
        _ = confine_end_with_parent()
        guard life.goesOnOutside() else { exit(126) }
        let isCovering: Bool
        do throws(ConfinementProblem) {
            isCovering = try mountFiles(view, in: directory)
        } catch {
            complain(error.message)
            exit(126)
        }
        inputs.findNames()
        let command = confine_fork()
        if command == 0 {
            // A group of its own: signals to the caller's group would leave the confinement.
            setpgid(0, 0)
            if isInFront { terminal?.bringToFront(getpid()) }
            begin(words, before, isCovering: isCovering, complain)
        }
        close(socket)
        guard command > 0 else { exit(126) }
        let code = supervise(command, at: terminal)
        inputs.tellPositions()
        exit(code)
    }

    /// Takes the ends of all processes inside, until the command ends; for the first one.
    /// - Returns: The command's exit code.
    private static func supervise(_ command: Int32, at terminal: ControllingTerminal?) -> Int32 {
        supervise(command, stopped: terminal == nil ? nil : { _ = kill(0, $0) }) {
            number,
            sender,
            value in
            // Only processes outside have no number here.
            guard sender == 0 else { return }
            let group = getpgid(command)
            if number == SIGCONT, value == 1 { terminal?.bringToFront(group) }
            _ = kill(number == SIGCONT || value == 1 ? -group : command, number)
        }
    }

    /// Ends this process with its parent.
    package static func endWithParent() { _ = confine_end_with_parent() }

    /// A pipe that the outer half holds open, whose end thus shows that it has ended.
    private struct Life {
        private var (inner, outer): (Int32, Int32) = (-1, -1)

        init() throws(SystemError) {
            // Safety: the call fills both numbers.
            try SystemCall.check { unsafe linux_pipe(&inner, &outer) }
        }

        /// Whether the outer half is still there; for the inner one.
        func goesOnOutside() -> Bool {
            close(outer)
            var byte: UInt8 = 0
            // Safety: read fills the one byte it is given.
            let count = SystemCall.value { unsafe read(inner, &byte, 1) }
            close(inner)
            return count == -Int(EAGAIN)
        }
    }

    // MARK: Signals and ends

    private static let forwarded = [
        SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGCONT,
    ]

    /// Blocks the signals that are waited for.
    /// - Returns: Those that were blocked before.
    private static func blockSignals() -> sigset_t {
        var (set, before) = (watched, sigset_t())
        // Safety: the first set is read, the second filled.
        unsafe pthread_sigmask(SIG_BLOCK, &set, &before)
        return before
    }

    private static var watched: sigset_t {
        var set = sigset_t()
        // Safety: both calls fill the set they are given.
        unsafe sigemptyset(&set)
        for number in forwarded + [SIGCHLD] { unsafe sigaddset(&set, number) }
        return set
    }

    /// Takes the ends of all children, until one ends.
    ///
    /// - Parameters:
    ///   - child: The one.
    ///   - stopped: Told by which signal the child was stopped.
    ///   - forward: Gets each signal, its sender (0 for one outside) and its value.
    /// - Returns: Its exit code.
    private static func supervise(
        _ child: Int32,
        stopped: ((Int32) -> Void)? = nil,
        forward: (_ number: Int32, _ sender: Int32, _ value: Int32) -> Void
    ) -> Int32 {
        var set = watched
        while true {
            if let code = reap(until: child, stopped) { return code }
            var (code, sender, value): (Int32, Int32, Int32) = (0, 0, 0)
            // Safety: the set is read, the integers filled.
            let number = unsafe confine_wait_for_signal(&set, &code, &sender, &value)
            // Codes above zero are the kernel's: the terminal was given to the command meanwhile.
            guard number > 0, number != SIGCHLD, code <= 0 else { continue }
            forward(number, sender, value)
        }
    }

    /// Takes the ends of children; returns the exit code of `child` if it is among them.
    private static func reap(until child: Int32, _ stopped: ((Int32) -> Void)?) -> Int32? {
        while true {
            var status: Int32 = 0
            // Safety: waitpid fills the integer it is given.
            let found = SystemCall.value { unsafe Int(waitpid(-1, &status, WNOHANG | WUNTRACED)) }
            guard found > 0 else { return found == -Int(ECHILD) ? 1 : nil }
            guard found == child else { continue }
            let signal = status & 0x7F
            guard signal != 0x7F else {
                stopped?((status >> 8) & 0xFF)
                continue
            }
            return signal == 0 ? (status >> 8) & 0xFF : 128 + signal
        }
    }

    // MARK: The command

    /// Becomes the command.
    private static func begin(
        _ words: [String],
        _ before: sigset_t,
        isCovering: Bool,
        _ complain: (String) -> Void
    ) -> Never {
        do throws(ConfinementProblem) {
            try disarm(isCovering: isCovering)
            try attempt("the watch on connections") { () throws(SystemError) in
                let isAsking = try ConnectWatch.begin(tellingAt: socket, isCovering: isCovering)
                if isAsking { return }
                complain("the kernel asks nobody about connections: no unix sockets but pairs")
            }
        } catch {
            complain(error.message)
            exit(126)
        }
        close(socket)
        var mask = before
        // Safety: the set is only read.
        unsafe pthread_sigmask(SIG_SETMASK, &mask, nil)
        become(words, complain)
    }

    /// Replaces this process by a program.
    static func become(_ words: [String], _ complain: (String) -> Void) -> Never {
        // Safety: strdup copies; the list ends with nil, and execvp reads it only.
        var arguments = unsafe words.map { unsafe strdup($0) } + [nil]
        let result = SystemCall.value { unsafe Int(execvp(words[0], &arguments)) }
        let error = SystemError(code: Int32(truncatingIfNeeded: -result))
        complain("cannot run \(words[0]): \(error.message)")
        exit(error.isAbsence ? 127 : 126)
    }

    /// Gives up every privilege, for this process and all that it starts.
    ///
    /// - Throws: What could not be given up.
    private static func disarm(isCovering: Bool) throws(ConfinementProblem) {
        try attempt("descriptors") { () throws(SystemError) in
            try SystemCall.check { confine_close_from(UInt32(socket + 1)) }
        }
        try attempt("privileges") { () throws(SystemError) in
            try SystemCall.check { confine_disarm_root() }
            // As many as the kernel has; the numbers end with EINVAL.
            for capability in 0..<Int32(64) where confine_drop_bound(capability) != 0 { break }
            try SystemCall.check { confine_drop_ambient() }
            try SystemCall.check { confine_drop_capabilities() }
            try SystemCall.check { confine_keep_unprivileged() }
        }
        // The kernel itself looks for keys in it. Some kernels and containers have none.
        try attempt("the session keyring") { () throws(SystemError) in
            do throws(SystemError) {
                try SystemCall.check { confine_renew_keyring() }
            } catch {
                guard error.code == ENOSYS || error.code == EPERM else { throw error }
            }
        }
        try attempt("the filter of system calls") { () throws(SystemError) in
            try CallFilter.forbid(isCovering: isCovering)
        }
    }

    private static func currentFolder() -> String {
        // Safety: getcwd returns memory of malloc's, which is copied and freed.
        guard let found = unsafe getcwd(nil, 0) else { return "/" }
        defer { unsafe free(found) }
        return unsafe String(cString: found)
    }
}
