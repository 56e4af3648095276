// `lupin inspect`: shows the exchanges of the running lupin, in the terminal or on a page.
import ArgumentParser
import LupinIO

struct InspectCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "inspect",
        abstract: "Look at exchanges and their bodies, and send requests again.",
        discussion: """
            Prints the address of the running lupin's inspector, and opens it by xdg-open where \
            there is a display. The address works once. If no lupin runs, it starts one, which \
            serves until you end it, and prints the address on standard error.

            With --terminal, the exchanges of the running lupin are shown in the terminal: ? \
            lists the keys. --capture keeps the exchanges of a host with their bodies for as long \
            as the inspector is open: up to 3 minutes longer for a page, which can't say that \
            it is closed.

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

    @OptionGroup var admin: AdminOptions

    func run() throws {
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
        let code = try TerminalInspector.run(at: admin, capturing: hosts)
        if code != .success { throw code }
    }

    private func openPage() throws {
        let before = ChildSignals.block()
        // Who names a socket means a lupin that runs.
        if admin.socket == nil, !isServed { return try serve(before) }
        let isPrinted = isPrinted
        try ask { inspector, loop async throws(AdminProblem) in
            let url = try await inspector.address(on: loop)
            StandardOutput.print(url)
            if !isPrinted { BrowserOpening.open(url, beside: inspector.client.path, before) }
        }
    }

    private var isServed: Bool {
        AdminClient.answer("GET", "/v1/status", socket: nil, rulesFile: admin.rulesFile) != nil
    }

    /// Asks the running lupin.
    private func ask(
        _ body:
            @escaping @Sendable (
                RunningInspector, EventLoop
            ) async throws(AdminProblem) -> Void
    ) throws {
        let (admin, hosts) = (admin, hosts)
        let code = try ControlLoop.run { executor in
            await RunningInspector.ask(at: admin, capturing: hosts, on: executor.loop, body)
        }
        if code != .success { throw code }
    }

    /// Serves in this process until a signal ends it, and opens the page of that.
    private func serve(_ before: SignalsBefore) throws {
        let (admin, hosts, isPrinted) = (admin, hosts, isPrinted)
        let arguments = admin.rulesFile.map { ["--rules", $0] } ?? []
        let open: @Sendable (RunningInspector, EventLoop) async throws(AdminProblem) -> Void = {
            inspector,
            loop async throws(AdminProblem) in
            // This lupin ends with its inspector.
            try await inspector.capture(hosts, on: loop)
            let url = try await inspector.address(on: loop)
            // Standard output has the records.
            StandardError.print("lupin: inspector at \(url)")
            if !isPrinted { BrowserOpening.open(url, beside: inspector.client.path, before) }
        }
        try ServeCommand.parse(arguments).serve { executor in
            _ = await RunningInspector.ask(
                at: admin,
                capturing: [],
                on: executor.loop,
                open
            )
        }
    }
}
