// `lupin har show`: opens an HTTP Archive in the inspector of the running lupin.
import ArgumentParser
import LupinCore
import LupinIO
import LupinRecords

struct ArchiveShowCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Open an HTTP Archive in the inspector.",
        discussion: """
            The running lupin keeps the archive in memory until four others came, and the page \
            shows it; nothing of it is sent anywhere. The address is printed, and opened by \
            xdg-open where there is a display. It works once.

              lupin har show errors.har
              lupin har show --print tape.har

            Exit codes: 0 shown, 1 no lupin answers, or the file is no archive or longer than \
            16 MiB, 64 wrong command line.
            """
    )

    @OptionGroup var admin: AdminOptions

    @Flag(name: .customLong("print"), help: "Print the address and open nothing.")
    var isPrinted = false

    @Argument(
        help: ArgumentHelp("The archive; - is standard input.", valueName: "file"),
        completion: .file(extensions: ["har"])
    )
    var file: String

    /// What the admin interface takes.
    private static let bytesMax = 16 << 20

    func run() throws {
        let before = ChildSignals.block()
        let url: String
        do throws(RecordProblem) {
            let archive = try content()
            let number = try answer("/v1/archives", body: archive)["archive"]?.count
            let page = try answer("/v1/inspector", body: Array("{}".utf8))["url"]?.string
            guard let number, let page else {
                throw RecordProblem(message: "the running lupin has no inspector")
            }
            url = "\(page)&archive=\(number)"
        } catch {
            StandardError.print("lupin: \(error.message)")
            throw ExitCode.failure
        }
        StandardOutput.print(url)
        if isPrinted { return }
        guard let socket = try? admin.client().path else { return }
        BrowserOpening.open(url, beside: socket, before)
    }

    private func content() throws(RecordProblem) -> [UInt8] {
        let content: FileContent
        do throws(SystemError) {
            content = try FileContent(
                path: file == "-" ? "/dev/stdin" : file,
                bytesMax: Self.bytesMax
            )
        } catch {
            throw RecordProblem(message: "cannot read \(file): \(error.message)")
        }
        guard content.bytes.count <= Self.bytesMax else {
            throw RecordProblem(message: "\(file) is longer than \(Self.bytesMax >> 20) MiB")
        }
        do throws(ArchiveProblem) {
            try ArchiveReader.check(content.bytes.span)
        } catch {
            throw RecordProblem(message: "\(file) is no HTTP archive: \(error.sentence)")
        }
        return content.bytes
    }

    private func answer(_ path: String, body: [UInt8]) throws(RecordProblem) -> JSONValue {
        let reply: AdminReply
        do throws(AdminProblem) {
            reply = try AdminClient.ask(
                "POST",
                path,
                body: body,
                bytesMax: AdminClient.exchangesBytesMax,
                socket: admin.socket,
                rulesFile: admin.rulesFile
            )
        } catch {
            throw RecordProblem(message: "\(error.message); start one by lupin")
        }
        guard reply.isSuccess else { throw RecordProblem(message: reply.sentence) }
        return JSONValue(parsing: reply.body.span) ?? .null
    }
}
