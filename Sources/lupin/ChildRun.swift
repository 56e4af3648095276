// Runs one command under lupin: its proxy, its files, its signals, its end.
import ArgumentParser
import Logging
import LupinConfinement
import LupinCore
import LupinIO
import LupinPolicy
import LupinProxy
import LupinTLS

/// Runs a command through a proxy and waits until it ends.
struct ChildRun: Sendable {
    /// The proxy for the command.
    enum Choice: Sendable {
        case given(ProxyAddress)
        /// A lupin that runs where the rules file says; otherwise, a proxy of the command's own.
        case runningOrOwn
        case own
    }

    /// The program and its arguments.
    let command: [String]
    let choice: Choice
    /// The configuration of the command's own proxy, whose port the kernel chooses.
    var configuration: Configuration
    /// The addresses at which a running lupin may listen.
    let listeners: [ListenerSettings]
    let exceptions: ChildEnvironment.Exceptions
    let environment: [String: String]
    let before: SignalsBefore
    /// Where the command is recorded, or what answers it.
    var cassette: Cassette?
    /// Where the command can reach nothing but its own proxy; nil where it is free.
    var confinement: ChildConfinement?
    /// What the command gets for credentials; only its own proxy knows them.
    private var standIns: StandIns {
        switch choice {
        case .given, .runningOrOwn: .none
        case .own: made
        }
    }
    /// Made once, so that proxy and command have the same.
    private let made: StandIns

    init(
        command: [String],
        choice: Choice,
        configuration: Configuration,
        listeners: [ListenerSettings],
        exceptions: ChildEnvironment.Exceptions,
        environment: [String: String],
        before: SignalsBefore
    ) {
        self.command = command
        self.choice = choice
        self.configuration = configuration
        self.listeners = listeners
        self.exceptions = exceptions
        self.environment = EarlierVariables.removed(
            from: environment,
            folder: UserFolder.state(environment).map { "\($0)/lupin/trust" }
        )
        self.before = before
        made = StandIns(
            for: configuration.settings.exec.variables.map(\.token),
            in: configuration.settings.tokens,
            random: RandomSource.bytes(count:)
        )
    }

    /// Runs the command; returns its exit code, or a failure when it could not start.
    func run(on executor: LoopExecutor) async -> ExitCode {
        let signals: ChildSignals
        do throws(SystemError) {
            signals = try ChildSignals(on: executor.loop)
        } catch {
            return .failure("cannot read signals: \(error.message)")
        }
        switch choice {
        case .given(let address):
            return await run(through: address, signals)
        case .runningOrOwn:
            if let found = await RunningProxy.find(among: listeners, on: executor.loop) {
                return await run(through: ProxyAddress(found), signals)
            }
        case .own:
            if confinement != nil {
                let address = SocketAddress(
                    address: .v4(0x7F00_0001),
                    port: Confinement.proxyPort
                )
                let code = await run(through: ProxyAddress(address), signals)
                return cassette?.finish(code) ?? code
            }
        }
        let proxy: Proxy
        do throws(Proxy.StartFailure) {
            proxy = try await makeProxy(configuration)
        } catch {
            return .failure(error.message)
        }
        var code = ExitCode.failure
        if let address = proxy.addresses.first {
            code = await run(through: ProxyAddress(address), signals)
        }
        await proxy.stop()
        return cassette?.finish(code) ?? code
    }

    private func makeProxy(
        _ configuration: Configuration,
        for confined: ConfinedClients? = nil
    ) async throws(Proxy.StartFailure) -> Proxy {
        let logger = Logger(label: "lupin") { _ in
            StandardErrorLog(logLevel: .warning, hasTime: false)
        }
        if case .file(let log) = configuration.settings.log.to { LocatedLog.note(log, environment) }
        var hooks = Hooks()
        hooks.tape = cassette?.deck
        hooks.standIns = standIns
        hooks.redirected = confined?.redirected
        return try await Proxy(
            configuration,
            identify: confined?.identify,
            logger: logger,
            environment: environment,
            allowsColour: false,
            hooks: hooks,
            passed: confined?.passed ?? .none
        )
    }

    private func run(through proxy: ProxyAddress, _ signals: ChildSignals) async -> ExitCode {
        let folder: PrivateFolder
        do throws(SystemError) {
            folder = try makeFolder()
        } catch {
            return .failure(UserFolder.problem(ofTemporary: environment, error))
        }
        // What a confined command writes that is dropped.
        let storage = "\(folder.path)/storage"
        let files: BundleFiles
        do {
            files = try bundleFiles(in: folder.path)
        } catch let error as SystemError {
            return .failure("cannot write to \(folder.path): \(error.message)")
        } catch {
            return .failure("\(error)")
        }
        let program = command[0]
        let (variables, leftOut) = childEnvironment(proxy, files)
        var launch = ChildLaunch(
            wrapper(of: program, files) ?? program,
            Array(command.dropFirst()),
            environment: variables.lines
        )
        let child: ChildProcess
        var confined: ConfinementSocket?
        var relay: OutputRelay?
        do throws(SystemError) {
            if let confinement {
                try WholeFile.makeDirectories(storage)
                confined = try confinement.wrap(&launch, files: folder.path, storage: storage)
                launch.isJob = true
                relay = try OutputRelay(for: &launch)
            }
            child = try ChildProcess(launch, signals: before)
            relay?.begin()
        } catch {
            _ = ExitCode.failure("cannot run \(program): \(error.message)")
            return ExitCode(error.isAbsence ? 127 : 126)
        }
        var service: ConfinedService?
        if let confined { service = await serve(confined, child, on: signals.loop) }
        confined = nil
        var code = await wait(for: child, signals)
        if let problem = relay?.finish() {
            _ = ExitCode.failure("cannot write what the command printed: \(problem.message)")
            if code == 0 { code = ExitCode.failure.rawValue }
        }
        await service?.end()
        for remark in remarks(on: code, seen: service?.programs ?? [], without: leftOut) {
            StandardError.print("lupin: \(remark)")
        }
        folder.remove()
        return ExitCode(code)
    }

