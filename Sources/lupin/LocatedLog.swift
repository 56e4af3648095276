// The log that `lupin log` reads by default, and how the environment affects printing.
import ArgumentParser
import LupinCore
import LupinIO
import LupinPolicy
import LupinRules

enum LocatedLog {
    /// The file that `log.to` names in the rules file, or else the one that `lupin exec` left.
    ///
    /// `ways` are what the command takes to find a log.
    /// - Throws: A sentence that suggests passing a file.
    static func path(rulesFile: String?, ways: String) throws -> String {
        do {
            return try named(rulesFile: rulesFile, ways: ways)
        } catch {
            guard rulesFile == nil, let left = leftByExec else { throw error }
            return left
        }
    }

    /// The logs where no lupin answers, for a command that only wants one exchange.
    static func left(rulesFile: String?) -> [String] {
        let named = try? named(rulesFile: rulesFile, ways: "")
        let logs = [named].compactMap(\.self) + (rulesFile == nil ? ofExec : [])
        return logs.filter { FileStatus(path: $0) != nil }
    }

    /// The records of `lupin exec`, with a word about it; nil without any.
    private static var leftByExec: String? {
        guard let path = ofExec.first(where: { FileStatus(path: $0) != nil }) else { return nil }
        StandardError.print("lupin: no lupin answers; this is \(word(for: path))")
        return path
    }

    /// Where something is from that stands in a log.
    static func word(for log: String) -> String {
        (ofExec.contains(log) ? "what lupin exec left in " : "from ") + log
    }

    // MARK: The records of lupin exec

    /// Where they go, the place of the last command first.
    static var ofExec: [String] {
        let noted = lastOfExec(environment).flatMap { WholeFile.content(of: $0, bytesMax: 4096) }
        return [noted.map { String(decoding: $0, as: UTF8.self) }, UserFolder.execLog(environment)]
            .compactMap(\.self)
    }

    /// Notes where a command's records go, for who asks about one of them later.
    static func note(_ path: String, _ environment: [String: String]) {
        guard path != "/dev/null", let note = lastOfExec(environment),
            let state = UserFolder.state(environment)
        else { return }
        let whole = path.hasPrefix("/") ? path : "\(ProcessOwner.directory)/\(path)"
        // Without such a folder nobody can ask that way, and the command runs all the same.
        try? WholeFile.makeDirectories("\(state)/lupin")
        try? WholeFile.write(Array(whole.utf8), to: note)
    }

    private static func lastOfExec(_ environment: [String: String]) -> String? {
        UserFolder.execLog(environment).map { "\($0).path" }
    }

    private static func named(rulesFile: String?, ways: String) throws -> String {
        let running = rulesFile == nil ? RunningLupin.find(socket: nil)?.rules.file : nil
        let known = rulesFile ?? running
        guard let rules = RulesFile.locate(explicit: known, environment: environment) else {
            throw ExitCode.failure(
                "no lupin answers, and there is no rules file: pass \(ways)"
            )
        }
        let result = RulesFile.load(
            path: rules,
            environment: environment,
            secrets: .named
        )
        guard let configuration = result.configuration else {
            throw ExitCode.failure("\(rules) has errors; run `lupin check`, or pass a FILE")
        }
        guard case .file(let path) = configuration.settings.log.to else {
            throw ExitCode.failure("log.to in \(rules) names no file; pass one, or - for a pipe")
        }
        return path
    }

    /// Whether the user disabled colours (the NO_COLOR convention).
    static var isColourRefused: Bool { environment["NO_COLOR"].map { !$0.isEmpty } ?? false }

    /// The width of the terminal: `COLUMNS`, or what the terminal reports; nil without one.
    static var columns: Int? {
        let digits = Array((environment["COLUMNS"] ?? "").utf8)
        let chosen = NumberReader.saturated(digits.span, at: 10_000)
        return chosen.map { Int(truncatingIfNeeded: $0) } ?? Terminal.columns
    }

    private static var environment: [String: String] { ProcessOwner.environment }
}
