// The command `lupin`: its subcommands, and the meaning of its exit codes.
import ArgumentParser
import LupinConfinement
import LupinCore
import LupinIO
import LupinPolicy

// All commands are synchronous: `serve` must block signals before any other thread exists, and an
// asynchronous main would already have started some.
@main
struct Lupin: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "lupin",
        abstract: "A forward proxy that applies your rules to the requests of every tool.",
        discussion: """
            Start lupin, send a tool through it, and watch:

              lupin serve
              eval "$(lupin env)"; curl http://example.com/

            A rules file says what lupin does with requests: see `lupin help rules-file` and \
            `lupin help settings`.

            Exit codes: 0 success, 1 failure while running, 2 bad rules file, 64 wrong command \
            line, 69 lupin cannot listen on an address. `check --against` ends with 3 if it found \
            refusals, `exec` with the code of its command.
            """,
        // What the line says of OpenSSL would delay every other command by a millisecond.
        version: isVersionAsked ? VersionText.line : VersionText.lupin,
        subcommands: [
            ServeCommand.self, ReloadCommand.self, StatusCommand.self, ExecCommand.self,
            EnvCommand.self, DoctorCommand.self, AuthorityCommand.self, PinCommand.self,
            TrustCommand.self, CheckCommand.self, SchemaCommand.self, SuggestCommand.self,
            RulesCommand.self,
            ExplainCommand.self, PrintCurlCommand.self, LogCommand.self, InspectCommand.self,
            ArchiveCommand.self, CacheCommand.self, SettingsCommand.self, VersionCommand.self,
            HelpCommand.self, ConfinedCommand.self, ApartCommand.self,
        ],
        defaultSubcommand: ServeCommand.self
    )

    /// What was typed behind the program's name.
    private static let words = Array(ProcessArguments.all.dropFirst())
    private static let isVersionAsked = words.contains("--version")

    /// As the argument parser would do it, but whatever it says about words and files of others
    /// goes through the writers for terminals.
    static func main() {
        // A process that maps users does it in its own /proc, which would be root's then.
        let mapping = [ConfinedCommand.name, ApartProcess.commandName]
        if !mapping.contains(words.first ?? "") {
            ProcessSecrecy.begin()
        }
        do {
            try refuseUnknownCommand()
            var command = try parseAsRoot(words)
            try command.run()
        } catch {
            let (code, message) = (exitCode(for: error), fullMessage(for: error))
            if !message.isEmpty {
                if code.isSuccess {
                    StandardOutput.print(code: message)
                } else {
                    StandardError.print(message)
                }
            }
            exit(withError: code)
        }
    }

    /// A mistyped command would be an argument of `serve`, which has none.
    private static func refuseUnknownCommand() throws {
        guard let word = words.first, !word.hasPrefix("-") else { return }
        let commands = configuration.subcommands.map { $0.configuration }
        if commands.contains(where: { $0.commandName == word || $0.aliases.contains(word) }) {
            return
        }
        let known = commands.filter(\.shouldDisplay).compactMap(\.commandName)
        let near = nearest(to: word, among: known).map { "; did you mean \($0)?" }
        throw ValidationError(
            "there is no command \"\(LogText.plain(word))\"\(near ?? "; lupin help lists all")"
        )
    }
}

extension ExitCode {
    /// Says why a command can't do what its words ask for.
    ///
    /// They are right, so nothing is said of its usage, as by a `ValidationError`.
    static func failure(_ reason: String) -> ExitCode {
        StandardError.print("lupin: error: \(reason)")
        return .failure
    }

    /// The rules file has errors.
    static let badRulesFile = ExitCode(2)
    /// lupin cannot listen on an address (EX_UNAVAILABLE of sysexits.h).
    static let cannotBind = ExitCode(69)
}
