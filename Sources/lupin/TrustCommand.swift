// `lupin trust`: the commands that evaluate certificates as lupin does.
import ArgumentParser

struct TrustCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "trust",
        abstract: "Ask what lupin thinks of certificates.",
        subcommands: [TrustEvaluateCommand.self]
    )
}
