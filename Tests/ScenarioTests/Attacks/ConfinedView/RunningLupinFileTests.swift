// That no confined command begins where it could come to change what a running lupin reads.
import Foundation
import LupinIO
import LupinTestKit
import Testing

@Suite(
    .waitsForPrograms,
    .enabled(if: ConfinedFixture.isPossible, "this machine gives users no namespaces")
)
struct RunningLupinFileTests {
    /// Rules of a lupin that runs; `DIR` is a folder of its own, `WORK` that of the command.
    private static let files: [(name: String, rules: String)] = [
        ("token", "tokens: {t: {bearer: \"${file:WORK/token}\"}}"),
        ("list", "rules: [{match: {host: {file: WORK/list}}, respond: {status: 403}}]"),
        ("jar.txt", "rules: [{match: a.test, cookies: {jar: WORK/jar.txt}}]"),
        ("log", "log: {to: WORK/log}"), ("log", "log: {to: WORK/log, rotate: {size: 0}}"),
        ("admin.sock", "admin: {socket: WORK/admin.sock}"),
        ("capture", "capture: {path: WORK/capture}\nrules: [{match: a.test, capture: true}]"),
        ("store", "cache: {store: {path: WORK/store}}"),
        ("ca.key", "intercept: {ca: {cert: DIR/ca.pem, key: WORK/ca.key}}"),
        ("link", "tokens: {t: {bearer: \"${file:WORK/link}\"}}"),
        ("token", "tokens: {t: {bearer: \"${file:WORK/folder/token}\"}}"),
        ("token", "tokens: {t: {bearer: \"${file:DIR/to-work/token}\"}}"),
    ]

    /// The folder of the command, and beside it that of a lupin that runs.
    private struct Fixture {
        let work: Folder
        let path: String
        let other = try? Folder()

        init() throws {
            work = try Folder()
            path = try #require(PublicFile.target(of: work.path))
            for name in ["token", "list"] {
                try WholeFile.write(Array("planted.test\n".utf8), to: "\(path)/\(name)")
            }
            let manager = FileManager.default
            for (name, target) in [("link", "token"), ("folder", ".")] {
                try manager.createSymbolicLink(
                    atPath: "\(path)/\(name)",
                    withDestinationPath: target
                )
            }
            try manager.createSymbolicLink(
                atPath: "\(try #require(other).path)/to-work",
                withDestinationPath: path
            )
        }

        func confined(_ options: [String] = [], _ words: String...) throws -> Lupin.Result {
            let rules = try #require(other).write(
                "own.yaml",
                "lupin: 1\nintercept: {mode: none}\n"
            )
            let common = ["exec", "--confine", "--rules", rules, "--log", "/dev/null"]
            return try Lupin.run(common + options + ["--"] + words, in: path)
        }