    /// What a command may have missed that failed; `seen` are the programs that connected, and
    /// `leftOut` the variables that it did not get.
    private func remarks(
        on code: Int32,
        seen: Set<String>,
        without leftOut: [String]
    ) -> [String] {
        let plan = confinement?.plan
        // A shell's own word for a program that is not there.
        if code == 127 { return [plan.flatMap { AbsentPrograms($0).remark }].compactMap(\.self) }
        guard (1..<126).contains(code) else { return [] }
        var remarks: [String] = []
        if !leftOut.isEmpty {
            let list = leftOut.joined(separator: ", ")
            remarks.append("variables that the command did not get: \(list)")
        }
        if let plan {
            let programs = MissedSettings.programs(namedIn: command).union(seen)
            let missed = DoctorConfinement.missed(by: programs) { plan.isAbsent($0) }
            remarks += [missed].compactMap(\.self)
        }
        return remarks
    }

    /// Starts the proxy of a confined command, at the sockets that were opened where it runs.
    /// - Returns: nil if that failed; then the command does not begin.
    private func serve(
        _ confined: ConfinementSocket,
        _ child: ChildProcess,
        on loop: EventLoop
    ) async -> ConfinedService? {
        confined.closeOtherEnd()
        let slot = ParkingSlot(on: loop)
        defer { slot.retire() }
        do {
            guard let sockets = try await confined.sockets(slot: slot) else { return nil }
            let clients = ConfinedClients(sockets, of: child)
            let proxy = try await makeProxy(
                configuration.confined(at: sockets.redirected),
                for: clients
            )
            let service = ConfinedService(
                proxy,
                clients,
                sockets.names,
                covering: confinement?.plan.view.coveredPlaces.filter(PublicFile.exists) ?? [],
                on: loop
            )
            confined.answer()
            await service.watch(confined, given: confinement?.plan.givenSockets ?? [], slot: slot)
            return service
        } catch let problem as PassedSocketProblem {
            _ = ExitCode.failure(problem.message)
        } catch let problem as Proxy.StartFailure {
            _ = ExitCode.failure(problem.message)
        } catch {
            _ = ExitCode.failure("\(error)")
        }
        return nil
    }

    /// What the command gets; where it has stand-ins or is confined, without variables that hold
    /// secrets.
    /// - Returns: The names of those, too.
    private func childEnvironment(
        _ proxy: ProxyAddress,
        _ files: BundleFiles
    ) -> (child: ChildEnvironment, leftOut: [String]) {
        var child = ChildEnvironment(
            environment: environment,
            proxy: proxy,
            without: exceptions,
            files: files
        )
        let standIns = standIns
        if standIns.isEmpty, confinement == nil { return (child, []) }
        let variables = ConfinedVariables(
            environment,
            secrets: configuration.secrets,
            showing: confinement?.plan.shown ?? []
        )
        let leftOut = variables.leftOut(of: environment, isConfined: confinement != nil)
        child.environment = environment.filter { !leftOut.contains($0.key) }
        child.standIns = configuration.settings.exec.variables.compactMap { variable in
            standIns[token: variable.token].map { (variable.name, $0.text) }
        }
        let set = (child.changes + child.standIns).map(\.name)
        return (child, leftOut.subtracting(set).sorted())
    }

    /// A folder for what programs of the command read.
    ///
    /// Without a confinement it lies among lupin's own, where no confined command gets: `TMPDIR`
    /// may be a folder that another command writes to, or another user's.
    private func makeFolder() throws(SystemError) -> PrivateFolder {
        let temporary = UserFolder.temporary(environment)
        guard confinement == nil, let state = UserFolder.state(environment) else {
            PrivateFolder.removeAbandoned(in: temporary)
            return try PrivateFolder(in: temporary)
        }
        let own = "\(state)/lupin/run"
        PrivateFolder.removeAbandoned(in: own)
        do throws(SystemError) {
            try WholeFile.makeDirectories(own)
            return try PrivateFolder(in: own)
        } catch {
            // A user without a home that can be written to.
            return try PrivateFolder(in: temporary)
        }
    }

    private func bundleFiles(in folder: String) throws -> BundleFiles {
        let files = try BundleFiles(
            in: folder,
            authority: try Authority.pem(
                configuration.settings,
                environment: environment,
                isNeeded: configuration.needsAuthority
            ),
            anchors: configuration.settings.anchors,
            environment: environment,
            wrapsBrowsers: true
        )
        for warning in files.warnings { StandardError.print("lupin: warning: \(warning)") }
        return files
    }

    /// Returns the wrapper of the command's program; lupin's own PATH has no wrappers.
    private func wrapper(of program: String, _ files: BundleFiles) -> String? {
        guard let folder = files.programs, !program.contains("/") else { return nil }
        return ProgramSearch(path: folder).find(program)
    }

    /// Forwards signals until the child has ended.
    private func wait(for child: ChildProcess, _ signals: ChildSignals) async -> Int32 {
        while true {
            switch child.state() {
            case .ended(let code): return code
            case .stopped(let signal): child.stopAlong(by: signal)
            case .running: break
            }
            switch await signals.next() {
            case .sent(let number): child.send(signal: number)
            case .fromTerminal(let number): child.send(fromTerminal: number)
            case .childChanged, nil: break
            }
        }
    }
}
