// `lupin curl`: prints a recorded request as a curl command that repeats it.
import ArgumentParser
import LupinIO
import LupinRecords

struct PrintCurlCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "curl",
        abstract: "Print a curl command that repeats a recorded request.",
        discussion: """
            Pass the first digits of an exchange's ID, which are in its line of the log and in \
            every response that lupin itself makes. Or pass last, last:3 (the third last), or \
            last with a filter, such as last host:api.example. The exchange comes from the \
            running lupin, which remembers all fields. With --log it comes from JSON lines, \
            which have only the values that log.headers allows.

              lupin curl last
              lupin curl --adapted --attempt 1 6f1c0e0b
              lupin curl --log ~/lupin.jsonl 6f1c0e0b

            A secret becomes a variable with the name of its field, such as $AUTHORIZATION; a \
            comment lists those to set. A body is included if a rule captured all of it; else a \
            comment says how many bytes are missing.

            Exit codes: 0 printed, 1 there is no such exchange or no lupin answers, 64 wrong \
            command line.
            """
    )

    @Flag(help: "The request as it went upstream, after the rules.")
    var adapted = false

    @Flag(help: "The request as the client sent it (the default).")
    var original = false

    @Option(
        help: ArgumentHelp("With --adapted, which attempt; without it the last.", valueName: "n")
    )
    var attempt: Int?

    @OptionGroup var admin: AdminOptions

    @Option(
        help: ArgumentHelp("A log to look in; - is standard input.", valueName: "file"),
        completion: .file(extensions: ["jsonl", "log"])
    )
    var log: String?

    @Argument(help: ArgumentHelp("The exchange: digits of its ID, or last.", valueName: "id"))
    var words: [String]

    func validate() throws {
        if adapted, original {
            throw ValidationError("--adapted and --original exclude each other")
        }
        if attempt != nil, !adapted { throw ValidationError("--attempt goes with --adapted") }
        if let attempt, attempt < 1 { throw ValidationError("attempts are counted from 1") }
        if admin.socket != nil, log != nil {
            throw ValidationError("--socket and --log exclude each other")
        }
        _ = try reference()
    }

    private func reference() throws -> ExchangeReference {
        if let reference = try ExchangeReference(commandLine: words) { return reference }
        throw ValidationError(
            "\"\(words.joined(separator: " "))\" names no exchange: pass 4 or more digits of "
                + "its id, last, last:3 or last with a filter such as host:NAME"
        )
    }

    func run() throws {
        let (reference, admin, log) = (try reference(), admin, log)
        let (adapted, attempt) = (adapted, attempt)
        let code = try ControlLoop.run { executor in
            do throws(RecordProblem) {
                var exchange = try await RecordedExchanges.find(
                    reference,
                    log: log,
                    socket: admin.socket,
                    rulesFile: admin.rulesFile,
                    on: executor.loop
                )
                if log == nil, let side = exchange.bodySide(adapted: adapted) {
                    exchange.capturedBody = await RecordedExchanges.body(
                        side,
                        of: exchange,
                        socket: admin.socket,
                        rulesFile: admin.rulesFile,
                        on: executor.loop
                    )
                }
                return Self.tell(exchange, adapted: adapted, attempt: attempt)
            } catch {
                StandardError.print("lupin: \(error.message)")
                return .failure
            }
        }
        if code != .success { throw code }
    }

    private static func tell(
        _ exchange: RecordedExchange,
        adapted: Bool,
        attempt: Int?
    ) -> ExitCode {
        do throws(CurlProblem) {
            let command =
                adapted
                ? try exchange.adaptedCommand(attempt: attempt) : try exchange.originalCommand()
            StandardOutput.print(command.text)
            return .success
        } catch {
            StandardError.print("lupin: \(error.message)")
            return .failure
        }
    }
}
