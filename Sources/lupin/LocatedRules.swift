// The rules file of a command: how it is found, and how its errors are reported.
import ArgumentParser
import FoundationEssentials
import LupinCore
import LupinIO
import LupinRules

/// A configuration and its source.
struct LocatedRules {
    /// The path that the user or the search gave; nil without a file, when the defaults hold.
    let path: String?
    let configuration: Configuration
    let warnings: [Diagnostic]

    /// Loads rules to inspect them: the given file, or else that of the running lupin, with names
    /// of secrets in place of secrets, since this terminal may not have them.
    static func toLookAt(explicit: String?, socket: String? = nil) throws -> LocatedRules {
        let running = explicit == nil ? RunningLupin.find(socket: socket)?.rules.file : nil
        return try LocatedRules(explicit: explicit ?? running, namesSecrets: true)
    }

    /// Loads the rules of a running lupin for what they say besides its address.
    ///
    /// It works by the rules that it took last, so a file that has an error now is reported, and
    /// the defaults stand in for it.
    static func toWork(with running: RunningStatus) -> LocatedRules {
        let rules = try? LocatedRules(explicit: running.rules.file, namesSecrets: true)
        return rules ?? LocatedRules()
    }

    /// The defaults, without a file.
    private init() {
        self.init(path: nil, .defaults, warnings: [])
    }

    private init(path: String?, _ configuration: Configuration, warnings: [Diagnostic]) {
        self.path = path
        self.configuration = configuration
        self.warnings = warnings
    }

    /// Finds, parses and validates the file.
    ///
    /// Errors and warnings go to standard error in the format of `Diagnostic.text`, errors first.
    /// - Throws: `ExitCode.badRulesFile` when there is any error.
    init(explicit: String?, namesSecrets: Bool = false) throws {
        let environment = LocatedRules.environment
        guard let path = RulesFile.locate(explicit: explicit, environment: environment) else {
            self.init()
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
        self.init(path: path, configuration, warnings: result.warnings)
    }

    /// Colours warnings yellow on a terminal, to distinguish them from the errors that keep lupin
    /// from starting.
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
