// `lupin explain`: what the rules make of a request, and why a rule does not match it.
import ArgumentParser
import LupinCore
import LupinIO
import LupinRules

struct ExplainCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "explain",
        abstract: "Tell which rules match a request, why others don't, and what they do to it.",
        discussion: """
            For every rule it says whether it matches and, if not, which key does not
            hold; for every key where it stands and which one wins; what would be sent
            again after a failure, and what the cache does; then what the request
            becomes, with placeholders for secrets. Nothing is sent, fetched or run, and
            no lupin needs to run.

              lupin explain https://api.example/v1/users
              lupin explain -X POST -H 'X-Env: staging' http://www.example/api
              lupin explain --rules try.yaml --json https://api.example/ | jq .keys
              lupin explain 6f1c0e0b2a9d4b7fa3c5d6e7f8091a2b
              lupin explain --log ~/lupin.jsonl 6f1c0e0b2a9d4b7fa3c5d6e7f8091a2b

            In place of a URL there may be the id of an exchange: its request is taken
            from the lupin that runs, or with --log from JSON lines, and judged by the
            rules as they are now. Whether its response is stored is told too, as far as
            the record has the fields that say so.

            A rule that asks for the client's program or user matches only if --program
            or --user say who asks. With more than 50 rules only the matching ones are
            told, unless --all is given; it also lists every setting that has to do with
            a request.

            Exit codes: 0 told, 1 there is no such exchange or no lupin answers, 2 bad
            rules file, 64 wrong command line or URL.
            """
    )

    @Option(name: [.customShort("X"), .customLong("method")], help: "The method; without it GET.")
    var method: MethodArgument?

    @Option(
        name: [.customShort("H"), .customLong("header")],
        help: ArgumentHelp("A field of the request; may be repeated.", valueName: "name: value")
    )
    var fields: [FieldArgument] = []

    @Option(help: ArgumentHelp("Who asks; without it 127.0.0.1.", valueName: "address"))
    var client: String?

    @Option(help: ArgumentHelp("The program that asks.", valueName: "name"))
    var program: String?

    @Option(help: ArgumentHelp("The user that listen.auth knows the client as.", valueName: "name"))
    var user: String?

    @Option(rulesFile: "The rules file.")
    var rulesFile: String?

    @Flag(help: "Print one object in JSON.")
    var json = false

    @Flag(help: "Tell every rule and every setting.")
    var all = false

    @Option(
        help: ArgumentHelp("The socket of the running lupin, for an exchange.", valueName: "path"),
        completion: .file()
    )
    var socket: String?

    @Option(
        help: ArgumentHelp(
            "A log to find the exchange in; - is standard input.",
            valueName: "file"
        ),
        completion: .file(extensions: ["jsonl", "log"])
    )
    var log: String?

    @Argument(help: "An http or https URL, or the id of an exchange.")
    var url: String

    /// Whether an exchange is asked about: 32 hexadecimal digits.
    private var isExchange: Bool {
        url.utf8.count == 32 && url.utf8.allSatisfy { $0.hexDigit != nil }
    }

    func validate() throws {
        if socket != nil, log != nil {
            throw ValidationError("--socket and --log exclude each other")
        }
        guard isExchange else {
            if socket != nil || log != nil {
                let option = log == nil ? "--socket" : "--log"
                throw ValidationError("\(option) goes with the id of an exchange")
            }
            return
        }
        guard method == nil, fields.isEmpty, client == nil, program == nil, user == nil else {
            throw ValidationError("-X, -H, --client, --program and --user go with a URL")
        }
    }

    func run() throws {
        if isExchange { return try explainExchange() }
        guard let target = HTTPURL(url) else {
            throw ValidationError(
                url.contains("://")
                    ? "\"\(Self.shown(url))\" is no http or https URL"
                    : "a URL begins with http:// or https://"
            )
        }
        var request = ExplainedRequest(target, method: method?.method ?? .get, fields: fields)
        if let client {
            guard let address = IPAddress(client) else {
                throw ValidationError("\"\(client)\" is no address")
            }
            request.client = address
        }
        request.program = program
        request.user = user
        print(try Self.text(of: request, nil, rulesFile, isJSON: json, tellsAll: all))
    }

    private static func text(
        of request: ExplainedRequest,
        _ record: RecordedExchange?,
        _ rulesFile: String?,
        isJSON: Bool,
        tellsAll: Bool
    ) throws -> String {
        let rules = try LocatedRules(explicit: rulesFile)
        let written = rules.path.flatMap { WrittenFile(path: $0, of: rules.configuration) }
        let explanation = Explanation(request, rules.configuration, written, record: record)
        return isJSON
            ? explanation.json : ExplainText(explanation: explanation, tellsAll: tellsAll).text
    }

    private func explainExchange() throws {
        let (id, log, socket, rulesFile) = (url.lowercased(), log, socket, rulesFile)
        let (json, all) = (json, all)
        let code = try ControlLoop.run { executor in
            let exchange: RecordedExchange
            do throws(RecordProblem) {
                exchange = try await RecordedExchanges.find(
                    id,
                    log: log,
                    socket: socket,
                    rulesFile: rulesFile,
                    on: executor.loop
                )
            } catch {
                StandardError.print("lupin: \(error.message)")
                return .failure
            }
            guard let request = ExplainedRequest(exchange) else {
                StandardError.print("lupin: the record does not tell its request")
                return .failure
            }
            do {
                print(try Self.text(of: request, exchange, rulesFile, isJSON: json, tellsAll: all))
                return .success
            } catch {
                // Whoever read the rules has told what is wrong with them.
                return error as? ExitCode ?? .failure
            }
        }
        if code != .success { throw code }
    }

    /// Without what could be a password.
    private static func shown(_ url: String) -> String {
        Redactor(settings: RedactionSettings(), secrets: [], digest: { _ in 0 }).cleaned(url)
            .replacing("REDACTED.0000", with: "REDACTED")
    }
}
