// `lupin explain`: shows what the rules do to a request, and why a rule does not match it.
import ArgumentParser
import LupinConsole
import LupinCore
import LupinIO
import LupinPolicy
import LupinRecords
import LupinRules

struct ExplainCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "explain",
        abstract: "Show which rules match a request, why others don't, and what they do.",
        discussion: """
            Prints for every rule whether it matches and, if not, which key does not; for every \
            key the line that sets it; what lupin would send again after a failure, and what the \
            cache does; then the request as it would go out, with placeholders for secrets. \
            Nothing is sent, fetched or run. If a lupin runs, its rules in force are explained, \
            and the rules that it bypasses now; otherwise the rules file is. Of a lupin that runs, \
            parent proxies of its environment hold; variables of its own that it does not tell are \
            taken from this shell, and a warning names those that differ.

              lupin explain https://api.example/v1/users
              lupin explain -X POST -H 'X-Env: staging' http://www.example/api
              lupin explain --sni files.example https://api.example/
              lupin explain -X CONNECT api.example:443
              lupin explain --rules try.yaml --json https://api.example/ | jq .keys
              lupin explain 6f1c0e0b
              lupin explain last host:api.example
              lupin explain --log ~/lupin.jsonl last:3

            Pass an exchange instead of a URL to see why it ended as it did: the first digits of \
            its ID, last, last:3 (the third last), or last with a filter such as host:NAME \
            (lupin help filters). It comes from the running lupin, or with --log from JSON \
            lines; without either, from log.to or from what lupin exec left. The rules are those \
            of now.

            Of an exchange, the reason comes first: how it ended, when, and by which rules, on \
            one screen; --all tells all that a URL gets. A rule with program or user matches \
            only if --program or --user gives one. With more than 50 rules only those that match \
            are printed; --all prints every rule, and every setting that applies to a request. \
            On a terminal a longer text goes to $PAGER, or less.

            Exit codes: 0 printed, 1 there is no such exchange or no lupin answers, 2 bad rules \
            file, 64 wrong command line or URL.
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

    @Option(
        help: ArgumentHelp(
            "The server name of the TLS inside the CONNECT; without it the URL's host.",
            valueName: "name"
        )
    )
    var sni: String?

    @Option(rulesFile: "The rules file.")
    var rulesFile: String?

    @Flag(help: "Print one object in JSON.")
    var json = false

    @Flag(help: "Tell every rule and every setting, and all of an exchange.")
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

    @Argument(
        help: ArgumentHelp(
            "A URL; or an exchange: digits of its ID, or last.",
            valueName: "url"
        )
    )
    var words: [String]

    private func reference() throws -> ExchangeReference? {
        try ExchangeReference(commandLine: words)
    }

    func validate() throws {
        if socket != nil, log != nil {
            throw ValidationError("--socket and --log exclude each other")
        }
        guard try reference() != nil else {
            if words.count > 1 {
                throw ValidationError("\"\(Self.shown(words[1]))\" is one word too many")
            }
            if log != nil { throw ValidationError("--log goes with an exchange") }
            return
        }
        guard method == nil, fields.isEmpty, client == nil, program == nil, user == nil, sni == nil
        else {
            throw ValidationError("-X, -H, --client, --program, --user and --sni go with a URL")
        }
    }

    /// The target of a CONNECT may have the form of its request line: `host:443`.
    private func target(of word: String) -> HTTPURL? {
        guard method?.method == .connect, !word.contains("://") else { return HTTPURL(word) }
        let parts = word.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count > 1, let port = parts.last,
            NumberReader.unsigned(port, max: UInt64(UInt16.max)) != nil
        else { return nil }
        return HTTPURL("https://\(word)")
    }

    func run() throws {
        if let reference = try reference() { return try explain(reference) }
        let url = words[0]
        guard let target = target(of: url) else {
            let shown = "\"\(Self.shown(url))\""
            if url.contains("://"), url.prefix(while: { $0 != "?" && $0 != "#" }).contains("@") {
                throw ValidationError(
                    "leave user and password out of the URL: clients send them as a field"
                )
            }
            throw ValidationError(
                url.contains("://")
                    ? "\(shown) is no http or https URL"
                    : "\(shown) is neither a URL, which begins with http:// or https://, nor an "
                        + "exchange: 4 or more digits of its id, or last"
                        + (method?.method == .connect ? "; a CONNECT is for host:port" : "")
            )
        }
        let given = fields.map { (name: $0.name, value: $0.value) }
        var request = ExplainedRequest(target, method: method?.method ?? .get, fields: given)
        if let client {
            guard let address = IPAddress(client) else {
                throw ValidationError("\"\(client)\" is no address")
            }
            request.client = address
        }
        request.program = program
        request.user = user
        if sni != nil, target.origin.scheme == .http, request.head.method != .connect {
            throw ValidationError("--sni goes with https or -X CONNECT")
        }
        request.serverName = sni
        let bypasses = RunningBypass.all(socket: socket, rulesFile: rulesFile)
            .filter { $0.host == request.origin.hostAndPort }
        try tell(request, nil, bypasses)
    }

    private func tell(
        _ request: ExplainedRequest,
        _ record: RecordedExchange?,
        _ bypasses: [RunningBypass]
    ) throws {
        let rules = try LocatedRules.toRead(explicit: rulesFile, socket: socket)
        let written = rules.path.map { _ in WrittenFile(of: rules.configuration) }
        var explanation = Explanation(request, rules.configuration, written, record: record)
        explanation.bypasses = bypasses
        if let retry = explanation.retry {
            let standing = RunningOrigin.find(
                explanation.finalOrigin,
                record == nil ? retry.policy : nil,
                compresses: explanation.plan.compress != nil,
                isInside: explanation.entry.isIntercepted,
                socket: socket,
                rulesFile: rulesFile
            )
            explanation.health = standing.health
            explanation.uncompressedUntil = standing.uncompressedUntil
            explanation.http1Until = standing.http1Until
        }
        if json { return StandardOutput.print(explanation.json) }
        let text = ExplainText(
            explanation: explanation,
            tellsAll: all,
            isBrief: !all,
            columns: LocatedLog.columns ?? 80
        )
        PagedText.show(text.text, isExplanation: true)
    }

    private func explain(_ reference: ExchangeReference) throws {
        let exchange: RecordedExchange
        do throws(RecordProblem) {
            exchange = try RecordedExchanges.find(
                reference,
                log: log,
                socket: socket,
                rulesFile: rulesFile
            )
        } catch {
            StandardError.print("lupin: \(error.message)")
            throw ExitCode.failure
        }
        guard let request = ExplainedRequest(exchange) else {
            // There is no request to match, but the exchange ended for a reason.
            if !json { StandardOutput.print(exchange.end.lines.joined(separator: "\n")) }
            StandardError.print("lupin: the record does not tell its request")
            if json { throw ExitCode.failure }
            return
        }
        try tell(request, exchange, [])
    }

    /// Redacts what could be a password.
    private static func shown(_ url: String) -> String {
        Redactor(settings: RedactionSettings(), secrets: [], digest: { _ in 0 }).cleaned(url)
            .replacing("REDACTED.0000", with: "REDACTED")
    }
}
