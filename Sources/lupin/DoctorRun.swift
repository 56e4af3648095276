// Runs the doctor: a proxy that answers the test pages, and one tool after the other.
import ArgumentParser
import Glibc
import Logging
import LupinCore
import LupinIO
import LupinPolicy
import LupinProxy

/// Tests the tools on this machine.
struct DoctorRun: Sendable {
    /// The timeout of a tool's version command.
    private static let versionTimeout = Duration.seconds(10)
    private static let reasonCharactersMax = 200

    /// The configuration with the doctor's rules.
    let configuration: Configuration
    /// The user's settings, which name the CA's files.
    let settings: Settings
    /// Names of tools; empty for all.
    let wanted: [String]
    let printsJSON: Bool
    let environment: [String: String]
    let before: SignalsBefore

    /// The signal that ended the test early.
    private struct Interruption: Error {
        let number: Int32
    }

    /// The proxy and the files for the tools.
    private struct Surroundings {
        let proxy: ProxyAddress
        let files: BundleFiles
        let folder: String
        /// Where the tools run: an empty folder, since Python and Node.js take modules from theirs.
        var emptyFolder: String { "\(folder)/empty" }
        /// What tools leave behind: Chromium does not remove its temporary files.
        var temporary: String { "\(folder)/temporary" }
    }

    /// Tests the tools; returns 1 when one has failed.
    func run(on executor: LoopExecutor) async -> ExitCode {
        do {
            return try await examine(on: executor.loop)
        } catch let error as SystemError {
            return .failure(error.message)
        } catch let error as Interruption {
            return ExitCode(128 + error.number)
        } catch let error as Proxy.StartFailure {
            return .failure(error.message)
        } catch {
            return .failure("\(error)")
        }
    }

    private func examine(on loop: EventLoop) async throws -> ExitCode {
        let signals = try ChildSignals(on: loop)
        let folder = try PrivateFolder(in: UserFolder.temporary(environment))
        let authority = try Authority.pem(settings, environment: environment)
        let files = try BundleFiles(
            in: folder.path,
            authority: authority,
            anchors: settings.anchors,
            environment: environment,
            wrapsBrowsers: true
        )
        var configuration = configuration
        // The records are not used, but errors are always recorded, and stdout is for the report.
        configuration.settings.log.to = .file("\(folder.path)/records")
        let logger = Logger(label: "lupin") { _ in
            StandardErrorLog(logLevel: .error, hasTime: false)
        }
        let proxy = try await Proxy(
            configuration,
            logger: logger,
            environment: environment,
            allowsColour: false
        )
        guard let address = proxy.addresses.first else { return .failure }
        let listener = ListenerSettings(address: address.address, port: address.port)
        let surroundings = Surroundings(
            proxy: ProxyAddress(listener),
            files: files,
            folder: folder.path
        )
        for path in [surroundings.emptyFolder, surroundings.temporary] {
            try WholeFile.makeDirectories(path)
        }
        let report: Result<DoctorReport, any Error>
        do {
            report = .success(
                try await self.report(surroundings, hasAuthority: authority != nil, signals)
            )
        } catch {
            report = .failure(error)
        }
        await proxy.stop()
        folder.remove()
        let found = try report.get()
        StandardOutput.print(printsJSON ? found.json : found.table)
        return found.findings.contains(where: \.hasFailed) ? .failure : .success
    }

    private func report(
        _ surroundings: Surroundings,
        hasAuthority: Bool,
        _ signals: ChildSignals
    ) async throws -> DoctorReport {
        var findings: [DoctorFinding] = []
        var absent: [String] = []
        for probe in DoctorProbe.all(isRoot: geteuid() == 0) where isWanted(probe) {
            if Terminal.isStandardError, !printsJSON {
                StandardError.print("testing \(probe.name)")
            }
            if let finding = try await examine(probe, surroundings, signals) {
                findings.append(finding)
            } else {
                absent.append(probe.name)
            }
        }
        return DoctorReport(
            hasAuthority: hasAuthority,
            confinement: try await confinement(surroundings, signals),
            findings: findings,
            absent: absent
        )
    }

    /// Tests `lupin exec --confine`; nil where only some tools were asked for.
    private func confinement(
        _ surroundings: Surroundings,
        _ signals: ChildSignals
    ) async throws -> DoctorOutcome? {
        guard wanted.isEmpty else { return nil }
        var launch = try DoctorConfinement.launch(
            in: surroundings.folder,
            environment: environment.map { "\($0.key)=\($0.value)" }
        )
        let output = "\(surroundings.folder)/output"
        launch.outputFile = output
        guard let code = try await end(of: launch, within: Self.versionTimeout, signals) else {
            return .late(Self.versionTimeout)
        }
        return DoctorConfinement.outcome(code, reason: reason(in: text(of: output), code: code))
    }

    private func isWanted(_ probe: DoctorProbe) -> Bool {
        wanted.isEmpty || wanted.contains { probe.name.split(separator: " ").contains($0[...]) }
    }

