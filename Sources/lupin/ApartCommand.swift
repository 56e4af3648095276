// `lupin apart`: what starts a token command beside a confined command; not for people.
import ArgumentParser
import LupinConfinement

struct ApartCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: ApartProcess.commandName,
        abstract: "Run a token command beside lupin exec --confine.",
        shouldDisplay: false
    )

    @Option
    var without: [String] = []

    @Argument(parsing: .captureForPassthrough)
    var command: [String]

    func run() throws {
        let words = Array(command.first == "--" ? command[1...] : command[...])
        guard !words.isEmpty else { throw ExitCode.failure }
        ApartProcess.run(words, without: without) { StandardError.print("lupin: error: \($0)") }
    }
}
