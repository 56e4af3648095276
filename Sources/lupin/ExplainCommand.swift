// `lupin explain`: what the rules make of a request, and why a rule does not match it.
import ArgumentParser
import LupinCore
import LupinRules

struct ExplainCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "explain",
        abstract: "Tell which rules match a request, why others don't, and what they do to it.",
        discussion: """
            For every rule it says whether it matches and, if not, which key does not
            hold; for every key where it stands and which one wins; then what the request
            becomes, with placeholders for secrets. Nothing is sent, fetched or run, and
            no lupin needs to run.

              lupin explain https://api.example/v1/users
              lupin explain -X POST -H 'X-Env: staging' http://www.example/api
              lupin explain --rules try.yaml --json https://api.example/ | jq .keys

            A rule that asks for the client's program or user matches only if --program
            or --user say who asks. With more than 50 rules only the matching ones are
            told, unless --all is given; it also lists every setting that has to do with
            a request.

            Exit codes: 0 told, 2 bad rules file, 64 wrong command line or URL.
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
        name: .customLong("rules"),
        help: ArgumentHelp("The rules file.", valueName: "file"),
        completion: .file(extensions: ["yaml", "yml"])
    )
    var rulesFile: String?

    @Flag(help: "Print one object in JSON.")
    var json = false

    @Flag(help: "Tell every rule and every setting.")
    var all = false

    @Argument(help: "An http or https URL.")
    var url: String

    func run() throws {
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
        let rules = try LocatedRules(explicit: rulesFile)
        let written = rules.path.flatMap { WrittenFile(path: $0, of: rules.configuration) }
        let explanation = Explanation(request, rules.configuration, written)
        print(json ? explanation.json : ExplainText(explanation: explanation, tellsAll: all).text)
    }

    /// Without what could be a password.
    private static func shown(_ url: String) -> String {
        Redactor(settings: RedactionSettings(), secrets: [], digest: { _ in 0 }).cleaned(url)
            .replacing("REDACTED.0000", with: "REDACTED")
    }
}
