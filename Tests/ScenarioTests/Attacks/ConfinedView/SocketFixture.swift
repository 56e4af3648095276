// Where a confined command makes unix sockets, and connects to those of others.
import Foundation
import LupinTestKit

/// A working folder for a command, and a folder beside it that is shown.
struct SocketFixture {
    static let head = """
        import ctypes, os, socket, sys, threading, time
        def listen(path, kind=socket.SOCK_STREAM):
            s = socket.socket(socket.AF_UNIX, kind); s.bind(path); s.listen(64); return s
        def reach(path, kind=socket.SOCK_STREAM):
            with socket.socket(socket.AF_UNIX, kind) as s:
                try: s.connect(path); return "reached"
                except OSError as error: return os.strerror(error.errno)
        def say(*words): print(*words, flush=True)

        """

    let folder: Folder
    var work: String { "\(folder.path)/work" }
    var shown: String { "\(folder.path)/shown" }

    init() throws {
        folder = try Folder()
        for path in ["\(work)/sub", shown] {
            try FileManager.default.createDirectory(
                atPath: path,
                withIntermediateDirectories: true
            )
        }
    }

    func command(_ script: String, _ options: [String] = []) -> ChildProgram {
        let words = [SmallInternet.python, "-c", Self.head + script]
        let all = ["exec", "--confine", "--show", shown] + options + ["--"] + words
        let process = Lupin.process(Lupin.path, all, in: work)
        // Else the rules of another test's lupin held.
        process.environment?["XDG_RUNTIME_DIR"] = "\(folder.path)/none"
        return process
    }

    /// The lines of a script's output.
    static func run(_ command: ChildProgram) throws -> [Substring] {
        let output = Pipe()
        command.standardOutput = output
        try command.run()
        let bytes = output.fileHandleForReading.readDataToEndOfFile()
        command.waitUntilExit()
        return String(decoding: bytes, as: UTF8.self).split(separator: "\n")
    }
}
