// How the processes of a run are started, waited for and listened to.
import Foundation
import LupinCore
import LupinIO

/// The benchmark's own program in its other parts, and the proxy beside it.
struct Parties {
    /// The benchmark's own program, which is the origin and the load too.
    let program: String
    let children: Children

    // A proxy that runs under an emulator needs a while.
    private static let startSecondsMax = 30.0
    private static let settleSeconds = 0.3

    /// An origin, and the port that it listens on.
    func origin(
        _ arguments: [String],
        core: Int?
    ) throws -> (process: ChildProcess, port: UInt16) {
        let origin = try ChildProcess(own("origin", arguments, core: core), among: children)
        guard let port = UInt16(try origin.readLine()) else {
            origin.end()
            throw BenchError("the origin found no port")
        }
        return (origin, port)
    }

    /// Runs a load process to the line with its result, which is returned, and hands the lines
    /// before it over as they come.
    func load<Result: Decodable>(
        _ command: String,
        _ plan: some Encodable,
        core: Int?,
        secondsMax: Double,
        _ heard: (String, ChildProcess) throws -> Void
    ) throws -> Result {
        let json = String(decoding: try JSONEncoder().encode(plan), as: UTF8.self)
        let load = try ChildProcess(own(command, [json], core: core), among: children)
        defer { load.end() }
        // A load process keeps its own time; this is for one that can't.
        let process = load.identifier
        let watchdog = DispatchWorkItem { _ = kill(process, SIGKILL) }
        DispatchQueue.global().asyncAfter(deadline: .now() + secondsMax, execute: watchdog)
        defer { watchdog.cancel() }
        while true {
            let line = try load.readLine()
            if line.hasPrefix(LoadLine.result) {
                let text = line.dropFirst(LoadLine.result.count)
                return try JSONDecoder().decode(Result.self, from: Data(text.utf8))
            }
            try heard(line, load)
        }
    }

    private func own(_ command: String, _ arguments: [String] = [], core: Int?) -> Launch {
        Launch(
            name: command,
            executable: program,
            arguments: [command] + arguments,
            core: core,
            environment: ["PATH": "/usr/bin:/bin:/usr/sbin"]
        )
    }

    /// Waits until the proxy listens.
    func waitForListener(at port: UInt16, of proxy: ChildProcess) throws {
        let end = Date(timeIntervalSinceNow: Self.startSecondsMax)
        while !ListeningPort.isOpen(port) {
            guard proxy.isRunning else { throw BenchError("the proxy ended at once") }
            guard end.timeIntervalSinceNow > 0 else { throw BenchError("nobody listens") }
            try children.pause(0.05)
        }
        try children.pause(Self.settleSeconds)
    }

    /// A port that was free a moment ago; the proxies can't tell which one they chose themselves.
    static func freePort() throws -> UInt16 {
        try ListeningSocket(SocketAddress(address: .v4(0x7F00_0001), port: 0)).address.port
    }

    /// The end of what the proxy printed.
    static func lastWords(in log: URL?) -> String {
        guard let log, let data = try? Data(contentsOf: log), !data.isEmpty else { return "" }
        let text = String(decoding: data.suffix(400), as: UTF8.self)
        return "; it said: "
            + text.split(whereSeparator: \.isNewline).suffix(3).joined(separator: " / ")
    }
}
