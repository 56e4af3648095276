// Which log `lupin log` reads when none is named, and what its environment says about printing.
import ArgumentParser
import FoundationEssentials
import LupinCore
import LupinIO
import LupinRules

enum LocatedLog {
    /// The file that `log.to` names in the rules file.
    /// - Throws: A sentence that says to pass a file.
    static func path(rulesFile: String?) throws -> String {
        let running = rulesFile == nil ? RunningLupin.find(socket: nil)?.rules.file : nil
        let known = rulesFile ?? running
        guard let rules = RulesFile.locate(explicit: known, environment: environment) else {
            throw ValidationError(
                "there is no rules file, so records go to standard output; pass a FILE"
            )
        }
        let result = RulesFile.load(
            path: rules,
            environment: environment,
            namesSecrets: true
        )
        guard let configuration = result.configuration else {
            throw ValidationError("\(rules) has errors; run `lupin check`, or pass a FILE")
        }
        guard case .file(let path) = configuration.settings.log.to else {
            throw ValidationError("log.to in \(rules) names no file; pass one, or - for a pipe")
        }
        return path
    }

    /// Whether the user asked for no colours (the NO_COLOR convention).
    static var isColourRefused: Bool { environment["NO_COLOR"].map { !$0.isEmpty } ?? false }

    /// Width of the terminal: `COLUMNS`, or what the terminal says; nil where there is none.
    static var columns: Int? {
        let digits = Array((environment["COLUMNS"] ?? "").utf8)
        let chosen = NumberReader.saturated(digits.span, at: 10_000)
        return chosen.map { Int(truncatingIfNeeded: $0) } ?? Terminal.columns
    }

    private static var environment: [String: String] { ProcessInfo.processInfo.environment }
}
