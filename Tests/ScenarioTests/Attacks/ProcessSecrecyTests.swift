// What lupin knows, other programs of the same user do not get from its process.
import Foundation
import LupinTestKit
import Testing

@Suite(
    .waitsForPrograms,
    .enabled(if: SmallInternet.has(RedirectionTests.python), "there is no Python")
)
struct ProcessSecrecyTests {
    private static let secret = "planted-s3cret-value"

    /// lupin as an ordinary user, since nothing is kept from root.
    private struct Fixture {
        let folder: Folder
        let words: [String]
        let environment: [String: String]

        init() throws {
            folder = try Folder()
            let rules = try folder.write(
                "lupin.yaml",
                "lupin: 1\nintercept: {mode: none}\nlog: off\ntokens: {t: {bearer: \"${env:T}\"}}\n"
            )
            var words = [Lupin.path, "exec", "--rules", rules, "--"]
            if geteuid() == 0 {
                let nobody: UInt32 = 65533
                try FileManager.default.setAttributes(
                    [.ownerAccountID: nobody, .groupOwnerAccountID: nobody],
                    ofItemAtPath: folder.path
                )
                try FileManager.default.setAttributes(
                    [.ownerAccountID: nobody, .groupOwnerAccountID: nobody],
                    ofItemAtPath: rules
                )
                let identity = ["--reuid=\(nobody)", "--regid=\(nobody)", "--clear-groups"]
                words = ["/usr/bin/setpriv"] + identity + words
            }
            self.words = words
            environment = [
                "PATH": "/usr/bin:/bin", "T": ProcessSecrecyTests.secret, "TMPDIR": folder.path,
                "HOME": folder.path, "XDG_STATE_HOME": folder.path,
            ]
        }

        func run(_ script: String) throws -> Lupin.Result {
            let process = Lupin.process(words[0], [], in: folder.path)
            process.arguments =
                Array(words.dropFirst()) + [RedirectionTests.python, "-c", script]
            process.environment = environment
            let (output, errors) = (Pipe(), Pipe())
            (process.standardOutput, process.standardError) = (output, errors)
            try process.run()
            let texts = [output, errors].map {
                String(decoding: $0.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
            }
            process.waitUntilExit()
            return Lupin.Result(
                code: process.terminationStatus,
                output: texts[0],
                errors: texts[1]
            )
        }
    }

    /// Ways for a child to its parent, which is lupin; each gives what it got.
    private static let ways = [
        "open(f'/proc/{parent}/environ', 'rb').read()", "open(f'/proc/{parent}/mem', 'rb')",
        "os.listdir(f'/proc/{parent}/fd')", "os.readlink(f'/proc/{parent}/cwd')",
        "open(f'/proc/{parent}/maps').read()", "os.listdir(f'/proc/{parent}/map_files')",
        "os.readlink(f'/proc/{parent}/exe')", "open(f'/proc/{parent}/auxv', 'rb').read()",
        // ATTACH and SEIZE
        "trace(16)", "trace(0x4206)",
        // process_vm_readv, and pidfd_getfd of its standard output
        "call(310, parent, region, 1, region, 1, 0)", "call(438, call(434, parent, 0), 1, 0)",
        // kcmp
        "call(312, parent, os.getpid(), 0, 0, 0)",
    ]

    @Test(arguments: ways)
    func `a program of the same user reads nothing of lupin`(way: String) throws {
        let script = """
            import ctypes, os
            libc, parent = ctypes.CDLL(None, use_errno=True), os.getppid()
            def check(result):
                if result < 0: raise OSError(ctypes.get_errno(), "refused")
                return result
            def long(value): return ctypes.c_long(value) if isinstance(value, int) else value
            def call(*arguments): return check(libc.syscall(*map(long, arguments)))
            def trace(what): return check(libc.ptrace(what, parent, None, None))
            room = ctypes.create_string_buffer(64)
            region = (ctypes.c_uint64 * 2)(ctypes.addressof(room), 64)
            try: print("OPEN", \(way))
            except OSError as error: print("kept", error.errno)
            """
        let result = try Fixture().run(script)
        #expect(result.output.hasPrefix("kept "), "\(result)")
    }

    @Test func `the block of variables shows names alone, to root too`() throws {
        let running = try Fixture()
        let script = """
            import os, sys
            print("ready", os.getppid(), flush=True); sys.stdin.read()
            """
        let process = Lupin.process(running.words[0], [], in: nil)
        process.arguments =
            Array(running.words.dropFirst()) + [RedirectionTests.python, "-c", script]
        process.environment = running.environment
        let (input, output) = (Pipe(), Pipe())
        (process.standardInput, process.standardOutput) = (input, output)
        try process.run()
        var line = ""
        while !line.hasSuffix("\n"),
            let byte = try output.fileHandleForReading.read(upToCount: 1), !byte.isEmpty
        {
            line += String(decoding: byte, as: UTF8.self)
        }
        let parent = try #require(line.split(whereSeparator: \.isWhitespace).last)
        let block = FileManager.default.contents(atPath: "/proc/\(parent)/environ") ?? Data()
        try input.fileHandleForWriting.close()
        process.waitUntilExit()
        #expect(process.terminationStatus == 0)
        let variables = String(decoding: block, as: UTF8.self).split(separator: "\0")
        #expect(!variables.contains { $0.contains(Self.secret) })
        if geteuid() == 0 { #expect(variables.contains("T=")) }
    }

    /// `ulimit -c unlimited` where that is allowed.
    @Test func `a crash leaves no core file, and children may leave one`() throws {
        let script = """
            import os, resource, signal
            soft, hard = resource.getrlimit(resource.RLIMIT_CORE)
            print("limit", soft == hard, flush=True)
            os.kill(os.getppid(), signal.SIGSEGV)
            """
        let fixture = try Fixture()
        let outer = """
            import os, resource, subprocess, sys
            hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
            resource.setrlimit(resource.RLIMIT_CORE, (hard, hard))
            child = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ)
            status = os.waitpid(child, 0)[1]
            print("ended by", os.WTERMSIG(status), os.WCOREDUMP(status), os.listdir("."))
            """
        let process = Lupin.process(RedirectionTests.python, [], in: fixture.folder.path)
        process.arguments =
            ["-c", outer] + fixture.words + [RedirectionTests.python, "-c", script]
        process.environment = fixture.environment.merging(["SWIFT_BACKTRACE": "enable=no"]) { $1 }
        let output = Pipe()
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
        let text = String(
            decoding: output.fileHandleForReading.readDataToEndOfFile(),
            as: UTF8.self
        )
        process.waitUntilExit()
        #expect(text.contains("limit True\n"))
        #expect(text.contains("ended by 11 False"), "\(text)")
        #expect(!text.contains("core"))
    }

    @Test func `a variable of the rules is found again at a reload`() throws {
        let folder = try Folder()
        let text = """
            lupin: 1
            listen: [{address: 127.0.0.1:0}]
            log: off
            tokens: {t: {bearer: "${env:T}"}}

            """
        let rules = try folder.write("lupin.yaml", text)
        let running = try RunningLupin(
            ["--rules", rules],
            environment: ["T": Self.secret]
        )
        _ = try folder.write("lupin.yaml", text + "# changed\n")
        let result = try Lupin.run(
            ["reload"],
            environment: ["PATH": "/usr/bin:/bin", "XDG_RUNTIME_DIR": running.runtime.path]
        )
        #expect(result.code == 0, "\(result)")
    }
}
