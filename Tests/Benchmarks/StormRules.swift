// What lupin's rules file says in a storm, and how it is replaced.
import Foundation
import Synchronization

/// The rules file of a storm, in one version after the other.
struct StormRules {
    let setup: Contender.Setup
    /// Where it lies.
    let file: URL

    /// Where lupin can be asked.
    var socket: String { setup.directory.appendingPathComponent("admin.sock").path }
    /// Where its records go; older ones have a number behind that name.
    var log: URL { setup.directory.appendingPathComponent("records.jsonl") }

    private var keyFile: URL { setup.directory.appendingPathComponent("key") }

    /// Writes what the rules read, for its owner alone, and their first version.
    func begin(seed: UInt64) throws {
        let isWritten = FileManager.default.createFile(
            atPath: keyFile.path,
            contents: Data("\(StormField.keyStart)\(RequestID(number: seed))\n".utf8),
            attributes: [.posixPermissions: 0o600]
        )
        guard isWritten else { throw BenchError("cannot write \(keyFile.path)") }
        try replace(by: StormVersion(1))
    }

    /// Puts a version in the place of the one before, by a rename.
    func replace(by version: StormVersion) throws {
        try text(version).write(to: file, atomically: true, encoding: .utf8)
    }

    private func text(_ version: StormVersion) -> String {
        // Small files, so that the log turns over during the storm.
        let log = "{to: \"\(log.path)\", format: json, rotate: {size: 16MiB, keep: 1000}}"
        // Every token that it prints differs from those before.
        let command = "echo \(StormField.tokenStart)$(cat /proc/sys/kernel/random/uuid)"
        let hosts = "host: [\"127.0.0.1\", \(Certificates.originName)]"
        func match(_ lane: StormLane?) -> String {
            let folder = StormPart.folder + (lane.map { "\($0.rawValue)/" } ?? "")
            return "match: {\(hosts), path: \"\(folder)**\"}"
        }
        return LupinSettings.text(setup, log: log) + """
            admin: {socket: "\(socket)"}
            tokens:
              storm:
                command: [sh, -c, "\(command)"]
                every: 1h
                refresh: {max: 100}
            retry:
              storm:
                limit: 10
                non_idempotent: always
                backoff: none
                budget: none
                circuit: off
            rules:
              - {\(match(nil)), request: [{set: {\(StormField.version): "\(version.text)"}}]}
              - {\(match(.retried)), retry: storm}
              - \(match(.guarded))
                request: [{auth: storm}, {set: {\(StormField.key): "${file:\(keyFile.path)}"}}]
              - {\(match(nil)), request: [{set: {\(StormField.versionAgain): "\(version.text)"}}]}

            """
    }
}

/// Replaces the rules again and again, beside everything else.
final class StormReloads: Sendable {
    private struct State {
        var version = 1
        var isOver = false
        var failure: String?
    }

    private let state = Mutex(State())

    /// The time between two versions.
    private static let seconds = 0.5

    /// Begins with version 2.
    func begin(_ rules: StormRules) {
        Thread.detachNewThread { [self] in
            while true {
                Thread.sleep(forTimeInterval: Self.seconds)
                let isOver = state.withLock { state in
                    guard !state.isOver, state.failure == nil else { return true }
                    state.version += 1
                    do {
                        try rules.replace(by: StormVersion(state.version))
                    } catch {
                        state.failure = "\(error)"
                    }
                    return false
                }
                if isOver { return }
            }
        }
    }

    /// Stops, and says which version is the last one.
    func end() throws -> Int {
        let (version, failure) = state.withLock { state in
            state.isOver = true
            return (state.version, state.failure)
        }
        if let failure { throw BenchError("the rules could not be replaced: \(failure)") }
        return version
    }
}
