// A real Redis server of a test's own: Debian's, on a socket or a port that nobody else has.
import Foundation
import Glibc
import LupinIO
import LupinTestKit
import Testing

/// A `redis-server` that keeps nothing; ended with the object.
final class RedisServer: Sendable {
    /// The package `redis-tools` has the server's program under another name.
    private static let program = "/usr/bin/redis-check-rdb"

    /// Whether the package is there; suites of tests without it are skipped.
    static var isInstalled: Bool { FileManager.default.isExecutableFile(atPath: program) }

    let folder: Folder
    let port: ReservedPort?
    private let process: Int32

    /// A server with these arguments, on `path` unless there is a `port`.
    init(_ arguments: [String] = [], port: ReservedPort? = nil) throws {
        folder = try Folder()
        self.port = port
        let name = folder.path + "/redis-server"
        try FileManager.default.createSymbolicLink(atPath: name, withDestinationPath: Self.program)
        let usual = [
            "--save", "", "--appendonly", "no", "--dir", folder.path, "--bind", "127.0.0.1",
            "--port", String(port?.number ?? 0), "--unixsocket", folder.path + "/redis",
        ]
        process = try Self.start([name] + usual + arguments, log: folder.path + "/redis.log")
        try waitUntilReady()
    }

    deinit {
        kill(process, SIGKILL)
        waitpid(process, nil, 0)
    }

    private static func start(_ words: [String], log: String) throws -> Int32 {
        let command = Process()
        command.executableURL = URL(fileURLWithPath: words[0])
        command.arguments = Array(words.dropFirst())
        _ = FileManager.default.createFile(atPath: log, contents: nil)
        command.standardOutput = FileHandle(forWritingAtPath: log)
        command.standardError = FileHandle.nullDevice
        try command.run()
        return command.processIdentifier
    }

    private func waitUntilReady() throws {
        try eventually("the server answers") { (try? ask("PING").isEmpty) == false }
    }

    /// Its socket.
    var path: String { folder.path + "/redis" }
    var url: String { "unix://\(path)" }

    func pause() { kill(process, SIGSTOP) }
    func goOn() { kill(process, SIGCONT) }
    func end() {
        kill(process, SIGKILL)
        waitpid(process, nil, 0)
    }

    /// What redis-cli prints for a command.
    @discardableResult
    func ask(_ words: String...) throws -> String {
        let command = Process()
        let output = Pipe()
        command.executableURL = URL(fileURLWithPath: "/usr/bin/redis-cli")
        command.arguments = ["-s", path, "--raw"] + words
        command.standardOutput = output
        command.standardError = FileHandle.nullDevice
        try command.run()
        let bytes = output.fileHandleForReading.readDataToEndOfFile()
        command.waitUntilExit()
        return String(decoding: bytes, as: UTF8.self).trimmingCharacters(in: .newlines)
    }

    /// The keys that end with `suffix`.
    func keys(_ suffix: String = "") throws -> [String] {
        try ask("KEYS", "*\(suffix)").split(separator: "\n").map(String.init)
    }

    /// A node of a cluster that has nothing, and sends whoever asks about a key to this server:
    /// `word` is MOVED or ASK.
    func nodeElsewhere(saying word: String) throws -> ScriptedOrigin {
        let port = try #require(port?.number)
        return try ScriptedOrigin { connection in
            while let line = try? connection.stream.line() {
                guard line.hasPrefix("$") else { continue }
                let name = try connection.stream.line()
                if ["GET", "GETRANGE", "PTTL", "SET", "DEL"].contains(name) {
                    try connection.send("-\(word) 1 127.0.0.1:\(port)\r\n")
                } else if ["SUBSCRIBE", "CLUSTER", "PING", "PUBLISH"].contains(name) {
                    try connection.send("-ERR no\r\n")
                }
            }
        }
    }
}
