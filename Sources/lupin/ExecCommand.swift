// `lupin exec`: runs one command through lupin, without any setup before or after.
import ArgumentParser
import LupinConfinement
import LupinCore
import LupinIO
import LupinPolicy
import LupinRules

struct ExecCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "exec",
        abstract: "Run a command whose requests go through lupin.",
        discussion: """
            Uses the running lupin. If none runs, starts a proxy for the command, on a port that \
            the kernel chooses. With --rules it starts one, unless the lupin that runs has \
            this file.

              lupin exec -- curl https://example.com/
              lupin exec --rules ./try.yaml -- npm ci
              lupin exec -- sh -c 'pip download requests; cargo fetch'
              lupin exec --all -- curl http://localhost:3000/

            The command reaches the hosts in your no_proxy without lupin, and this machine \
            unless a rule names it. With --all everything goes through lupin.

            The command gets the proxy variables and, if lupin has a CA, the variables by which \
            curl, wget, git, Python, Node.js, Go, Rust, Java, Ruby, Perl and others find \
            certificates. Each names a file with all that was trusted before and lupin's CA. \
            Browsers of Chromium's family in PATH run with a fresh profile that trusts it too. \
            Java prints "Picked up JAVA_TOOL_OPTIONS" on standard error; nothing can silence it.

            A proxy that was started writes its records to `log.to` if that is a file, else to \
            lupin/exec.jsonl below $XDG_STATE_HOME (or ~/.local/state), and never to the \
            command's standard output. `lupin log FILE` reads them, and `lupin explain ID` finds \
            what the last command was told there; `log: off` keeps none. \
            Signals are passed on. Programs that the command leaves in the background lose the \
            proxy when the command ends.

            Where the rules file has `exec: {env: {GITHUB_TOKEN: github}}`, the command gets a \
            stand-in for that token in the variable, and a proxy of its own exchanges it for the \
            credential where a rule names the token. Variables with a secret of the rules file \
            are left out; see lupin help credentials.

            With TRACEPARENT in the environment, as pipelines set it, and a collector to send \
            traces to, requests that have no trace of their own join that one. A running lupin \
            can't tell which requests are the command's, so a proxy is started for it; see \
            lupin help telemetry.

            With --record, all exchanges of the command are written to a tape, an HTTP archive \
            with their bodies; with --replay the command gets its responses from there, and no \
            network. Both start a proxy of their own and decrypt every host; see lupin help tapes.

              lupin exec --record tape.har -- pytest
              lupin exec --replay tape.har -- pytest

            With --confine, the command can reach nothing but a proxy of its own: it runs with \
            another network and other processes, and sees all files read-only but its working \
            folder, without lupin's files and your credentials. Where the kernel allows it, \
            connections that ignore the proxy variables lead to that proxy, too; elsewhere, and \
            with --no-redirect, they fail. Either way lupin says at the end which programs made \
            some; see lupin help confinement. Without --rules it goes by the rules of the lupin \
            that runs, else by those of the usual file.

              lupin exec --confine --rules ci.yaml -- npm ci

            Exit codes: those of the command; 126 it cannot be run, 127 there is none, 128 plus \
            the signal that ended it.
            """
    )

    @Option(rulesFile: "The rules file of a proxy to start, or of the lupin that runs.")
    var rulesFile: String?

    @Option(help: ArgumentHelp("Where a proxy that is started puts records.", valueName: "file"))
    var log: String?

    @Option(help: ArgumentHelp("Use the lupin at this address, and start none.", valueName: "url"))
    var proxy: String?

    @Option(
        help: ArgumentHelp("Write the command's exchanges to this tape.", valueName: "file"),
        completion: .file(extensions: ["har"])
    )
    var record: String?

    @Option(
        help: ArgumentHelp(
            "Answer the command from this tape, without network.",
            valueName: "file"
        ),
        completion: .file(extensions: ["har"])
    )
    var replay: String?

    @Flag(help: "Let the command reach nothing but a proxy of its own.")
    var confine = false

    @Option(
        parsing: .singleValue,
        help: ArgumentHelp("Hide this file or folder, too, with --confine.", valueName: "path"),
        completion: .file()
    )
    var hide: [String] = []

    @Option(
        parsing: .singleValue,
        help: ArgumentHelp("Show this file or folder, too, with --confine.", valueName: "path"),
        completion: .file()
    )
    var show: [String] = []

    @Option(
        parsing: .singleValue,
        help: ArgumentHelp("Let the command write there, too, with --confine.", valueName: "path"),
        completion: .file()
    )
    var write: [String] = []

    @Option(
        help: ArgumentHelp(
            "The home with --confine: private, read-only or shared.",
            valueName: "mode"
        )
    )
    var home: HomeMode?

    @Flag(help: "Say what the command would see with --confine and why, and don't run it.")
    var explain = false

    @Flag(help: "Let connections that ignore the proxy variables fail, with --confine.")
    var noRedirect = false

    @Flag(help: "Send everything through lupin, also requests to this machine.")
    var all = false

    @Argument(parsing: .captureForPassthrough, help: "The command and its arguments.")
    var command: [String] = []

    /// The command without the `--` before it.
    private var words: [String] { Array(command.first == "--" ? command[1...] : command[...]) }

    func validate() throws {
        // All words from the first unknown one on belong to the command, so --help is here, too.
        if ["--help", "-h"].contains(command.first) { throw CleanExit.helpRequest(self) }
        try refuseUnknownOption()
        guard explain || words.first?.isEmpty == false else {
            throw ValidationError("there is no command to run; write it behind --")
        }
        if record != nil, replay != nil {
            throw ValidationError("--record and --replay exclude each other")
        }
        if confine, proxy != nil {
            throw ValidationError("--confine starts a proxy; --proxy uses another")
        }
        try validateConfinement()
        if let proxy {
            do throws(ProxyURLProblem) {
                _ = try ProxyAddress(url: proxy)
            } catch {
                throw ValidationError("--proxy: \(error.message)")
            }
            if log != nil { throw ValidationError("--log is for a proxy that is started") }
            if record != nil || replay != nil {
                throw ValidationError("--record and --replay start a proxy; --proxy uses another")
            }
        }
    }

    /// A program whose name begins with a dash goes behind `--`.
    private func refuseUnknownOption() throws {
        guard let first = command.first, first != "--", first.hasPrefix("-") else { return }
        let name = String(first.prefix { $0 != "=" })
        let options = Self.helpMessage().matches(of: /--[a-z-]+/).map { String($0.output) }
        let near = nearest(to: name, among: options).map { ". Did you mean '\($0)'?" }
        let hint = near ?? "; a command that begins so goes behind --"
        throw ValidationError("Unknown option '\(LogText.plain(name))'\(hint)")
    }

    private func validateConfinement() throws {
        let options = [
            ("--hide", !hide.isEmpty), ("--show", !show.isEmpty), ("--write", !write.isEmpty),
            ("--home", home != nil), ("--explain", explain), ("--no-redirect", noRedirect),
        ]
        for (name, isGiven) in options where isGiven && !confine {
            throw ValidationError("\(name) goes with --confine")
        }
    }

    func run() throws {
        let before = ChildSignals.block()
        if record != nil || replay != nil { return try runWithTape(before) }
        if try runTraced(before) { return }
        // Records of their own need a proxy of their own.
        let isOwn = rulesFile.map { confine || log != nil || LocatedRules.held($0) == nil } ?? false
        let found =
            proxy == nil && !isOwn
            ? RunningLupin.findTrusted(rulesFile: rulesFile, isForRules: confine) : nil
        // A confined command has a proxy of its own, by the same rules.
        if confine { return try runConfined(by: rulesFile ?? found?.rules.file, before) }
        let running = found
        let address = try (proxy ?? running?.proxy).map { try ProxyAddress(url: $0) }
        // Named by a person, who may mean another user's.
        if proxy != nil, let refusal = address.flatMap(TrustedServer.refusal(of:)) {
            StandardError.print(
                "lupin: warning: \(refusal.replacing(", so it is left alone", with: ""))"
            )
        }
        // Only a proxy of its own needs the secrets; a running one has them.
        let rules =
            try running.map(LocatedRules.toWork)
            ?? LocatedRules(
                explicit: rulesFile,
                secrets: address != nil ? .named : .required
            )
        // The command will trust the CA, though the same program refused it before.
        if running != nil { RunningBypass.clear() }
        if !rules.configuration.settings.exec.variables.isEmpty {
            // What is in force was read without its secrets, which a proxy needs.
            return try runWithStandIns(
                running == nil ? rules : LocatedRules(explicit: rules.path),
                before
            )
        }
        let choice: ChildRun.Choice
        if let address {
            choice = .given(address)
        } else if rulesFile != nil {
            choice = .own
        } else {
            choice = .runningOrOwn
        }
        try end(run(rules.configuration, through: choice, before), rules.configuration)
    }

    private func runConfined(by rulesFile: String?, _ before: SignalsBefore) throws {
        let rules = try LocatedRules(explicit: rulesFile)
        try end(run(rules.configuration, through: .own, before), rules.configuration)
    }

    private func run(
        _ configuration: Configuration,
        through choice: ChildRun.Choice,
        _ before: SignalsBefore
    ) -> ChildRun {
        ChildRun(
            command: words,
            choice: choice,
            configuration: configuration.forOneCommand(log: log, LocatedRules.environment),
            listeners: configuration.settings.listeners,
            exceptions: exceptions(configuration.rules),
            environment: LocatedRules.environment,
            before: before
        )
    }

    /// Runs the command with stand-ins for credentials, through a proxy of its own: no other
    /// program's requests may use them, and they end with it.
    private func runWithStandIns(_ rules: LocatedRules, _ before: SignalsBefore) throws {
        guard proxy == nil else {
            throw ExitCode.failure(
                "exec.env gives stand-ins that only a proxy of the command's own knows; leave "
                    + "--proxy out"
            )
        }
        try end(run(rules.configuration, through: .own, before), rules.configuration)
    }

    /// Runs the command through a proxy of its own, whose requests join the environment's trace.
    /// - Returns: Whether it was run: there is a trace to join, and a collector for it.
    private func runTraced(_ before: SignalsBefore) throws -> Bool {
        let environment = LocatedRules.environment
        guard proxy == nil, rulesFile == nil, TraceContext(environment: environment) != nil else {
            return false
        }
        let running = RunningLupin.find(socket: nil)
        guard let rules = LocatedRules.toTrace(running) else { return false }
        guard rules.settings.telemetry.resolved(environment).export?.traces != nil else {
            return false
        }
        if running != nil { RunningBypass.clear() }
        try end(
            ChildRun(
                command: words,
                choice: .own,
                configuration: rules.forOneCommand(log: log, environment),
                listeners: [],
                exceptions: exceptions(rules.rules),
                environment: environment,
                before: before
            ),
            rules
        )
        return true
    }

    /// Runs the command through a proxy that records a tape, or plays it.
    private func runWithTape(_ before: SignalsBefore) throws {
        // A proxy without a network sends no secret, and the machine may not have them. Those that
        // are there are still kept from the command.
        let running = rulesFile == nil ? RunningLupin.findTrusted(isForRules: true) : nil
        let rules = try LocatedRules(
            explicit: rulesFile ?? running?.rules.file,
            secrets: replay != nil ? .available : .required
        )
        let configuration = rules.configuration
        let cassette =
            if let replay {
                try Cassette(playing: replay, configuration.settings.tape)
            } else {
                try Cassette(recordingTo: record ?? "")
            }
        var usual = configuration.forOneCommand(log: log, LocatedRules.environment)
        // A tape has no network, so there is no way to a collector either.
        if replay != nil { usual.settings.telemetry.collector = .off }
        var run = ChildRun(
            command: words,
            choice: .own,
            configuration: cassette.configuration(usual),
            listeners: [],
            exceptions: confine || all
                ? exceptions(configuration.rules) : .machine(configuration.rules),
            environment: LocatedRules.environment,
            before: before
        )
        run.cassette = cassette
        try end(run, configuration)
    }

    /// What the command reaches without lupin; a confined one has only itself for that.
    private func exceptions(_ rules: RuleSet) -> ChildEnvironment.Exceptions {
        if all { return .none }
        guard confine else { return .usual(rules) }
        let names = Confinement.ownNames(WholeFile.content(of: "/etc/hosts") ?? [])
        return .confined(rules, names: names)
    }

    /// `written` is the configuration before it became that of one command.
    private func end(_ run: ChildRun, _ written: Configuration) throws {
        var confined = run
        var folders = HeldFolders()
        if confine {
            var plan = try confinedPlan(run.configuration, written)
            let hasRules = run.configuration.fileName != nil || replay != nil
            // An explanation has a line for the rules.
            let rules = explain || hasRules ? nil : ConfinedText.withoutRules
            plan.remarks =
                [plan.loss, rules].compactMap(\.self) + plan.remarks
                + ParentProject.remarks(in: plan)
            if explain {
                let text = ConfinedText(plan, run.configuration, LocatedRules.environment)
                return StandardOutput.print(text.text)
            }
            if let note = ConfinedText.note(plan.remarks) { StandardError.print("lupin: \(note)") }
            if let refusal = AbsentPrograms(plan).refusal(of: words[0]) {
                StandardError.print("lupin: error: \(refusal)")
                throw ExitCode(127)
            }
            // A file that were replaced while the command runs could be seen by it.
            confined.configuration.settings.log.rotateBytes = 0
            confined.confinement = ChildConfinement(plan: plan)
            let commands = ConfinedCommands(plan, LocatedRules.environment)
            confined.configuration = try refused { () throws(ConfinedRefusal) in
                try commands.isolated(confined.configuration)
            }
            let tokens = confined.configuration.settings.tokens.map(\.name)
            confined.configuration.rules.keptTokens.formUnion(tokens)
            // Behind the plan, which needs the names.
            folders.hold(&confined.configuration)
        }
        let (whole, held) = (confined, folders)
        let code = try ControlLoop.run { executor in
            defer { withExtendedLifetime(held) {} }
            return await whole.run(on: executor)
        }
        if code != .success { throw code }
    }
}

