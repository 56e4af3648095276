// The built command as a child process: run to its end, or kept running and sent signals.
import Foundation
import Testing

/// The executable beside the tests.
enum Lupin {
    struct Result: Equatable {
        var code: Int32
        var output: String
        /// What it wrote to standard error, without lines about lupins of other tests.
        var errors: String

        init(code: Int32, output: String, errors: String) {
            self.code = code
            self.output = output
            self.errors = Lupin.withoutOthers(errors)
        }
    }

    /// Whether a line tells of a lupin of the same user that was killed, as some tests do.
    static func isAboutOthers(_ line: some StringProtocol) -> Bool {
        line.contains("ended without stopping")
    }

    /// The lines of a text that are not about such lupins.
    static func withoutOthers(_ text: String) -> String {
        text.split(separator: "\n", omittingEmptySubsequences: false)
            .filter { !isAboutOthers($0) }.joined(separator: "\n")
    }

    static let path = URL(fileURLWithPath: CommandLine.arguments[0])
        .deletingLastPathComponent().appendingPathComponent("lupin").path

    static func run(_ arguments: String...) throws -> Result { try run(arguments) }

    /// Runs a program to its end; its errors must fit into a pipe (64 KiB).
    static func run(
        program: String = path,
        _ arguments: [String],
        in folder: String? = nil
    ) throws -> Result {
        let process = process(program, arguments, in: folder)
        let (output, errors) = (Pipe(), Pipe())
        process.standardOutput = output
        process.standardError = errors
        try process.run()
        let (said, told) = (text(output), text(errors))
        process.waitUntilExit()
        return Result(code: process.terminationStatus, output: said, errors: told)
    }

    /// A folder for settings that nobody can make, root neither.
    static let noSettings = "/proc/none"

    /// A process without the variables that would lead it to somebody's rules, or captures.
    static func process(_ program: String, _ arguments: [String], in folder: String?)
        -> ChildProgram
    {
        let process = ChildProgram(program, arguments)
        process.environment = [
            "PATH": "/usr/bin:/bin", "XDG_CONFIG_HOME": noSettings, "XDG_STATE_HOME": noSettings,
        ]
        process.standardInput = FileHandle.nullDevice
        process.workingFolder = folder
        return process
    }

    private static func text(_ pipe: Pipe) -> String {
        String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    }
}

/// `lupin serve` while it runs; it is ended with the value.
final class RunningLupin {
    /// The line that says where it listens.
    let firstLine: String
    /// Lines that came before that one, without those about lupins of other tests that were killed.
    let earlierLines: [String]
    let port: UInt16
    /// Where its socket goes.
    let runtime: Folder
    private let process: ChildProgram
    private let errors = Pipe()

    convenience init(_ arguments: String..., environment: [String: String] = [:]) throws {
        try self.init(arguments, environment: environment)
    }

    /// `user` runs it, which only root can have, by the words of other programs.
    init(
        _ arguments: [String],
        environment: [String: String],
        user: UInt32? = nil,
        by words: [String] = []
    ) throws {
        let asUser = user.map { user in
            ["/usr/bin/setpriv", "--reuid=\(user)", "--regid=\(user)", "--clear-groups"]
        }
        let all = (asUser ?? []) + words + [Lupin.path] + arguments
        let process = Lupin.process(all[0], Array(all.dropFirst()), in: nil)
        runtime = try Folder()
        if let user {
            let owner = NSNumber(value: user)
            try FileManager.default.setAttributes(
                [.ownerAccountID: owner, .groupOwnerAccountID: owner],
                ofItemAtPath: runtime.path
            )
        }
        // Its authority's key goes there, too.
        process.environment?["XDG_CONFIG_HOME"] = runtime.path
        process.environment?["XDG_STATE_HOME"] = "\(runtime.path)/state"
        process.environment?.merge(environment) { $1 }
        process.environment?["XDG_RUNTIME_DIR"] = runtime.path
        self.process = process
        process.standardOutput = FileHandle.nullDevice
        process.standardError = errors
        try process.run()
        var earlier: [String] = []
        var line = try RunningLupin.line(of: errors)
        while !line.contains("listening on ") {
            earlier.append(line)
            line = try RunningLupin.line(of: errors)
        }
        firstLine = line
        earlierLines = earlier.filter { !Lupin.isAboutOthers($0) }
        let found = try #require(firstLine.firstMatch(of: /listening on [^ ]*:(\d+)/))
        port = try #require(UInt16(found.output.1))
    }

    deinit { if process.isRunning { signal(SIGKILL) } }

    func signal(_ number: Int32) { kill(process.processIdentifier, number) }

    /// How many descriptors it has open.
    var descriptors: Int {
        let folder = "/proc/\(process.processIdentifier)/fd"
        return (try? FileManager.default.contentsOfDirectory(atPath: folder).count) ?? 0
    }

    /// The memory that it occupies.
    var residentBytes: Int {
        let status = try? String(
            contentsOfFile: "/proc/\(process.processIdentifier)/status",
            encoding: .utf8
        )
        let found = status?.firstMatch(of: /VmRSS:\s+(\d+) kB/)
        return (found.flatMap { Int($0.output.1) } ?? 0) << 10
    }

    /// The next line on standard error.
    func nextLine() throws -> String { try RunningLupin.line(of: errors) }

    /// Waits for the end: the exit code.
    func end() -> Int32 {
        process.waitUntilExit()
        return process.terminationStatus
    }

    private static func line(of pipe: Pipe) throws -> String {
        var bytes: [UInt8] = []
        while bytes.last != 0x0A {
            let byte = try pipe.fileHandleForReading.read(upToCount: 1)
            bytes.append(try #require(byte?.first, "standard error ended"))
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

/// A folder for one test, removed with the value.
final class Folder: Sendable {
    let path: String

    init() throws {
        let url = FileManager.default.temporaryDirectory
            .appendingPathComponent("lupin-\(UUID().uuidString)")
        try FileManager.default.createDirectory(
            at: url,
            withIntermediateDirectories: false,
            attributes: [.posixPermissions: 0o700]
        )
        path = url.path
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    /// Writes a file and returns its path.
    func write(_ name: String, _ text: String) throws -> String {
        let file = "\(path)/\(name)"
        try Data(text.utf8).write(to: URL(fileURLWithPath: file))
        return file
    }
}
