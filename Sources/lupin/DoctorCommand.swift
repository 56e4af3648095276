// `lupin doctor`: tests which tools of this machine work through lupin, plain and intercepted.
import ArgumentParser
import LupinCore
import LupinIO
import LupinPolicy
import LupinRules

struct DoctorCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Test each tool on this machine through lupin, plain and decrypted.",
        discussion: """
            Starts a proxy that answers for \(DoctorPages.host), a name that exists nowhere \
            else. Each tool that it finds fetches a page by http and by https, with the \
            variables of `lupin exec`. Nothing leaves this machine and no setting is changed.

              lupin doctor
              lupin doctor curl node java
              lupin doctor --json

            A tool has 10 s for each request. The exit code is 1 if a tool failed.
            """
    )

    @Option(rulesFile: "The rules file, for intercept.ca.")
    var rulesFile: String?

    @Flag(help: "Print JSON.")
    var json = false

    @Argument(help: "Only these tools, such as curl or python.")
    var tools: [String] = []

    func validate() throws {
        let names = DoctorProbe.all(isRoot: false).map(\.name)
        let known = Set(names.flatMap { $0.split(separator: " ").map(String.init) })
        for tool in tools where !known.contains(tool) {
            throw ValidationError(
                "\(tool) is not known; there are \(known.sorted().joined(separator: ", "))"
            )
        }
    }

    func run() throws {
        let before = ChildSignals.block()
        let rules = try LocatedRules.toLookAt(explicit: rulesFile)
        let pages = RulesFile.decode(text: DoctorPages.rules, fileName: "doctor")
        guard var configuration = pages.configuration else {
            StandardError.print(pages.errors.report())
            throw ExitCode.failure
        }
        // Only the CA is from the user's settings; other settings could keep the tools out.
        configuration.settings.listeners = [
            ListenerSettings(address: .v4(0x7F00_0001), port: 0)
        ]
        configuration.settings.workers = 1
        configuration.settings.intercept.authority =
            rules.configuration.settings.intercept.authority
        configuration.settings.timeouts.drain = .zero
        let run = DoctorRun(
            configuration: configuration,
            settings: rules.configuration.settings,
            wanted: tools,
            printsJSON: json,
            environment: LocatedRules.environment,
            before: before
        )
        let code = try ControlLoop.run { await run.run(on: $0) }
        if code != .success { throw code }
    }
}