    /// The first version number in what a tool prints, such as 3.11 or 8.5.0.
    static func version(in text: some StringProtocol) -> String? {
        for word in text.split(whereSeparator: { !($0.isASCII && $0.isNumber) && $0 != "." }) {
            let numbers = word.split(separator: ".", omittingEmptySubsequences: false)
            let runs = numbers.split(whereSeparator: \.isEmpty)
            if let version = runs.first(where: { $0.count > 1 }) {
                return version.joined(separator: ".")
            }
        }
        return nil
    }

    /// Returns nil when the tool is not installed.
    private func examine(
        _ probe: DoctorProbe,
        _ surroundings: Surroundings,
        _ signals: ChildSignals
    ) async throws -> DoctorFinding? {
        let search = ProgramSearch(path: environment["PATH"])
        guard let program = probe.programs.lazy.compactMap(search.find).first else { return nil }
        let output = "\(surroundings.folder)/output"
        let lines = variables(surroundings).map { "\($0.key)=\($0.value)" }
        var launch = ChildLaunch(program, probe.version, environment: lines)
        launch.outputFile = output
        launch.folder = surroundings.emptyFolder
        guard let code = try await end(of: launch, within: Self.versionTimeout, signals) else {
            return DoctorFinding(
                name: probe.name,
                program: program,
                version: "?",
                plain: .late(Self.versionTimeout),
                intercepted: .skipped("the tool did not tell its version in time")
            )
        }
        guard code == 0 else { return nil }
        let version = Self.version(in: text(of: output))
        for file in probe.files {
            try WholeFile.write(Array(file.text.utf8), to: "\(surroundings.folder)/\(file.name)")
        }
        let plain = try await fetch("http", probe, program, surroundings, signals)
        var intercepted = DoctorOutcome.skipped("lupin has no CA")
        if !surroundings.files.bundles.isEmpty {
            intercepted = try await fetch("https", probe, program, surroundings, signals)
        }
        return DoctorFinding(
            name: probe.name,
            program: program,
            version: version ?? "?",
            plain: plain,
            intercepted: intercepted
        )
    }

    private func variables(_ surroundings: Surroundings) -> [String: String] {
        environment.merging(["TMPDIR": surroundings.temporary]) { $1 }
    }

    private func fetch(
        _ scheme: String,
        _ probe: DoctorProbe,
        _ program: String,
        _ surroundings: Surroundings,
        _ signals: ChildSignals
    ) async throws -> DoctorOutcome {
        let path = probe.path.replacing("{scheme}", with: scheme)
        let url = "\(scheme)://\(DoctorPages.host)\(path)"
        let fill = { (text: String) in
            text.replacing("{url}", with: url).replacing("{folder}", with: surroundings.folder)
        }
        var environment = variables(surroundings)
        for (name, value) in probe.environment { environment[name] = fill(value) }
        let variables = ChildEnvironment(
            environment: environment,
            proxy: surroundings.proxy,
            without: .usual(RuleSet([])),
            files: surroundings.files
        )
        let wrapped = surroundings.files.programs.flatMap { folder in
            ProgramSearch(path: folder).find(String(program.split(separator: "/").last ?? ""))
        }
        var launch = ChildLaunch(
            wrapped ?? program,
            probe.arguments.map(fill),
            environment: variables.lines
        )
        let output = "\(surroundings.folder)/output"
        launch.outputFile = output
        launch.folder = surroundings.emptyFolder
        guard let code = try await end(of: launch, within: probe.timeout, signals) else {
            return .late(probe.timeout)
        }
        let said = text(of: output)
        if code == 0, probe.expected.isEmpty || said.contains(probe.expected) { return .ok }
        return DoctorOutcome(
            kind: .failed,
            reason: reason(in: said, code: code),
            fix: scheme == "http" ? probe.plainFix : probe.trustFix
        )
    }

    /// Waits for the exit code; kills the process and returns nil at the timeout.
    private func end(
        of launch: ChildLaunch,
        within timeout: Duration,
        _ signals: ChildSignals
    ) async throws -> Int32? {
        var launch = launch
        launch.leadsGroup = true
        let child: ChildProcess
        do throws(SystemError) {
            child = try ChildProcess(launch, signals: before)
        } catch {
            return error.isAbsence ? 127 : 126
        }
        let deadline = SystemCall.monotonicMicroseconds() &+ timeout.microseconds
        var isLate = false
        while true {
            if case .ended(let code) = child.state() { return isLate ? nil : code }
            switch await signals.next(until: isLate ? .max : deadline) {
            case nil:
                isLate = true
                child.killGroup()
            case .childChanged: break
            case .fromTerminal(let number), .sent(let number):
                child.killGroup()
                throw Interruption(number: number)
            }
        }
    }

    private func text(of path: String) -> String {
        String(decoding: WholeFile.content(of: path, bytesMax: 1 << 20) ?? [], as: UTF8.self)
    }

    /// The last line that isn't blank.
    private func reason(in text: String, code: Int32) -> String {
        let lines = text.split(whereSeparator: \.isNewline).filter { line in
            !line.hasPrefix("Picked up ") && line.contains { !$0.isWhitespace }
        }
        guard let last = lines.last else { return "it ended with \(code) and said nothing" }
        var line: [UInt8] = []
        LogText.append(String(last.prefix(Self.reasonCharactersMax)), as: .plain, to: &line)
        return String(decoding: line, as: UTF8.self)
    }
}
