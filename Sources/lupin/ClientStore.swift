// What a store of trusted authorities does for lupin, and what it says of it.
import ArgumentParser
import LupinCore
import LupinIO
import LupinTLS

/// Stores of one kind on this machine.
protocol ClientStore {
    /// Where an authority is held.
    func places(of mark: AuthorityMark) -> [String]

    /// Adds an authority wherever it is missing.
    ///
    /// - Parameters:
    ///   - mark: Its mark.
    ///   - certificate: Itself.
    ///   - file: Where it lies in PEM.
    /// - Returns: What became of each place.
    func install(
        _ mark: AuthorityMark,
        _ certificate: Certificate,
        from file: String
    ) -> [StoreReport]

    /// Removes what `install` added for any of the marks; says nothing of places without them.
    func uninstall(_ marks: [AuthorityMark]) -> [StoreReport]
}

/// The kinds of `--only`.
enum StoreKind: String, CaseIterable {
    case system, nss, java
}

/// What came of one store.
struct StoreReport {
    enum Outcome {
        /// What was done, and how to undo it.
        case done(String, undo: String? = nil)
        /// Nothing is to be done, or nothing can be, for this reason.
        case skipped(String)
        /// A command that root has to run.
        case needsRoot(String)
        case failed(String)
    }

    let kind: StoreKind
    let outcome: Outcome

    /// Whether the store isn't as the user wants it.
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

/// The machine as the stores see it.
struct StoreSurroundings {
    let environment: [String: String]
    /// In front of the paths of the system and of JDKs; empty for this machine.
    let root: String
    let isDryRun: Bool
    private let commands: CommandRun

    init(environment: [String: String], root: String, isDryRun: Bool) {
        self.environment = environment
        self.root = root
        self.isDryRun = isDryRun
        // What programs say is read, and so must be in one language.
        commands = CommandRun(
            environment: environment.merging(["LC_ALL": "C"]) { _, own in own }
        )
    }

    /// The user's, by `HOME` as the programs see it that have their databases there.
    var home: String? { absolute("HOME") ?? ProcessOwner.accountHome }

    /// Where the XDG Base Directory Specification has the state of programs.
    var stateFolder: String? { absolute("XDG_STATE_HOME") ?? home.map { "\($0)/.local/state" } }

    /// The variable, if it is an absolute path.
    func absolute(_ name: String) -> String? {
        environment[name].flatMap { $0.hasPrefix("/") ? $0 : nil }
    }

    /// A program of users; nil if it isn't installed.
    func program(_ name: String) -> String? {
        PublicFile.program(name, in: environment["PATH"] ?? "/usr/local/bin:/usr/bin:/bin")
    }

    /// A program of administrators, which users may not have in their PATH.
    func systemProgram(_ name: String) -> String? {
        program(name) ?? PublicFile.program(name, in: "/usr/local/sbin:/usr/sbin:/sbin:/usr/bin")
    }

    /// Runs a program: what it printed, or why it failed in one line.
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

    /// A command as a shell reads it.
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

/// The options that say which stores are meant.
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

    /// Whether no store is left out.
    var includesAll: Bool { root == nil && only.map { $0.kinds.count == 3 } ?? true }

    /// The stores that are meant: with a root, a user's own are not.
    func stores(isDryRun: Bool) -> [any ClientStore] {
        stores(kinds, isDryRun, removing: [.keytool, .system])
    }

    /// The same where something is removed: what the system's store gave to Java goes with it.
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
    /// In the order in which stores depend on one another: that of the system feeds Java's.
    let kinds: [StoreKind]

    init?(argument: String) {
        let names = argument.split(separator: ",", omittingEmptySubsequences: false)
        let chosen = names.compactMap { StoreKind(rawValue: String($0)) }
        guard chosen.count == names.count else { return nil }
        kinds = StoreKind.allCases.filter(chosen.contains)
    }
}
