// `lupin inspect`: shows the exchanges of the running lupin, in the terminal or on a page.
import ArgumentParser
import LupinCore
import LupinIO

struct InspectCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "inspect",
        abstract: "Look at exchanges and their bodies, and send requests again.",
        discussion: """
            Prints the address of the running lupin's inspector, and opens it by xdg-open where \
            there is a display. The address works once. With --terminal, the exchanges are \
            shown in the terminal: ? lists the keys. --capture keeps the exchanges of a host \
            with their bodies, until lupin ends.

              lupin inspect
              lupin inspect --capture api.example
              lupin inspect --terminal

            Exit codes: 0 done, 1 no lupin answers, 64 there is no terminal, 128 plus the \
            signal that ended it.
            """
    )

    @Flag(help: "Show the exchanges in this terminal.")
    var terminal = false

    @Flag(name: .customLong("print"), help: "Print the address and open nothing.")
    var isPrinted = false

    @Option(
        name: .customLong("capture"),
        help: ArgumentHelp("Capture the bodies of this host; may be repeated.", valueName: "host")
    )
    var hosts: [String] = []

    @OptionGroup var place: AdminPlace

    func run() throws {
        if !hosts.isEmpty { try capture() }
        guard terminal else { return try openPage() }
        guard Terminal.isStandardInput, Terminal.isStandardOutput else {
            throw ValidationError(
                "--terminal needs a terminal for input and output; lupin log prints lines"
            )
        }
        guard TerminalInspector.isUsable else {
            throw ValidationError(
                "this terminal (TERM) can't show a screen; lupin log --follow prints lines"
            )
        }
        let code = try TerminalInspector.run(at: place)
        if code != .success { throw code }
    }

    private func openPage() throws {
        let before = ChildSignals.block()
        let reply = try answer("POST", "/v1/inspector", body: nil)
        guard let url = JSONValue(parsing: reply.body.span)?["url"]?.string else {
            throw failure(reply.sentence)
        }
        print(url)
        if isPrinted { return }
        guard let socket = try? place.client().path else { return }
        BrowserOpening.open(url, beside: socket, before)
    }

    /// Adds the hosts to those that are captured.
    private func capture() throws {
        let reply = try answer("GET", "/v1/capture", body: nil)
        let captured = JSONValue(parsing: reply.body.span)?["hosts"]?.list?.compactMap(\.string)
        var line = JSONLine()
        line.openObject()
        line.add("hosts", list: (captured ?? []) + hosts)
        line.closeObject()
        let changed = try answer("PUT", "/v1/capture", body: line.bytes)
        if !changed.isSuccess { throw failure(changed.sentence) }
    }

    private func answer(_ method: String, _ path: String, body: [UInt8]?) throws -> AdminReply {
        do throws(AdminProblem) {
            return try AdminClient.ask(
                method,
                path,
                body: body,
                socket: place.socket,
                rulesFile: place.rulesFile
            )
        } catch {
            throw failure(error.message)
        }
    }

    private func failure(_ sentence: String) -> ExitCode {
        StandardError.print("lupin: \(sentence)")
        return .failure
    }
}
