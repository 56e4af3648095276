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

    /// The same log where no lupin answers, for a command that only wants one exchange.
    static func left(rulesFile: String?) -> String? {
        let named = try? named(rulesFile: rulesFile, ways: "")
        guard let named, FileStatus(path: named) != nil else {
            return rulesFile == nil ? leftByExec : nil
        }
        StandardError.print("lupin: no lupin answers; this is from \(named)")
        return named
    }

    /// The records of `lupin exec`, with a word about it; nil without any.
    private static var leftByExec: String? {
        guard let path = UserFolder.execLog(environment), FileStatus(path: path) != nil else {
            return nil
        }
        StandardError.print("lupin: no lupin answers; this is what lupin exec left in \(path)")
        return path
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
