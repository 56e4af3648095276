// `lupin reload`: has a running lupin take its changed rules, and says what is wrong with them.
import ArgumentParser
import LupinIO

struct ReloadCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reload",
        abstract: "Have the running lupin read its rules file again.",
        discussion: """
            All of the file is taken or nothing: one with errors is told here as `lupin check`
            tells it, and the rules stay as they were. What is under way ends by the rules it
            began with. Certificates and secrets that the file names are read again too.

            A running lupin sees by itself when its file changes, and SIGHUP does the same.

              lupin reload
              lupin reload --socket /run/user/1000/lupin.sock

            Exit codes: 0 taken, 1 no lupin answers, 2 bad rules file.
            """
    )

    @OptionGroup var place: AdminPlace

    func run() throws {
        let place = place
        let code = try ControlLoop.run { executor in
            do throws(AdminProblem) {
                return Self.tell(try await place.client().post("/v1/reload", on: executor.loop))
            } catch {
                StandardError.print("lupin: \(error.message)")
                return .failure
            }
        }
        if code != .success { throw code }
    }

    private static func tell(_ reply: AdminReply) -> ExitCode {
        struct Loaded: Decodable {
            var version: String
            var warnings: [String]
        }
        struct Rejected: Decodable { var errors: [String] }
        if reply.isSuccess, let loaded = reply.decoded(as: Loaded.self) {
            for warning in loaded.warnings { StandardError.print(warning) }
            print("rules \(loaded.version) loaded")
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

/// The options by which commands find a running lupin.
struct AdminPlace: ParsableArguments {
    @Option(
        help: ArgumentHelp("The socket of the running lupin (admin.socket).", valueName: "path"),
        completion: .file()
    )
    var socket: String?

    @Option(
        name: .customLong("rules"),
        help: ArgumentHelp("The rules file that names the socket.", valueName: "file"),
        completion: .file(extensions: ["yaml", "yml"])
    )
    var rulesFile: String?

    func client() throws(AdminProblem) -> AdminClient {
        try AdminClient.locate(socket: socket, rulesFile: rulesFile)
    }
}
