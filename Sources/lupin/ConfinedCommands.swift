// How token commands run outside beside a confined command: by nothing that it may write.
import LupinCore
import LupinIO
import LupinPolicy

/// The token commands of a proxy beside a confined command.
struct ConfinedCommands {
    private let plan: ConfinedPlan
    private let environment: [String: String]

    init(_ plan: ConfinedPlan, _ environment: [String: String]) {
        self.plan = plan
        self.environment = environment
    }

    /// The configuration with commands that run in the root folder, by their whole paths, and see
    /// nothing of what the confined command may write; search path and variables lead elsewhere.
    /// - Throws: When a program, or a file among its arguments, lies there.
    func isolated(_ configuration: Configuration) throws(ConfinedRefusal) -> Configuration {
        var copy = configuration
        for index in copy.settings.tokens.indices {
            guard case .command(let source) = copy.settings.tokens[index].source else { continue }
            copy.settings.tokens[index].source = .command(try isolated(source))
        }
        return copy
    }

    private func isolated(_ source: CommandSource) throws(ConfinedRefusal) -> CommandSource {
        var source = source
        let path = searchPath
        // They were meant from here, and the program runs in the root folder.
        let here = ProcessOwner.directory
        source.arguments = source.arguments.map { word in
            guard word.contains("/"), !word.hasPrefix("/"), PublicFile.exists("\(here)/\(word)")
            else { return word }
            return "\(here)/\(word)"
        }
        if let name = source.arguments.first, !name.contains("/") {
            guard let program = ProgramSearch(path: path).find(name) else {
                throw ConfinedRefusal(
                    message: ProgramSearch(path: environment["PATH"]).find(name) == nil
                        ? "the token command \(name) is no program in any folder of PATH"
                        : "the token command \(name) is in no folder of PATH that the command "
                            + "can't write to"
                )
            }
            source.arguments[0] = program
        }
        let values = source.arguments.map { $0.split(separator: "=").last.map(String.init) ?? "" }
        for word in source.arguments + values where word.hasPrefix("/") && plan.isWritable(word) {
            throw ConfinedRefusal(
                message: "the token command uses \(word), which the command could change and have "
                    + "run outside: put it elsewhere"
            )
        }
        let own = Set(source.variables.map(\.name))
        let others = environment.filter { !own.contains($0.key) && mentionsWritable($0.value) }
        source.variables += others.keys.sorted().map { name in
            CommandSource.Variable(name: name, value: SecretText(""))
        }
        if !own.contains("PATH") {
            source.variables.append(.init(name: "PATH", value: SecretText(path)))
        }
        source.folder = "/"
        source.unseen = plan.writableEntries
        return source
    }

    private var searchPath: String {
        let folders = (environment["PATH"] ?? "").split(separator: ":").map(String.init)
        return folders.filter { $0.hasPrefix("/") && !plan.isWritable($0) }.joined(separator: ":")
    }

    /// Whether a variable names a place, or a list of places, that the command may write.
    private func mentionsWritable(_ value: String) -> Bool {
        value.split(separator: ":").contains { $0.hasPrefix("/") && plan.isWritable(String($0)) }
    }
}
