// What comes of a command that is run to its end: output, exit code, environment, time limit.
import Foundation
import LupinIO
import Testing

struct CommandRunTests {
    private func run(
        _ script: String,
        timeLimit: Duration = .seconds(20)
    ) throws -> CommandRun.Outcome {
        let commands = CommandRun(
            environment: ["PATH": "/usr/bin:/bin", "WORD": "a b"],
            timeLimit: timeLimit
        )
        return try commands.run("sh", ["-c", script])
    }

    @Test func `both streams and the exit code come back`() throws {
        let outcome = try run("echo \"$WORD\"; echo oops >&2; exit 7")
        #expect(outcome.output == "a b\noops\n")
        #expect(outcome.code == 7)
        #expect(!outcome.hasSucceeded && !outcome.hasTimedOut)
        #expect(try run(":").hasSucceeded)
    }

    @Test func `standard input is empty and no other variable is set`() throws {
        #expect(try run("cat; echo \"${HOME-none}\"").output == "none\n")
    }

    @Test func `it gets no descriptor of this process`() throws {
        // As other code of the process may open one.
        let pipe = Pipe()
        let number = pipe.fileHandleForWriting.fileDescriptor
        #expect(try run("test -e /dev/fd/\(number) && echo open; :").output == "")
        withExtendedLifetime(pipe) {}
    }

    @Test func `a signal is told as shells do`() throws {
        #expect(try run("kill -9 $$").code == 137)
    }

    @Test func `a program that takes too long is ended with all that it started`() throws {
        let script = "echo $$; sleep 600 & sleep 600"
        var limit = Duration.milliseconds(50)
        var outcome = try run(script, timeLimit: limit)
        // On a busy machine the shell may not have begun by then.
        while outcome.output.isEmpty, limit < .seconds(30) {
            limit *= 2
            outcome = try run(script, timeLimit: limit)
        }
        #expect(outcome.hasTimedOut && !outcome.hasSucceeded)
        let group = try #require(Int32(outcome.output.split(separator: "\n").first ?? ""))
        // What was killed is there until its new parent has looked.
        while kill(-group, 0) == 0 { sched_yield() }
        #expect(errno == ESRCH)
    }

    @Test func `a program that isn't there is an error`() {
        let commands = CommandRun(environment: ["PATH": "/nonexistent"])
        #expect(throws: SystemError(code: ENOENT)) {
            try commands.run("/nonexistent/program", [])
        }
    }
}
