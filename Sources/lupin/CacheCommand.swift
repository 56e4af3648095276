// `lupin cache`: lists and drops what the running lupin has stored.
import ArgumentParser
import LupinCore
import LupinIO

struct CacheCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cache",
        abstract: "Show what the running lupin has stored, or have it dropped.",
        discussion: """
            Rules with `cache:` have responses stored. These commands ask the lupin that runs:

              lupin cache stats                       how full it is, how often it helps
              lupin cache list '**.packages.example'  what is stored, the latest first
              lupin cache show http://a.example/b     why it is served, and how long
              lupin cache purge 'api.example/v1/**'   drops that, whoever it is for
              lupin cache clear                       drops everything

            A client can have a URL dropped as well, through the proxy, by the method \
            PURGE: the user that lupin runs as, and root, on this machine.

              curl -x http://127.0.0.1:8080 -X PURGE http://a.example/b
            """,
        subcommands: [
            CacheStatsCommand.self, CacheListCommand.self, CacheShowCommand.self,
            CachePurgeCommand.self, CacheClearCommand.self,
        ]
    )

    /// The syntax of a pattern, for the help of the commands that take one.
    static let patterns = """
        A pattern is what `match:` of a rule may be as one string,
        [scheme://]host[:port][/path], with * for one label or segment and ** for any
        number of them; it means every query. What has a query is one URL.
        """
}

struct CacheStatsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "stats",
        abstract: "Say how full the cache is and what it has done.",
        discussion: """
              lupin cache stats
              lupin cache stats --json | jq .hit_ratio

            Exit codes: 0 it answered, 1 no lupin answers.
            """
    )

    @Flag(help: "Print the answer as it is, in JSON.")
    var json = false

    @OptionGroup var place: AdminPlace

    func run() throws {
        try place.ask("GET", "/v1/cache") { [json] reply in
            reply.tell(asJSON: json, as: CacheFigures.self) { print($0.text) }
        }
    }
}

struct CacheListCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List stored responses, the latest first.",
        discussion: """
            A line each: status, size of the body, age, for how long it is fresh or since \
            when it is stale, where it lies, whose it is, and the URL. `shared` is \
            everybody's; the others have a tag, the same for the same credentials.

            \(CacheCommand.patterns)

              lupin cache list
              lupin cache list --limit 1000 'https://*.packages.example'

            Exit codes: 0 it answered, 1 no lupin answers, 64 no such pattern.
            """
    )

    @Option(help: ArgumentHelp("The most lines there are.", valueName: "number"))
    var limit = 100

    @Flag(help: "Print the answer as it is, in JSON.")
    var json = false

    @OptionGroup var place: AdminPlace

    @Argument(help: "Only what lies under these URLs.")
    var pattern: String?

    func validate() throws {
        if limit < 0 { throw ValidationError("--limit is no less than 0") }
        if let pattern { _ = try CachePattern(argument: pattern) }
    }

    func run() throws {
        let match = pattern.map { [(name: "match", value: $0)] } ?? []
        let query = FormText.encode(match + [(name: "limit", value: "\(limit)")])
        try place.ask("GET", "/v1/cache/responses?\(query)") { [json] reply in
            reply.tell(asJSON: json, as: StoredResponses.self) { print($0.list) }
        }
    }
}

struct CacheShowCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Tell all about what is stored of a URL.",
        discussion: """
            For every variant: whose it is, the request fields that choose it (Vary), how \
            long it is fresh and who says so, by what the origin is asked whether it has \
            changed, and its fields as they are stored, with secrets replaced.

              lupin cache show 'https://api.example/v1/users?page=2'

            Exit codes: 0 told, 1 nothing is stored or no lupin answers, 64 no URL.
            """
    )

    @Flag(help: "Print the answer as it is, in JSON.")
    var json = false

    @OptionGroup var place: AdminPlace

    @Argument(help: "An http or https URL, with its query.")
    var url: String

    func validate() throws {
        if HTTPURL(url) == nil { throw ValidationError("a URL begins with http:// or https://") }
    }

    func run() throws {
        let query = FormText.encode([(name: "url", value: url)])
        try place.ask("GET", "/v1/cache/responses?\(query)") { [json] reply in
            reply.tell(asJSON: json, as: StoredResponses.self) { print($0.details) }
        }
    }
}

struct CachePurgeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "purge",
        abstract: "Drop what is stored of some URLs, whoever it is for.",
        discussion: """
            \(CacheCommand.patterns)

              lupin cache purge 'https://api.example/v1/users?page=2'
              lupin cache purge 'http://*.packages.example/dists/**'

            What matches everything is not taken: that is `lupin cache clear`.

            Exit codes: 0 dropped, 1 nothing was stored or no lupin answers, 64 no such \
            pattern.
            """
    )

    @OptionGroup var place: AdminPlace

    @Argument(help: "Which URLs.")
    var pattern: String

    func validate() throws {
        if try CachePattern(argument: pattern).isEverything {
            throw ValidationError("\(pattern) is everything: that is `lupin cache clear`")
        }
    }

    func run() throws {
        let query = FormText.encode([(name: "match", value: pattern)])
        try place.ask("DELETE", "/v1/cache/responses?\(query)") { reply in
            reply.tell(asJSON: false, as: DroppedResponses.self) { print($0.text) }
        }
    }
}

struct CacheClearCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "clear",
        abstract: "Drop everything that is stored.",
        discussion: "Exit codes: 0 dropped, if there was anything, 1 no lupin answers."
    )

    @OptionGroup var place: AdminPlace

    func run() throws {
        try place.ask("DELETE", "/v1/cache") { reply in
            reply.tell(asJSON: false, as: DroppedResponses.self) { print($0.text) }
        }
    }
}

extension CachePattern {
    /// Parses a pattern of the command line.
    fileprivate init(argument: String) throws(ValidationError) {
        do throws(PatternProblem) {
            try self.init(argument)
        } catch {
            throw ValidationError("\(argument): \(error.message)")
        }
    }
}
