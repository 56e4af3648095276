// The rules file of a command: how it is found, and how its errors are reported.
import ArgumentParser
import LupinIO
import LupinPolicy
import LupinProxy
import LupinRules

/// A configuration and its source.
struct LocatedRules {
    /// The path that the user or the search gave; nil without a file, when the defaults hold.
    let path: String?
    let configuration: Configuration
    let warnings: [Diagnostic]

    /// Loads rules to inspect them: the given file, or else the rules in force of the running
    /// lupin, with names of secrets in place of secrets, since this terminal may not have them.
    ///
    /// Where a lupin runs by the file, its parent proxies hold, and variables that differ are told.
    static func toLookAt(explicit: String?, socket: String? = nil) throws -> LocatedRules {
        if let explicit, let held = held(explicit, socket: socket) {
            held.tellDiffering(from: environment)
            return try LocatedRules(
                explicit: explicit,
                secrets: .named,
                environment: held.environment(over: environment),
                tellsWarnings: false
            )
        }
        guard explicit == nil, let running = RunningLupin.find(socket: socket) else {
            return try LocatedRules(explicit: explicit, secrets: .named, tellsWarnings: false)
        }
        return try inForce(running, socket: socket)
            ?? LocatedRules(explicit: running.rules.file, secrets: .named, tellsWarnings: false)
    }

    /// Loads rules only to tell what they say, as `toLookAt` does.
    ///
    /// Of a file that is named and lies elsewhere than `lupin serve` looks for it, no other file
    /// and no variable is read: it may be another user's, and have the command print them.
    static func toRead(explicit: String?, socket: String? = nil) throws -> LocatedRules {
        guard let explicit, !isUsual(explicit) else {
            return try toLookAt(explicit: explicit, socket: socket)
        }
        return try LocatedRules(explicit: explicit, secrets: .unread, tellsWarnings: false)
    }

    /// What the lupin holds that runs by the file at `path`; nil where none does.
    static func held(_ path: String, socket: String? = nil) -> RulesInForce? {
        guard let target = PublicFile.target(of: path),
            let held = RunningLupin.rules(socket: socket, rulesFile: socket == nil ? path : nil),
            PublicFile.target(of: held.file) == target
        else { return nil }
        return held
    }

    /// Whether `lupin serve` would use the file, without its name.
    static func isUsual(_ path: String) -> Bool {
        guard let usual = RulesFile.locate(explicit: nil, environment: environment),
            let target = PublicFile.target(of: path)
        else { return false }
        return target == PublicFile.target(of: usual)
    }

    /// Loads the rules of a running lupin for what they say besides its address; the defaults stand
    /// in for what can't be loaded.
    static func toWork(with running: RunningStatus) -> LocatedRules {
        if let rules = inForce(running, socket: nil, isToTell: false) { return rules }
        let rules = try? LocatedRules(
            explicit: running.rules.file,
            secrets: .named,
            tellsWarnings: false
        )
        return rules ?? LocatedRules()
    }

    /// Loads the rules for a proxy beside the running one, with the secrets of this terminal.
    ///
    /// nil where they can't be loaded, such as for lack of a secret; a running lupin that could
    /// not be stood in for is told to the user.
    static func toTrace(_ running: RunningStatus?) -> Configuration? {
        let path =
            running.map(\.rules.file) ?? RulesFile.locate(explicit: nil, environment: environment)
        guard let path else { return .defaults }
        let result = RulesFile.load(path: path, environment: environment, tls: .openSSL)
        if let configuration = result.configuration { return configuration }
        guard running != nil else { return nil }
        let cause = result.errors.first.map(\.text)?.split(separator: "\n").first ?? "errors"
        StandardError.print(
            "lupin: warning: the requests don't join TRACEPARENT, since a proxy of their own "
                + "can't have the rules: \(cause)"
        )
        return nil
    }

    /// Loads the rules that the running lupin took, and says so when the file has others by now;
    /// returns nil when it has no file or does not give its text.
    ///
    /// `isToTell` is whether it is asked to tell what the rules do, which this shell may know less.
    private static func inForce(
        _ running: RunningStatus,
        socket: String?,
        isToTell: Bool = true
    ) -> LocatedRules? {
        guard running.rules.file != nil, let held = RunningLupin.rules(socket: socket) else {
            return nil
        }
        let result = RulesFile.load(
            path: held.file,
            text: Array(held.text.utf8),
            environment: held.environment(over: environment),
            secrets: .named
        )
        if isToTell { held.tellDiffering(from: environment) }
        guard let configuration = result.configuration else { return nil }
        if RulesFile.textVersion(ofFile: held.file) != configuration.textVersion {
            StandardError.print(staleness(running, held))
        }
        return LocatedRules(path: held.file, configuration, warnings: result.warnings)
    }

    /// Why the file is not what the running lupin goes by.
    private static func staleness(_ running: RunningStatus, _ held: RulesInForce) -> String {
        let error = running.rules.refused?.first?.split(separator: "\n").first
        let cause = error.map { "was refused: \($0)" } ?? "was not read again: see lupin reload"
        return "lupin: warning: \(held.file) has changed and \(cause)\n"
            + "lupin: the rules before that change apply, version \(held.version)"
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
    /// Errors go to standard error in the format of `Diagnostic.text`, and warnings after them if
    /// `tellsWarnings`. `trustOption` is the command's own way to say whose file it is.
    /// - Throws: `ExitCode.badRulesFile` when there is any error.
    init(
        explicit: String?,
        secrets: SecretReading = .required,
        environment: [String: String] = LocatedRules.environment,
        tellsWarnings: Bool = true,
        trustOption: String? = nil
    ) throws {
        guard let path = RulesFile.locate(explicit: explicit, environment: environment) else {
            if let hidden = RulesFile.hiddenFile {
                StandardError.print(
                    "lupin: note: you may not read \(hidden), so it counts as missing; it is for "
                        + "the system's lupin"
                )
            }
            self.init()
            return
        }
        let result = RulesFile.load(
            path: path,
            environment: environment,
            secrets: secrets,
            tls: .openSSL
        )
        let warnings = tellsWarnings ? result.warnings : []
        for list in [result.errors, warnings] where !list.isEmpty {
            StandardError.print(problems: list)
        }
        guard let configuration = result.configuration else { throw ExitCode.badRulesFile }
        if result.unreadReferences > 0 {
            let noun = result.unreadReferences == 1 ? "place" : "places"
            StandardError.print(
                "\(path): note: what it refers to was not read: files and variables, at "
                    + "\(result.unreadReferences) \(noun); "
                    + "\(trustOption ?? "LUPIN_RULES=\(path)") says that it is yours"
            )
        }
        self.init(path: path, configuration, warnings: result.warnings)
    }

    static var environment: [String: String] { ProcessOwner.environment }
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
