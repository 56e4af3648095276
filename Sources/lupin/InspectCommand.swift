// `lupin inspect`: shows the exchanges of the running lupin, in the terminal or on a page.
import ArgumentParser
import LupinCore
import LupinIO

struct InspectCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "inspect",
        abstract: "Look at exchanges and their bodies, and send requests again.",
        discussion: """
            Prints the address of the running lupin's inspector, for a browser; it works once. \
            With --terminal, the exchanges are shown in the terminal: ? lists the keys.

              lupin inspect --terminal
              lupin inspect

            Exit codes: 0 done, 1 no lupin answers, 64 there is no terminal, 128 plus the \
            signal that ended it.
            """
    )

    @Flag(help: "Show the exchanges in this terminal.")
    var terminal = false

    @OptionGroup var place: AdminPlace

    func run() throws {
        guard terminal else {
            return try place.ask("POST", "/v1/inspector") { reply in
                guard let url = JSONValue(parsing: reply.body.span)?["url"]?.string else {
                    StandardError.print("lupin: \(reply.sentence)")
                    return .failure
                }
                print(url)
                return .success
            }
        }
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
}
