// The commands that ask a running lupin, and a running lupin that takes its changed file.
import Foundation
import LupinTestKit
import Testing

@Suite(.waitsForPrograms)
struct AdminCommandTests {
    private func file(_ folder: Folder, _ more: String = "") throws -> String {
        try folder.write(
            "lupin.yaml",
            "lupin: 1\nlisten: [{address: 127.0.0.1:0}]\n\(more)\n"
        )
    }

    @Test func `status and reload speak to the lupin of the usual socket`() throws {
        let folder = try Folder()
        let rules = try file(folder)
        let running = try RunningLupin("--rules", rules)
        let socket = "\(running.runtime.path)/lupin.sock"
        let status = try Lupin.run("status", "--socket", socket)
        #expect(status.code == 0)
        #expect(status.errors == "")
        #expect(status.output.hasPrefix("lupin 0."))
        #expect(status.output.contains("\nlistens on 127.0.0.1:\(running.port)\n"))
        #expect(status.output.contains(" from \(rules); reloads: 0 taken, 0 refused\n"))
        #expect(status.output.contains("\n0 client connections, 0 exchanges under way\n"))
        let json = try Lupin.run("status", "--json", "--socket", socket)
        #expect(RecordLine(json.output)?["rules.file"] == rules)
        let first = try Lupin.run("reload", "--socket", socket)
        #expect(first.code == 0)
        #expect(first.output.prefixMatch(of: /rules [0-9a-f]{8} loaded/) != nil)
        #expect(first.output.hasSuffix(" loaded from \(rules)\n"))
        _ = try running.nextLine()
        running.signal(SIGTERM)
        #expect(running.end() == 0)
        #expect(!FileManager.default.fileExists(atPath: socket))
    }

    @Test func `reload tells the errors of a bad file, and finds the socket in it`() throws {
        let folder = try Folder()
        let admin = "admin: {socket: \(folder.path)/s}"
        let rules = try file(folder, admin)
        let running = try RunningLupin("--rules", rules)
        // The watch sees it too, and tells the same lines, before or behind those that are due.
        _ = try file(folder, "\(admin)\nretryy: 1")
        let result = try Lupin.run("reload", "--rules", rules)
        #expect(result.code == 2)
        #expect(result.output == "")
        #expect(
            result.errors == """
                \(rules):4:1: unknown key "retryy"  [E-KEY]
                    retryy: 1
                    ^^^^^^  did you mean "retry"?

                """
        )
        #expect(try running.nextLine().contains("lupin: error: the new rules are not taken"))
        #expect(try running.nextLine().contains(":4:1: unknown key \"retryy\"  [E-KEY]"))
    }

    @Test func `SIGHUP and a changed file have the rules read again`() throws {
        let folder = try Folder()
        let rules = try file(folder)
        let running = try RunningLupin("--rules", rules)
        running.signal(SIGHUP)
        let first = try running.nextLine()
        #expect(first.contains(/lupin: rules [0-9a-f]{8} loaded/))
        let other = "lupin: 1\nlisten: [{address: 127.0.0.1:0}]\nrules: [{match: {}}]\n"
        try Data(other.utf8).write(to: URL(fileURLWithPath: rules), options: .atomic)
        let second = try running.nextLine()
        #expect(second.contains(/lupin: rules [0-9a-f]{8} loaded/))
        #expect(second.suffix(16) != first.suffix(16))
    }

    @Test func `what the command line says stays said`() throws {
        let folder = try Folder()
        let rules = try file(folder)
        let running = try RunningLupin(
            "--rules",
            rules,
            "--listen",
            "127.0.0.1:0",
            "--workers",
            "2"
        )
        running.signal(SIGHUP)
        #expect(try running.nextLine().contains("loaded"))
        let socket = try PlainSocket.connect(to: .loopback(port: running.port))
        socket.close()
    }

    @Test func `without a running lupin the commands say so and end with 1`() throws {
        let folder = try Folder()
        for command in ["status", "reload"] {
            let result = try Lupin.run(command, "--socket", "\(folder.path)/none")
            #expect(result.code == 1)
            #expect(result.output == "")
            #expect(
                result.errors
                    == "lupin: no lupin answers at \(folder.path)/none: No such file or directory\n"
            )
        }
        let environment = [
            "PATH": "/usr/bin:/bin", "HOME": folder.path, "XDG_RUNTIME_DIR": folder.path,
        ]
        let usual = "\(folder.path)/lupin.sock: No such file or directory"
        let another = "--socket or --rules leads to another one"
        let status = try Lupin.run(["status"], environment: environment)
        #expect(status.errors == "lupin: no lupin answers at \(usual); \(another)\n")
        let last = try Lupin.run(["explain", "last"], environment: environment)
        #expect(last.errors.contains("\(usual); \(another); --log reads a log"))
        let log = try Lupin.run(["log"], environment: environment)
        #expect(
            log.errors.contains("no lupin answers, and there is no rules file: pass --socket")
        )
        let off = try folder.write("off.yaml", "lupin: 1\nadmin: {socket: off}\n")
        let result = try Lupin.run("status", "--rules", off)
        #expect(result.code == 1)
        #expect(result.errors == "lupin: \(off) says admin: {socket: off}; pass --socket\n")
    }

    @Test func `a second lupin at the same socket runs without one`() throws {
        let folder = try Folder()
        let rules = try file(folder, "admin: {socket: \(folder.path)/s}")
        let first = try RunningLupin("--rules", rules)
        let second = try RunningLupin("--rules", rules)
        #expect(first.earlierLines == [])
        #expect(second.earlierLines.count == 1)
        let line = try #require(second.earlierLines.first)
        #expect(line.contains(": the lupin of process "))
        #expect(line.contains(", which runs by \(rules), listens there; lupin status"))
        #expect(try Lupin.run("status", "--rules", rules).output.contains(":\(first.port)\n"))
    }
}
