// A confined command's signals and priorities reach nothing outside, and the terminal's job control
// works as with any command.
import Foundation
import LupinTestKit
import Testing

@Suite(
    .waitsForPrograms,
    .enabled(
        if: ConfinedFixture.isPossible && SmallInternet.has(RedirectionTests.python),
        "this machine gives users no namespaces"
    ),
    .timeLimit(.minutes(20))
)
struct ConfinedSignalTests {
    private static let python = RedirectionTests.python
    private let folder: Folder
    /// `lupin exec --confine …` up to the command.
    private let exec: [String]

    init() throws {
        folder = try Folder()
        let rules = try folder.write("lupin.yaml", "lupin: 1\nintercept: {mode: none}\n")
        exec = [
            Lupin.path, "exec", "--confine", "--rules", rules, "--log", "\(folder.path)/log",
            "--show", folder.path, "--",
        ]
    }

    /// Starts a command, and says which signals came to itself and whether its priority changed.
    private static let outside = #"""
        import os, signal, subprocess, sys
        got = []
        for number in set(signal.Signals) - {9, 17, 19}:
            signal.signal(number, lambda number, frame: got.append(number))
        signal.pthread_sigmask(signal.SIG_SETMASK, [])
        child = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL)
        try: code = child.wait(60)
        except subprocess.TimeoutExpired: child.kill(); code = "none"
        print("outside", got, os.getpriority(os.PRIO_PROCESS, 0), code)
        """#

    /// What a command that minds no signal can try one after the other.
    private static let attempts = #"""
        for number in set(signal.Signals) - {9, 17, 18, 19}: signal.signal(number, signal.SIG_IGN)
        def attempt(work):
            try: work()
            except OSError: pass
        def tell(*targets, by=os.kill):
            for target in targets:
                for number in [signal.SIGUSR2, signal.SIGTERM, signal.SIGHUP, signal.SIGINT]:
                    attempt(lambda: by(target, number))
        tell(0, 1, -1, os.getppid(), -os.getppid(), *range(2, 400))
        tell(0, os.getpgrp(), by=os.killpg)
        attempt(lambda: os.setpriority(os.PRIO_PGRP, 0, 19))
        attempt(lambda: os.setpriority(os.PRIO_USER, os.getuid(), 19))
        attempt(lambda: os.setpgid(0, os.getppid())); tell(0)
        print("tried all", flush=True)
        # Behind the command's end.
        os.fork() or (time.sleep(0.05), tell(0))
        """#

    /// What a command does: those of which it dies have nothing behind them.
    private static let commands = [
        attempts, "os.kill(0, signal.SIGUSR2)", "os.kill(0, signal.SIGTERM)",
        "os.kill(0, signal.SIGKILL)",
    ]

    /// With a terminal, and without.
    @Test(arguments: commands, [true, false])
    func `no signal and no priority gets out`(command: String, hasTerminal: Bool) throws {
        let code = "import os, signal, time\nsignal.signal(signal.SIGCONT, signal.SIG_DFL)\n"
        let words = [Self.python, "-c", Self.outside] + exec + [Self.python, "-c", code + command]
        let result =
            try hasTerminal
            ? Dialogue.run(words, [])
            : Lupin.run(program: "/usr/bin/setsid", ["--wait"] + words)
        let line = result.output.split(whereSeparator: \.isNewline).last { $0.hasPrefix("outside") }
        let found = try #require(line, "\(result.output) \(result.errors)")
        #expect(found.hasPrefix("outside [] 0 "), "\(found)")
        #expect(!found.hasSuffix("none"))
        if command == Self.attempts { #expect(result.output.contains("tried all")) }
    }

    @Test func `it leads a group of its own, and without a terminal no session of the caller's`()
        throws
    {
        let print = "import os; print(os.getpgrp() == os.getpid(), os.getsid(0))"
        let words = exec + [Self.python, "-c", print]
        let alone = try Lupin.run(program: words[0], Array(words.dropFirst()))
        // 0 stands for what is outside, lupin's outer half in this case.
        #expect(alone.output == "True 0\n", "\(alone.errors)")
        let inTerminal = try Dialogue.run(words, [])
        #expect(inTerminal.output.contains("True 0"), "\(inTerminal.errors)")
    }

    // MARK: What goes on working

    @Test func `Ctrl-C reaches the command once, and nothing else`() throws {
        let code = """
            import signal, sys, time
            got = []
            signal.signal(signal.SIGINT, lambda n, f: got.append(n))
            print("ready", flush=True)
            while not got: time.sleep(0.01)
            time.sleep(0.1)
            print("got", len(got)); sys.exit(7)
            """
        let words = [
            Self.python, "-c", Self.outside.replacing("stdin=subprocess.DEVNULL", with: ""),
        ]
        let result = try Dialogue.run(
            words + exec + [Self.python, "-c", code],
            [("ready", "^C")]
        )
        #expect(result.output.contains("got 1\r\n"), "\(result.output) \(result.errors)")
        #expect(result.output.contains("outside [] 0 7"), "\(result.output)")
    }

    @Test(arguments: ["TERM", "INT", "HUP", "QUIT", "USR1", "USR2"])
    func `a signal to lupin reaches the command once`(name: String) throws {
        let code = """
            import os, signal, sys, time
            got = []
            signal.signal(signal.SIG\(name), lambda n, f: got.append(n))
            print("ready", flush=True)
            while not got: time.sleep(0.01)
            time.sleep(0.05)
            sys.exit(40 + len(got))
            """
        let process = Lupin.process(
            exec[0],
            Array(exec.dropFirst()) + [Self.python, "-c", code],
            in: nil
        )
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        _ = try output.fileHandleForReading.read(upToCount: 6)
        let numbers = [
            "TERM": SIGTERM, "INT": SIGINT, "HUP": SIGHUP, "QUIT": SIGQUIT, "USR1": SIGUSR1,
            "USR2": SIGUSR2,
        ]
        kill(process.processIdentifier, numbers[name] ?? 0)
        process.waitUntilExit()
        #expect(process.terminationStatus == 41)
    }

    private static let shell = ["/usr/bin/bash", "--norc", "--noprofile", "-i"]
    private var line: String { exec.joined(separator: " ") }

    @Test func `Ctrl-Z stops it as a job of the shell, and fg gives it the terminal again`() throws
    {
        let code = try folder.write(
            "asks.py",
            "print('re' + 'ady', flush=True); print('it read', input())"
        )
        let result = try Dialogue.run(
            Self.shell,
            [
                ("bash-", "\(line) \(Self.python) \(code)\n"), ("ready", "^Z"),
                ("Stopped", "jobs; echo in the sh\"\"ell\n"), ("in the shell", "fg\n"),
                ("asks.py", "hello\n"), ("it read hello", "echo code $?\n"),
                ("code 0", "exit 3\n"),
            ]
        )
        #expect(result.output.hasSuffix("ended with 3\n"), "\(result.output) \(result.errors)")
    }

    @Test func `bg lets it go on, and it stops when it reads`() throws {
        let code = try folder.write(
            "asks.py",
            """
            import time
            print('re' + 'ady', flush=True); time.sleep(0.5)
            print('it read', input())
            """
        )
        let result = try Dialogue.run(
            Self.shell,
            [
                ("bash-", "\(line) \(Self.python) \(code)\n"), ("ready", "^Z"),
                ("Stopped", "bg; wait; echo in the sh\"\"ell; fg\n"), ("in the shell", "hello\n"),
                ("it read hello", "exit 3\n"),
            ]
        )
        #expect(result.output.hasSuffix("ended with 3\n"), "\(result.output) \(result.errors)")
    }

    @Test func `a shell inside has job control`() throws {
        let result = try Dialogue.run(
            exec + Self.shell,
            [
                ("bash-", "sh -c 'echo beg\"\"un; exec sleep 1000'\n"), ("begun", "^Z"),
                ("Stopped", "jobs\n"), ("sleep 1000", "kill %1; fg; echo re\"\"ady\n"),
                ("ready", "sh -c 'echo ag\"\"ain; exec sleep 1000'\n"), ("again", "^C"),
                ("bash-", "exit 5\n"),
            ]
        )
        #expect(!result.output.contains("no job control"))
        #expect(result.output.hasSuffix("ended with 5\n"), "\(result.output) \(result.errors)")
    }

    @Test func `a pipeline's other end reads keys, and Ctrl-C ends both`() throws {
        let reads = try folder.write(
            "reads.py",
            """
            import sys
            print(sys.stdin.readline().strip(), flush=True)
            print("key", open("/dev/tty").readline().strip(), flush=True)
            sys.stdin.read()
            """
        )
        // By `exec`: a shell that just starts its next program may lose a signal for it.
        let sleeps = #"sh -c 'echo re""ady; exec sleep 1000'"#
        let result = try Dialogue.run(
            Self.shell,
            [
                ("bash-", "\(line) \(sleeps) | \(Self.python) \(reads)\n"),
                ("ready", "x\n"), ("key x", "^C"), ("bash-", "exit 4\n"),
            ]
        )
        #expect(result.output.hasSuffix("ended with 4\n"), "\(result.output) \(result.errors)")
    }

    @Test func `a command behind a pipe gets the terminal when it asks`() throws {
        let code = try folder.write("asks.py", "print('it read', open('/dev/tty').readline())")
        let result = try Dialogue.run(
            Self.shell,
            [
                ("bash-", "echo | \(line) \(Self.python) \(code); echo re\"\"ady\n"),
                ("asks.py", "hello\n"), ("it read hello", ""), ("ready", "exit 6\n"),
            ]
        )
        #expect(result.output.hasSuffix("ended with 6\n"), "\(result.output) \(result.errors)")
    }
}
