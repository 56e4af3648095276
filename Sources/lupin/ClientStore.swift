// The interface of a trust store: installing, finding and removing a CA, and the reports.
import ArgumentParser
import LupinIO
import LupinTLS

/// The trust stores of one kind on this machine.
protocol ClientStore {
    /// The places that hold a CA.
    func locations(of mark: AuthorityMark) -> [String]

    /// Adds a CA wherever it is missing.
    ///
    /// - Parameters:
    ///   - mark: The CA's mark.
    ///   - certificate: The CA's certificate.
    ///   - file: The path of its PEM file.
    /// - Returns: A report for each place.
    func install(
        _ mark: AuthorityMark,
        _ certificate: Certificate,
        from file: String
    ) -> [StoreReport]

    /// Removes what `install` added for any of the marks; reports nothing for places without them.
    func uninstall(_ marks: [AuthorityMark]) -> [StoreReport]
}

/// The values of `--only`.
enum StoreKind: String, CaseIterable {
    case system, nss, java
}

/// The outcome for one store.
struct StoreReport {
    enum Outcome {
        /// The change that was made, and the command that undoes it.
        case done(String, undo: String? = nil)
        /// The reason for which there is nothing to do, or nothing can be done.
        case skipped(String)
        /// A command that must be run as root.
        case needsRoot(String)
        case failed(String)
    }

    let kind: StoreKind
    let outcome: Outcome

    /// Whether the store is not yet in the state that the user wants.
    var isUnfinished: Bool {
        switch outcome {
        case .done, .skipped: false
        case .needsRoot, .failed: true
        }
    }

    func text(isDryRun: Bool) -> String {
        let prefix = "\(kind.rawValue): "
        switch outcome {
        case .done(let deed, let undo):
            let line = prefix + (isDryRun ? "would have " : "") + deed
            guard let undo, !isDryRun else { return line }
            return "\(line)\n  undo: \(undo)"
        case .skipped(let reason): return prefix + reason
        case .needsRoot(let command): return "\(prefix)needs root; run:\n  \(command)"
        case .failed(let reason): return "\(prefix)failed: \(reason)"
        }
    }
}

/// This machine, or an image's root, as the stores see it.
struct StoreSurroundings {
    let environment: [String: String]
    /// The prefix of the system's and JDKs' paths; empty for this machine.
    let root: String
    let isDryRun: Bool
    private let commands: CommandRun

    init(environment: [String: String], root: String, isDryRun: Bool) {
        self.environment = environment
        self.root = root
        self.isDryRun = isDryRun
        // The output of programs is parsed, so it must be in one language.
        commands = CommandRun(
            environment: environment.merging(["LC_ALL": "C"]) { _, own in own }
        )
    }

    /// The user's home by `HOME`, where programs have their databases, or else by the account.
    var home: String? { absolute("HOME") ?? ProcessOwner.accountHome }

    /// The folder for programs' state by the XDG Base Directory Specification.
    var stateFolder: String? { absolute("XDG_STATE_HOME") ?? home.map { "\($0)/.local/state" } }

    /// Returns the variable's value if it is an absolute path.
    func absolute(_ name: String) -> String? {
        environment[name].flatMap { $0.hasPrefix("/") ? $0 : nil }
    }

    /// Finds a program in the user's PATH; returns nil if it isn't installed.
    func program(_ name: String) -> String? {
        PublicFile.program(name, in: environment["PATH"] ?? "/usr/local/bin:/usr/bin:/bin")
    }

    /// Finds an administrator's program, which may be outside the user's PATH.
    func systemProgram(_ name: String) -> String? {
        program(name) ?? PublicFile.program(name, in: "/usr/local/sbin:/usr/sbin:/sbin:/usr/bin")
    }

    /// Runs a program; returns its output, or the reason for its failure in one line.
    func run(_ program: String, _ arguments: [String]) -> Result<String, CommandFailure> {
        do throws(SystemError) {
            let outcome = try commands.run(program, arguments)
            if outcome.hasSucceeded { return .success(outcome.output) }
            if outcome.hasTimedOut { return .failure(CommandFailure("\(program) took too long")) }
            let lines = outcome.output.split(whereSeparator: \.isNewline)
            let words = lines.last.map { String($0.prefix(300)) } ?? "no reason given"
            return .failure(CommandFailure("\(program) ended with \(outcome.code): \(words)"))
        } catch {
            return .failure(CommandFailure("cannot run \(program): \(error.message)"))
        }
    }

    /// Formats a command with shell quoting.
    static func shell(_ words: String...) -> String {
        words.map { word in
            let isPlain = word.utf8.allSatisfy {
                switch $0 {
                case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
                case 0x2D, 0x2E, 0x2F, 0x3A, 0x5F, 0x2C: true
                default: false
                }
            }
            return isPlain && !word.isEmpty ? word : Shell.sh.quoted(word)
        }.joined(separator: " ")
    }
}

/// The options that select stores.
struct StoreOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Only these stores, parted by commas: system, nss, java.",
            valueName: "stores"
        )
    )
    var only: StoreSelection?

    @Option(
        help: ArgumentHelp(
            "The system and JDKs below this folder, a mounted image, instead of this machine's.",
            valueName: "folder"
        )
    )
    var root: String?

    func validate() throws {
        if let root, !root.hasPrefix("/") || root.hasSuffix("/") {
            throw ValidationError("--root is an absolute path without a slash at its end")
        }
    }

    var surroundings: StoreSurroundings { surroundings(isDryRun: false) }

    /// Whether all stores are selected.
    var includesAll: Bool { root == nil && only.map { $0.kinds.count == 3 } ?? true }

    /// The selected stores; with a root, a user's own stores are left out.
    func stores(isDryRun: Bool) -> [any ClientStore] {
        stores(kinds, isDryRun, removing: [.keytool, .system])
    }

    /// The stores to remove from: includes what the system's store passed on to Java.
    func storesToClear(isDryRun: Bool) -> [any ClientStore] {
        var sources: [JavaStores.Source] = []
        if kinds.contains(.java) { sources.append(.keytool) }
        if kinds.contains(.system) { sources.append(.system) }
        let all = kinds + (kinds.contains(.java) || !kinds.contains(.system) ? [] : [.java])
        return stores(all, isDryRun, removing: sources)
    }

    private var kinds: [StoreKind] {
        only?.kinds ?? StoreKind.allCases.filter { root == nil || $0 != .nss }
    }

    private func stores(
        _ kinds: [StoreKind],
        _ isDryRun: Bool,
        removing sources: [JavaStores.Source]
    ) -> [any ClientStore] {
        let surroundings = surroundings(isDryRun: isDryRun)
        return kinds.map { kind in
            switch kind {
            case .system: SystemStore(surroundings)
            case .nss: NSSStores(surroundings)
            case .java: JavaStores(surroundings, removing: sources)
            }
        }
    }

    private func surroundings(isDryRun: Bool) -> StoreSurroundings {
        StoreSurroundings(
            environment: LocatedRules.environment,
            root: root ?? "",
            isDryRun: isDryRun
        )
    }
}

/// The value of `--only`.
struct StoreSelection: ExpressibleByArgument {
    /// In the order of dependence: the system's store feeds Java's.
    let kinds: [StoreKind]

    init?(argument: String) {
        let names = argument.split(separator: ",", omittingEmptySubsequences: false)
        let chosen = names.compactMap { StoreKind(rawValue: String($0)) }
        guard chosen.count == names.count else { return nil }
        kinds = StoreKind.allCases.filter(chosen.contains)
    }
}