extension ExecCommand {
    private func confinedPlan(
        _ configuration: Configuration,
        _ written: Configuration
    ) throws -> ConfinedPlan {
        for (name, paths) in [("--hide", hide), ("--show", show), ("--write", write)] {
            for path in paths where PublicFile.target(of: path) == nil {
                let remedy = name == "--write" ? "; mkdir -p \(path) makes it" : ""
                StandardError.print("lupin: error: \(name): there is no \(path)\(remedy)")
                throw ExitCode.validationFailure
            }
        }
        var configuration = configuration
        configuration.settings.log.rotateBytes = 0
        let gifts = ConfinedGifts(
            home: home ?? .readOnly,
            hidden: hide,
            shown: show,
            writable: write,
            isRedirecting: !noRedirect,
            records: [record].compactMap(\.self),
            replayed: [replay].compactMap(\.self)
        )
        return try refused { () throws(ConfinedRefusal) in
            try ConfinedPlan(
                configuration,
                admin: written.settings.admin,
                gifts,
                LocatedRules.environment
            )
        }
    }

    /// Says why the command is not run.
    private func refused<Value>(
        _ body: () throws(ConfinedRefusal) -> Value
    ) throws -> Value {
        do throws(ConfinedRefusal) {
            return try body()
        } catch {
            StandardError.print("lupin: error: the command can't be confined: \(error.message)")
            throw ExitCode(126)
        }
    }
}

