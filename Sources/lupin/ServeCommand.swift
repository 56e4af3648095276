// `lupin serve`: applies the command line to the rules file and starts the proxy.
import ArgumentParser
import Logging
import LupinCore
import LupinIO
import LupinPolicy
import LupinProxy
import LupinRules

struct ServeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve",
        abstract: "Run the proxy (what `lupin` alone does).",
        discussion: """
            Without --rules the file is $LUPIN_RULES, lupin/lupin.yaml below $XDG_CONFIG_HOME \
            (or ~/.config), or /etc/lupin/lupin.yaml; without any of them the defaults hold. \
            The working directory is never searched.

              lupin serve
              lupin serve --rules ./try.yaml --listen 127.0.0.1:9000
              lupin serve --listen 127.0.0.1:8080 --listen '[::1]:8080'

            One record per exchange goes to standard output, diagnostics to standard error. \
            A change of the rules file is taken as soon as it is written, and so it is by SIGHUP \
            and `lupin reload`; a file with errors changes nothing. SIGTERM and SIGINT stop it \
            gracefully, a second one at once; SIGUSR1 reopens the log file.

            A service manager may open the listeners (LISTEN_FDS, as of a systemd socket unit) \
            and is told of readiness, reloads and the end (NOTIFY_SOCKET, WATCHDOG_USEC): see \
            `lupin help service`.
            """
    )

    @Option(rulesFile: "The rules file.")
    var rulesFile: String?

    @Option(
        help: ArgumentHelp(
            "Listen here instead of what the file says; may be repeated.",
            valueName: "address:port"
        ),
        transform: ListenAddress.init(argument:)
    )
    var listen: [ListenAddress] = []

    @Option(help: ArgumentHelp("Event loops, 1 to 256.", valueName: "n"))
    var workers: Int?

    @Option(help: "The least diagnostics to print: debug, notice, warning or error.")
    var logLevel = DiagnosticLevel.notice

    @Flag(help: "Redact nothing in records and error pages. Says so at every start.")
    var unsafeLogSecrets = false

    @Flag(help: "Check the rules file as `lupin check` does, and start nothing.")
    var checkConfig = false

    func validate() throws {
        if let workers, !(1...256).contains(workers) {
            throw ValidationError("--workers is a number from 1 to 256")
        }
        for address in listen where !address.settings.isForThisMachineOnly {
            throw ValidationError(
                "others can reach \(address.settings.address.text) and use the proxy: write it "
                    + "under listen in the rules file, with auth"
            )
        }
    }

    func run() throws {
        guard !checkConfig else { return try CheckReport.print(explicit: rulesFile) }
        try serve()
    }

    /// Serves until a signal ends it; `started` runs once requests are served.
    func serve(started: (@Sendable (LoopExecutor) async -> Void)? = nil) throws {
        // Before anything else, which could start a program or open a descriptor.
        let variables = ServiceVariables.take()
        let passed = try Self.passedListeners(variables)
        let rules = try LocatedRules(explicit: rulesFile)
        let overrides = Overrides(listeners: listen.map(\.settings), workers: workers)
        let configuration = overrides.applied(to: rules.configuration)
        let (level, hasTime) = (logLevel.level, !Terminal.isStandardError)
        let logger = Logger(label: "lupin") { _ in
            StandardErrorLog(logLevel: level, hasTime: hasTime)
        }
        if unsafeLogSecrets {
            logger.warning("NOTHING IS REDACTED: records will hold passwords, tokens and cookies")
        }
        // Absolute, because commands that request it may run in another directory.
        let file = rules.path.map { $0.hasPrefix("/") ? $0 : "\(ProcessOwner.directory)/\($0)" }
        let service = Service(
            configuration: configuration,
            rulesFile: file,
            source: overrides.source(file: file),
            logger: logger,
            environment: LocatedRules.environment,
            allowsColour: !LocatedLog.isColourRefused,
            logsSecrets: unsafeLogSecrets,
            passed: passed,
            manager: ServiceManager(variables),
            started: started
        )
        let code = service.run()
        if code != .success { throw code }
    }

    /// Takes over the sockets that the service manager opened for this process.
    private static func passedListeners(_ variables: ServiceVariables) throws -> PassedListeners {
        do throws(PassedSocketProblem) {
            return PassedListeners(try PassedSocket.all(variables))
        } catch {
            StandardError.print("lupin: error: \(error.message)")
            throw ExitCode.cannotBind
        }
    }
}

extension ServeCommand {
    /// The command line's overrides, applied each time the file is read.
    struct Overrides: Sendable {
        let listeners: [ListenerSettings]
        let workers: Int?

        func applied(to configuration: Configuration) -> Configuration {
            var copy = configuration
            if !listeners.isEmpty { copy.settings.listeners = listeners }
            if let workers { copy.settings.workers = workers }
            return copy
        }

        /// How to load the file again; without one, it is searched for again.
        func source(file: String?) -> RulesSource {
            let environment = LocatedRules.environment
            let candidates =
                file == nil ? RulesFile.candidates(environment: environment) : []
            let check: @Sendable ([UInt8], String) -> RulesSource.Reading = { text, path in
                let result = RulesFile.load(
                    path: path,
                    text: text,
                    environment: environment,
                    tls: .openSSL
                )
                return RulesSource.Reading(
                    configuration: result.configuration.map(applied),
                    errors: result.errors.map(\.text),
                    warnings: result.warnings.map(\.text)
                )
            }
            return RulesSource(file: file, candidates: candidates, check: check) {
                guard let path = RulesFile.locate(explicit: file, environment: environment) else {
                    return RulesSource.Reading(configuration: applied(to: .defaults))
                }
                let result = RulesFile.load(
                    path: path,
                    environment: environment,
                    tls: .openSSL
                )
                return RulesSource.Reading(
                    configuration: result.configuration.map(applied),
                    errors: result.errors.map(\.text),
                    warnings: result.warnings.map(\.text),
                    files: result.files,
                    file: path
                )
            }
        }
    }
}

extension DiagnosticLevel: ExpressibleByArgument {}
