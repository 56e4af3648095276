// A program in a terminal of its own, which a script talks to as a person would.
import Foundation
import LupinTestKit
import Testing

/// A conversation with the program in the terminal, by Python, which has all that it takes.
enum Dialogue {
    /// Each step waits for a text, and types another.
    ///
    /// A `^` and a letter is a control character.
    private static let script = #"""
        import json, os, pty, re, select, signal, sys, time
        steps, words = json.loads(sys.argv[1]), sys.argv[2:]
        pid, terminal = pty.fork()
        if pid == 0:
            signal.pthread_sigmask(signal.SIG_SETMASK, [])
            os.execv(words[0], words)
        said, place = b"", 0
        def hear():
            global said
            if not select.select([terminal], [], [], 30)[0]: give_up("it hangs")
            try: part = os.read(terminal, 65536)
            except OSError: part = b""
            said += part
            return part
        def give_up(why):
            os.kill(pid, signal.SIGKILL)
            sys.exit(f"{why}: {said.decode(errors='replace')}")
        for wanted, typed in steps:
            while said.find(wanted.encode(), place) < 0:
                if not hear(): give_up(f"no {wanted!r}")
            place = said.find(wanted.encode(), place) + len(wanted)
            typed = re.sub(r"\^([A-Z])", lambda found: chr(ord(found[1]) - 64), typed)
            os.write(terminal, typed.encode())
        while hear(): pass
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        sys.stdout.write(said.decode(errors="replace") + f"\nended with {status}\n")
        """#

    /// What stood in the terminal, and then `ended with CODE`.
    static func run(_ words: [String], _ steps: [(String, String)]) throws -> Lupin.Result {
        let list = try JSONSerialization.data(withJSONObject: steps.map { [$0.0, $0.1] })
        return try Lupin.run(
            program: RedirectionTests.python,
            ["-c", script, String(decoding: list, as: UTF8.self)] + words
        )
    }
}
