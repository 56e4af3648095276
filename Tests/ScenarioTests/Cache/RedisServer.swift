// A real Redis server of a test's own: Debian's, on a socket or a port that nobody else has.
import Foundation
import Glibc
import LupinIO
import LupinTestKit
import Synchronization
import Testing

/// A `redis-server` that keeps nothing; ended with the object.
final class RedisServer: Sendable {
    /// The package `redis-tools` has the server's program under another name.
    private static let program = "/usr/bin/redis-check-rdb"

    /// Whether the package is there; suites of tests without it are skipped.
    static var isInstalled: Bool { FileManager.default.isExecutableFile(atPath: program) }

    let folder: Folder
    let port: ReservedPort?
    private let process: Mutex<ChildProcess>

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
        var launch = ChildLaunch(name, usual + arguments, environment: ["PATH=/usr/bin:/bin"])
        launch.outputFile = folder.path + "/redis.log"
        process = Mutex(try ChildProcess(launch, signals: .ofAnyProgram))
        try waitUntilReady()
    }

    deinit { end() }

    private func waitUntilReady() throws {
        do {
            try eventually("the server answers") { (try? ask("PING").isEmpty) == false }
        } catch {
            let state = process.withLock { $0.state() }
            let log = (try? String(contentsOfFile: folder.path + "/redis.log", encoding: .utf8))
            throw SocketFailure("the server is \(state), \(error): \(log ?? "no log")")
        }
    }

    /// Its socket.
    var path: String { folder.path + "/redis" }
    var url: String { "unix://\(path)" }

    func pause() { send(SIGSTOP) }
    func goOn() { send(SIGCONT) }
    func end() {
        send(SIGKILL)
        try? eventually("the server ends") {
            guard case .ended = process.withLock({ $0.state() }) else { return false }
            return true
        }
    }

    private func send(_ signal: Int32) { process.withLock { $0.send(signal: signal) } }

    /// Its answer to a command: the lines of a list, or an error's text.
    @discardableResult
    func ask(_ words: String..., password: String? = nil) throws -> String {
        let connection = try PlainSocket.connect(toPath: path)
        defer { connection.close() }
        let stream = MessageStream(connection)
        for command in [password.map { ["AUTH", $0] }, words].compactMap(\.self) {
            let text = command.map { "$\($0.utf8.count)\r\n\($0)\r\n" }.joined()
            try connection.send("*\(command.count)\r\n\(text)")
        }
        if password != nil { _ = try Self.answer(stream) }
        return try Self.answer(stream)
    }

    /// One value of the protocol (RESP2).
    private static func answer(_ stream: MessageStream) throws -> String {
        let line = try stream.line()
        let rest = String(line.dropFirst())
        switch line.first {
        case "$":
            guard let count = Int(rest), count >= 0 else { return "" }
            let bytes = try stream.bytes(count + 2)
            return String(decoding: bytes.dropLast(2), as: UTF8.self)
        case "*":
            let count = max(Int(rest) ?? 0, 0)
            return try (0..<count).map { _ in try answer(stream) }.joined(separator: "\n")
        default: return rest
        }
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
