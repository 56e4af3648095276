// `lupin har`: exchanges as an HTTP Archive.
import ArgumentParser
import LupinCore
import LupinIO
import LupinRecords

struct ArchiveCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "har",
        abstract: "Export exchanges as an HTTP Archive (HAR), or look at one.",
        subcommands: [ArchiveExportCommand.self, ArchiveShowCommand.self]
    )
}

struct ArchiveExportCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Print the last exchanges as an HTTP Archive (HAR 1.2).",
        discussion: """
            Developer tools of browsers open it: drop the file on their network panel. The \
            running lupin is asked for the exchanges that it remembers, with their heads, and \
            with their bodies where they are captured; what would make it longer than 64 MiB \
            is left out, the oldest first. With --log they come from JSON lines, without \
            bodies, and with values of fields only as far as log.headers says. Secrets are \
            redacted as in the log.

              lupin har export -o all.har
              lupin har export last -o one.har
              lupin har export 'host:*.acme.dev' status:5xx > errors.har
              lupin har export --log ~/lupin.jsonl 'age<1h' > hour.har

            Filters are those of lupin log; see lupin help filters. Instead of one, name a single \
            exchange as for lupin explain: the first digits of its ID, last, last:3, or last with \
            a filter.

            Exit codes: 0 printed, 1 no lupin answers, or the log can't be read or the archive \
            not written, 64 wrong command line.
            """
    )

    @OptionGroup var admin: AdminOptions

    @Option(
        help: ArgumentHelp("A log to read; - is standard input.", valueName: "file"),
        completion: .file(extensions: ["jsonl", "log"])
    )
    var log: String?

    @Option(
        name: [.customShort("o"), .customLong("output")],
        help: ArgumentHelp(
            "The file to write; without it, or with -, standard output.",
            valueName: "file"
        ),
        completion: .file(extensions: ["har"])
    )
    var output: String?

    @Argument(
        help: ArgumentHelp(
            "Which exchanges: a filter, or one as digits of its ID, or last; without it all.",
            valueName: "filter"
        )
    )
    var words: [String] = []

    func validate() throws {
        if admin.socket != nil, log != nil {
            throw ValidationError("--socket and --log exclude each other")
        }
        if try ExchangeReference(commandLine: words) != nil { return }
        if let file = words.first(where: { !FilterWords.belongs($0) }) {
            throw ValidationError(
                "\"\(file)\" is no filter, such as host:NAME, and no exchange, such as last; -o "
                    + "writes a file, --log reads one"
            )
        }
        _ = try ExchangeFilter(commandLine: words)
    }

    func run() throws {
        let reference = try ExchangeReference(commandLine: words)
        let filter = try reference == nil ? ExchangeFilter(commandLine: words) : ExchangeFilter("")
        let archive: [UInt8]
        do throws(RecordProblem) {
            switch (log, reference) {
            case (let log?, let reference?):
                archive = Self.archive(of: try RecordedExchanges.logged(reference, in: log).line)
            case (let log?, nil): archive = try logged(in: log, filter)
            case (nil, let reference?): archive = try remembered(try self.filter(naming: reference))
            case (nil, nil): archive = try remembered(filter)
            }
        } catch {
            StandardError.print("lupin: \(error.message)")
            throw ExitCode.failure
        }
        if let error = try Self.error(writing: archive, to: output ?? "-") {
            let target = output.map { " \(LogText.plain($0))" } ?? ""
            StandardError.print("lupin: can't write\(target): \(error.message)")
            throw ExitCode.failure
        }
    }

    /// A filter that keeps the exchange of the running lupin that is named.
    private func filter(
        naming reference: ExchangeReference
    ) throws(RecordProblem) -> ExchangeFilter {
        let exchange = try RecordedExchanges.remembered(
            reference,
            socket: admin.socket,
            rulesFile: admin.rulesFile
        )
        do throws(FilterProblem) {
            return try ExchangeFilter("\(FilterKey.id.rawValue):\(exchange.id)")
        } catch {
            throw RecordProblem(message: "lupin's answer has no exchange")
        }
    }

    private static func archive(of line: JSONValue) -> [UInt8] {
        var archive = HTTPArchive(version: VersionText.lupin)
        archive.add(line)
        return archive.finish()
    }

    private static func error(writing archive: [UInt8], to path: String) throws -> SystemError? {
        if path == "-" {
            var output = try StandardOutput()
            return output.error(writing: archive)
        }
        do throws(SystemError) {
            try WholeFile.write(archive, to: path)
            return nil
        } catch {
            return error
        }
    }

    private func logged(
        in file: String,
        _ filter: ExchangeFilter
    ) throws(RecordProblem) -> [UInt8] {
        var archive = HTTPArchive(version: VersionText.lupin)
        let now = SystemCall.wallMicroseconds()
        try LogLines.read(file) { line in
            let bytes = Array(line)
            guard let json = JSONValue(parsing: bytes.span), filter.matches(json, now: now)
            else { return }
            archive.add(json)
        }
        return archive.finish()
    }

    /// The archive of the running lupin.
    private func remembered(_ filter: ExchangeFilter) throws(RecordProblem) -> [UInt8] {
        let text = filter.text.percentEncoded { $0.isUnreserved }
        let reply: AdminReply
        do throws(AdminProblem) {
            reply = try AdminClient.ask(
                "GET",
                "/v1/har?filter=\(text)",
                bytesMax: AdminClient.exchangesBytesMax,
                socket: admin.socket,
                rulesFile: admin.rulesFile
            )
        } catch {
            throw RecordProblem(message: "\(error.message); --log reads a log")
        }
        guard reply.isSuccess else { throw RecordProblem(message: reply.sentence) }
        return reply.body
    }
}
