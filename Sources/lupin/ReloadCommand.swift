// `lupin reload`: makes a running lupin load its changed rules, and prints their errors.
import ArgumentParser

struct ReloadCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reload",
        abstract: "Make the running lupin read its rules file again.",
        discussion: """
            lupin takes the whole file or nothing. If the file has errors, they are printed as \
            by `lupin check`, and the rules in force stay. Exchanges under way keep the rules \
            that they began with. Certificates and secrets that the file names are read again \
            too.

            A running lupin notices by itself when its file changes. SIGHUP does the same as \
            this command.

              lupin reload
              lupin reload --socket /run/user/1000/lupin.sock

            Exit codes: 0 taken, 1 no lupin answers, 2 bad rules file.
            """
    )

    @OptionGroup var admin: AdminOptions

    func run() throws { try admin.ask("POST", "/v1/reload", Self.tell) }

    private static func tell(_ reply: AdminReply) -> ExitCode {
        struct Loaded: Decodable {
            var file: String?
            var version: String
            var warnings: [String]
        }
        struct Rejected: Decodable { var errors: [String] }
        if reply.isSuccess, let loaded = reply.decoded(as: Loaded.self) {
            for warning in loaded.warnings { StandardError.print(warning) }
            let source = loaded.file.map { " from \($0)" } ?? ""
            StandardOutput.print("rules \(loaded.version) loaded\(source)")
            return .success
        }
        if reply.status == 422, let rejected = reply.decoded(as: Rejected.self) {
            for error in rejected.errors { StandardError.print(error) }
            return .badRulesFile
        }
        StandardError.print("lupin: \(reply.sentence)")
        return .failure
    }
}