extension HomeMode: ExpressibleByArgument {}

extension Configuration {
    /// The configuration of a proxy for one command: a free port, and records in a file.
    fileprivate func forOneCommand(
        log: String?,
        _ environment: [String: String]
    ) -> Configuration {
        var copy = self
        copy.settings.listeners = [ListenerSettings(address: .v4(0x7F00_0001), port: 0)]
        // Only the command knows the proxy.
        copy.settings.admin.socket = .off
        copy.settings.admin.http = nil
        copy.settings.telemetry.prometheus = nil
        copy.settings.telemetry.inherited = TraceContext(environment: environment)
        // The command has ended: no client waits for what is still open.
        copy.settings.timeouts.drain = min(copy.settings.timeouts.drain, .seconds(2))
        if let log {
            copy.settings.log.to = .file(log)
        } else if copy.settings.log.to == .off {
            copy.settings.log.to = .nowhere
        } else if copy.settings.log.to == .stdout {
            copy.settings.log.to = Self.usualLog(environment)
        }
        return copy
    }

    /// A file in the user's state folder, which is created; `nowhere` when it can't be.
    private static func usualLog(_ environment: [String: String]) -> LogSettings.Destination {
        guard let state = UserFolder.state(environment),
            let log = UserFolder.execLog(environment)
        else { return .nowhere }
        do throws(SystemError) {
            try WholeFile.makeDirectories("\(state)/lupin")
            return .file(log)
        } catch {
            StandardError.print(
                "lupin: warning: no records: cannot make \(state)/lupin: \(error.message)"
            )
            return .nowhere
        }
    }
}

extension LogSettings.Destination {
    /// `off` would still write errors to standard output, which belongs to the command.
    fileprivate static let nowhere = LogSettings.Destination.file("/dev/null")
}
