// The rules file that a command works with: which one, and what happens when it has errors.
import ArgumentParser
import FoundationEssentials
import LupinCore
import LupinIO
import LupinRules

/// A configuration and where it came from.
struct LocatedRules {
    /// As the user or the search named it; nil when there is no file and the defaults hold.
    let path: String?
    let configuration: Configuration
    let warnings: [Diagnostic]

    /// For a command that only looks: the file of the lupin that runs, unless one is named, and
    /// with the names of secrets instead of secrets, since another terminal may not have them.
    static func toLookAt(explicit: String?, socket: String? = nil) throws -> LocatedRules {
        let running = explicit == nil ? RunningLupin.find(socket: socket)?.rules.file : nil
        return try LocatedRules(explicit: explicit ?? running, namesSecrets: true)
    }

    /// Finds, reads and checks the file.
    ///
    /// Errors and warnings go to standard error as `Diagnostic.text` has them, errors first.
    /// - Throws: `ExitCode.badRulesFile` when there is any error.
    init(explicit: String?, namesSecrets: Bool = false) throws {
        let environment = LocatedRules.environment
        guard let path = RulesFile.locate(explicit: explicit, environment: environment) else {
            self.path = nil
            configuration = .defaults
            warnings = []
            return
        }
        let result = RulesFile.load(
            path: path,
            environment: environment,
            namesSecrets: namesSecrets
        )
        for list in [result.errors, result.warnings] where !list.isEmpty {
            StandardError.print(Self.coloured(list.report()))
        }
        guard let configuration = result.configuration else { throw ExitCode.badRulesFile }
        self.path = path
        self.configuration = configuration
        warnings = result.warnings
    }

    /// Warnings are yellow on a terminal, so that they don't look like what keeps lupin from
    /// starting.
    private static func coloured(_ report: String) -> String {
        guard Terminal.isStandardError, !LocatedLog.isColourRefused else { return report }
        return report.replacing(": warning: ", with: ": \u{1B}[33mwarning:\u{1B}[0m ")
    }

    static var environment: [String: String] { ProcessInfo.processInfo.environment }
}

extension Option where Value == String? {
    /// `--rules FILE`.
    init(rulesFile help: String) {
        self.init(
            name: .customLong("rules"),
            help: ArgumentHelp(help, valueName: "file"),
            completion: .file(extensions: ["yaml", "yml"])
        )
    }
}