        func running(_ rules: String, in folder: String? = nil) throws -> RunningLupin {
            let other = try #require(other).path
            let text = "lupin: 1\nlisten: [{address: \"127.0.0.1:0\"}]\n\(rules)\n"
                .replacing("WORK", with: path).replacing("DIR", with: other)
            let file = "\(folder ?? other)/rules.yaml"
            try WholeFile.write(Array(text.utf8), to: file)
            return try RunningLupin("serve", "--rules", file)
        }
    }

    private func expectRefusal(_ result: Lupin.Result, naming path: String) {
        #expect(result.code == 126)
        #expect(result.output == "")
        #expect(result.errors.contains(path), "\(result.errors)")
        #expect(result.errors.contains("can't be confined"), "\(result.errors)")
    }

    @Test(arguments: files)
    func `a running lupin's file in the working folder`(name: String, rules: String) throws {
        let fixture = try Fixture()
        let running = try fixture.running(rules)
        // Named as its rules name it.
        expectRefusal(try fixture.confined([], "echo", "planted"), naming: "/\(name)")
        withExtendedLifetime(running) {}
    }

    @Test func `its rules in the working folder, unless they have a folder that is hidden`() throws
    {
        let fixture = try Fixture()
        let folder = "\(fixture.path)/private"
        try WholeFile.makeDirectories(folder)
        let hidden = try fixture.running("", in: folder)
        expectRefusal(try fixture.confined([], "echo"), naming: "\(folder)/rules.yaml")
        let result = try fixture.confined(["--hide", folder], "ls", folder)
        #expect(result.code != 126 && result.output == "", "\(result.errors)")
        let open = try fixture.running("", in: fixture.path)
        expectRefusal(
            try fixture.confined(["--hide", folder], "echo"),
            naming: "\(fixture.path)/rules.yaml"
        )
        withExtendedLifetime((hidden, open)) {}
    }

    @Test func `its rules where it looks for some, before there are any`() throws {
        let fixture = try Fixture()
        let running = try RunningLupin(
            "serve",
            "--listen",
            "127.0.0.1:0",
            environment: ["XDG_CONFIG_HOME": fixture.path]
        )
        expectRefusal(try fixture.confined([], "echo"), naming: "\(fixture.path)/lupin/")
        withExtendedLifetime(running) {}
    }

    @Test func `its files in what is given by --write`() throws {
        let fixture = try Fixture()
        let other = try #require(fixture.other).path
        let running = try fixture.running("")
        #expect(try fixture.confined([], "echo", "planted").output == "planted\n")
        expectRefusal(try fixture.confined(["--write", other], "echo"), naming: "rules.yaml")
        withExtendedLifetime(running) {}
    }

    @Test func `two commands in a folder with the rules of both`() throws {
        let fixture = try Fixture()
        let rules = try fixture.work.write(
            "lupin.yaml",
            "lupin: 1\nintercept: {mode: none}\ntokens: {t: {bearer: \"${file:token}\"}}\n"
        )
        let log = try fixture.work.write("log", "planted\n")
        let words = ["exec", "--confine", "--rules", rules, "--log", log, "--"]
        let first = Lupin.process(Lupin.path, words + ["cat"], in: fixture.path)
        let (input, output) = (Pipe(), Pipe())
        first.standardInput = input
        first.standardOutput = output
        try first.run()
        try input.fileHandleForWriting.write(contentsOf: Data("x".utf8))
        #expect(try output.fileHandleForReading.read(upToCount: 1)?.count == 1)
        let second = try Lupin.run(words + ["cat", rules], in: fixture.path)
        #expect(second.code != 126 && second.output == "", "\(second.errors)")
        // The first lupin reaches its log by a descriptor, which means nothing to another process.
        let elsewhere = try Fixture()
        let third = try elsewhere.confined([], "cat", log)
        #expect(third.code != 126 && third.output == "", "\(third.errors)")
        try input.fileHandleForWriting.close()
        first.waitUntilExit()
        #expect(first.terminationStatus == 0)
    }

    private static let request = """
        import os, socket, sys
        def ask():
            s = socket.socket(socket.AF_UNIX); s.settimeout(10)
            try: s.connect("admin.sock")
            except OSError as error: return os.strerror(error.errno)
            s.sendall(b"GET /v1/status HTTP/1.1\\r\\nHost: lupin\\r\\n\\r\\n")
            return s.recv(100).split(b" ")[1].decode()

        """

    @Test func `the admin socket of one that begins later is not reached`() throws {
        let fixture = try Fixture()
        let rules = try #require(fixture.other).write("own.yaml", "lupin: 1\n")
        let script =
            Self.request
            + "print('ready', flush=True); sys.stdin.readline(); print(ask())"
        let words = ["exec", "--confine", "--rules", rules, "--log", "/dev/null", "--"]
        let program = [SmallInternet.python, "-c", script]
        let command = Lupin.process(Lupin.path, words + program, in: fixture.path)
        let (input, output) = (Pipe(), Pipe())
        command.standardInput = input
        command.standardOutput = output
        try command.run()
        let end = output.fileHandleForReading
        #expect(try end.read(upToCount: 6) == Data("ready\n".utf8))
        let running = try fixture.running("admin: {socket: WORK/admin.sock}")
        try input.fileHandleForWriting.write(contentsOf: Data("go\n".utf8))
        #expect(try end.readToEnd() == Data("Permission denied\n".utf8))
        command.waitUntilExit()
        withExtendedLifetime(running) {}
    }

    /// A container that lupin did not make has a user namespace of its own, as a confined command.
    @Test func `the admin socket answers in networks that take root, and in no user namespace`()
        throws
    {
        let fixture = try Fixture()
        let running = try fixture.running("admin: {socket: WORK/admin.sock}")
        let script = Self.request + "print(ask())"
        let networks: [(options: [String], answer: String)] = [
            ([], "200\n"), (["/usr/bin/unshare", "-rn"], "403\n"),
            (["/usr/bin/unshare", "-n"], "200\n"),
        ]
        for (options, answer) in networks.prefix(geteuid() == 0 ? 3 : 2) {
            let words = options + [SmallInternet.python, "-c", script]
            let command = Lupin.process(words[0], Array(words.dropFirst()), in: fixture.path)
            let output = Pipe()
            command.standardOutput = output
            try command.run()
            #expect(try output.fileHandleForReading.readToEnd() == Data(answer.utf8))
            command.waitUntilExit()
        }
        withExtendedLifetime(running) {}
    }

    /// Answers to the question that are no whole list, with `|` for NUL.
    private static let answers = [
        "", "elsewhere\n", "other\n", "kept:/a|", "newer:/a|.|", "kept:a|.|", "kept|.|",
    ]

    @Test(
        .enabled(if: SmallInternet.isPossible, "this machine gives users no namespaces"),
        arguments: answers
    )
    func `a lupin that does not say what it keeps`(answer: String) throws {
        let net = try SmallInternet(["a.test"])
        _ = try net.folder.write(
            "rules.yaml",
            "lupin: 1\nlisten: [{address: \"127.0.0.1:0\"}]\nintercept: {mode: none}\n"
        )
        _ = try net.folder.write("answer", answer.replacing("|", with: "\0"))
        _ = try net.folder.write(
            "sibling.py",
            """
            import glob, os, shutil, socket, subprocess, sys
            serve = subprocess.Popen(["lupin", "serve", "--rules", "rules.yaml"],
                stderr=subprocess.PIPE)
            while b"listening on" not in serve.stderr.readline(): pass
            own = glob.glob(sys.argv[1] + "/*.sock")[0]
            serve.terminate(); serve.wait()
            answer = open("answer", "rb").read()
            listener = socket.socket(socket.AF_UNIX)
            listener.bind(own); listener.listen(8)
            os.mkdir("work")
            child = os.fork()
            while child == 0:
                client = listener.accept()[0]
                if client.recv(100): client.sendall(answer)
                client.close()
            words = ["lupin", "exec", "--confine", "--rules", "../rules.yaml", "--log", "/dev/null"]
            def run(): return subprocess.run(words + ["--", "echo", "begun"], cwd="work").returncode
            print(run(), flush=True)
            # The doctor finds no tool, and says of the kernel nothing that is not so.
            os.mkdir("none"); os.symlink("/bin/sh", "none/sh")
            doctor = subprocess.run([shutil.which("lupin"), "doctor"], text=True,
                env={**os.environ, "PATH": os.path.abspath("none")}, stdout=subprocess.PIPE)
            isTold = any(words in doctor.stdout for words in ["does not", "runs in another"])
            print(isTold, "seccomp" in doctor.stdout, os.getpid(), flush=True)
            # It has ended, though its socket is still there.
            listener.close(); os.kill(child, 9); os.wait()
            print(run())
            """
        )
        let script = """
            home=$(getent passwd 0 | cut -d: -f6)
            mount -t tmpfs none "$home"
            own="\(ProcessOwner.accountHome ?? "")/.local/state"
            [ ! -d "$own" ] || mount -t tmpfs none "$own"
            \(SmallInternet.python) sibling.py "$home/.local/state/lupin/siblings"
            """
        let result = try net.run(script)
        let lines = result.output.split(separator: "\n")
        try #require(lines.count == 4, "\(result)")
        #expect(lines[0] == "126" && lines[2...] == ["begun", "0"], "\(result)")
        #expect(lines[1].hasPrefix("True False "), "\(result)")
        // The number is that of who listens, and not what the name of the socket has.
        let process = lines[1].split(separator: " ").last ?? ""
        let lacks =
            switch answer {
            case "": "does not answer"
            case "elsewhere\n": "runs in another network and another user namespace"
            default: "does not say which files it keeps"
            }
        let refusal = "the lupin of process \(process) \(lacks)"
        #expect(result.errors.contains(refusal), "\(result.errors)")
    }
}
