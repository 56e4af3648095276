// `lupin cache`: lists and drops what the running lupin has stored.
import ArgumentParser
import LupinCaching
import LupinCore
import LupinIO
import LupinPolicy

struct CacheCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cache",
        abstract: "Show or drop what the running lupin has stored.",
        discussion: """
            Rules with `cache` store responses. These commands ask the running lupin:

              lupin cache stats                       how full it is, how often it helps
              lupin cache list '**.packages.example'  what is stored, the latest first
              lupin cache show http://a.example/b     why it is served, and how long
              lupin cache purge 'api.example/v1/**'   drops that, for all users
              lupin cache clear                       drops everything

            A client can drop a URL by the method PURGE through the proxy. Only root and the \
            user that runs lupin may do that, on this machine.

              curl -x http://127.0.0.1:8080 -X PURGE http://a.example/b
            """,
        subcommands: [
            CacheStatsCommand.self, CacheListCommand.self, CacheShowCommand.self,
            CachePurgeCommand.self, CacheClearCommand.self,
        ]
    )

    /// The syntax of a pattern, for the help of the commands that take one.
    static let patterns = """
        A pattern is written like a text in `match` of a rule,
        [scheme://]host[:port][/path], with * for one label or segment and ** for any
        number of them. Without a query it means all queries; with one, exactly that URL.
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

    @Flag(help: "Print the answer in JSON.")
    var json = false

    @OptionGroup var admin: AdminOptions

    func run() throws {
        try admin.ask("GET", "/v1/cache") { [json] reply in
            reply.tell(asJSON: json, as: CacheFigures.self) { StandardOutput.print($0.text) }
        }
    }
}

struct CacheListCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List stored responses, the latest first.",
        discussion: """
            One line each: status, size of the body, age, how long it is fresh or stale, where \
            it is kept, for whom, and the URL. `shared` is for all users; the others have a tag, \
            which is equal for equal credentials.

            \(CacheCommand.patterns)

              lupin cache list
              lupin cache list --limit 1000 'https://*.packages.example'

            Exit codes: 0 it answered, 1 no lupin answers, 64 no such pattern.
            """
    )

    @Option(help: ArgumentHelp("At most so many lines.", valueName: "number"))
    var limit = 100

    @Flag(help: "Print the answer in JSON.")
    var json = false

    @OptionGroup var admin: AdminOptions

    @Argument(help: "Only URLs that match this pattern.")
    var pattern: String?

    func validate() throws {
        if limit < 0 { throw ValidationError("--limit is no less than 0") }
        if let pattern { _ = try CachePattern(argument: pattern) }
    }

    func run() throws {
        let match = pattern.map { [(name: "match", value: $0)] } ?? []
        let query = FormText.encode(match + [(name: "limit", value: "\(limit)")])
        // An entry has its URL, and may have many.
        let bytesMax = AdminClient.exchangesBytesMax
        try admin.ask("GET", "/v1/cache/responses?\(query)", bytesMax: bytesMax) { [json] reply in
            reply.tell(asJSON: json, as: StoredResponses.self) { StandardOutput.print($0.list) }
        }
    }
}

struct CacheShowCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Tell all about what is stored of a URL.",
        discussion: """
            For every variant: for whom it is, the request fields that select it (Vary), how \
            long it is fresh and why, how lupin validates it at the origin, and its fields, with \
            secrets replaced.

              lupin cache show 'https://api.example/v1/users?page=2'

            Exit codes: 0 printed, 1 nothing is stored or no lupin answers, 64 no URL.
            """
    )

    @Flag(help: "Print the answer in JSON.")
    var json = false

    @OptionGroup var admin: AdminOptions

    @Argument(help: "An http or https URL, with its query.")
    var url: String

    func validate() throws {
        if HTTPURL(url) == nil { throw ValidationError("a URL begins with http:// or https://") }
    }

    func run() throws {
        let query = FormText.encode([(name: "url", value: url)])
        try admin.ask("GET", "/v1/cache/responses?\(query)") { [json] reply in
            reply.tell(asJSON: json, as: StoredResponses.self) { StandardOutput.print($0.details) }
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

            A pattern that matches everything is refused: use `lupin cache clear`.

            Exit codes: 0 dropped, 1 nothing was stored or no lupin answers, 64 no such \
            pattern.
            """
    )

    @OptionGroup var admin: AdminOptions

    @Argument(help: "The URLs to drop.")
    var pattern: String

    func validate() throws {
        if try CachePattern(argument: pattern).isEverything {
            throw ValidationError("\(pattern) is everything: that is `lupin cache clear`")
        }
    }

    func run() throws {
        let query = FormText.encode([(name: "match", value: pattern)])
        try admin.ask("DELETE", "/v1/cache/responses?\(query)") { reply in
            reply.tell(asJSON: false, as: DroppedResponses.self) { StandardOutput.print($0.text) }
        }
    }
}

struct CacheClearCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "clear",
        abstract: "Drop everything that is stored.",
        discussion: "Exit codes: 0 dropped, if there was anything, 1 no lupin answers."
    )

    @OptionGroup var admin: AdminOptions

    func run() throws {
        try admin.ask("DELETE", "/v1/cache") { reply in
            reply.tell(asJSON: false, as: DroppedResponses.self) { StandardOutput.print($0.text) }
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
