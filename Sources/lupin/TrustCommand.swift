// `lupin trust`: the commands that ask what lupin thinks of certificates.
import ArgumentParser

struct TrustCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "trust",
        abstract: "Ask what lupin thinks of certificates.",
        subcommands: [TrustEvaluateCommand.self]
    )
}
