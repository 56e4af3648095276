// The life of a running proxy: start, signals, stop. The main thread runs its control loop.
import ArgumentParser
import Glibc
import Logging
import LupinCore
import LupinIO
import LupinPolicy
import LupinProxy

/// Runs a proxy until a signal ends it.
struct Service: Sendable {
    let configuration: Configuration
    /// For the message that names the source of the rules.
    let rulesFile: String?
    /// How to load the rules again.
    let source: RulesSource
    let logger: Logger
    /// The environment variables of the process.
    let environment: [String: String]
    /// Whether records on a terminal may be coloured.
    let allowsColour: Bool
    let logsSecrets: Bool
    let passed: PassedListeners
    /// The service manager that started this process, if one did.
    let manager: ServiceManager?
    /// Runs beside the proxy once that serves; nil for nothing.
    let started: (@Sendable (LoopExecutor) async -> Void)?

    /// The exit code of the process, confined to the control loop.
    private final class Ending {
        var code = ExitCode.success
    }

    /// Serves on the calling thread, which must be the process's only one so far: threads made
    /// earlier would not have the signals blocked.
    func run() -> ExitCode {
        let isForTerminal = Terminal.isThere && !SignalReader.isIgnored(.hangUp)
        SignalReader.block(ProcessSignal.allCases)
        let executor = LoopExecutor()
        let ending = LoopLocal(Ending(), of: executor)
        do throws(SystemError) {
            let loop = try EventLoop(executor: executor)
            Task(executorPreference: executor) {
                guard let code = await start(on: executor, isForTerminal) else { return }
                ending.value.code = code
                stop(executor)
            }
            loop.run()
        } catch {
            logger.error("no event loop: \(error.message)")
            return .failure
        }
        return ending.value.code
    }

    /// Starts the proxy and handles signals; returns an exit code only when it cannot start.
    private func start(on executor: LoopExecutor, _ isForTerminal: Bool) async -> ExitCode? {
        let signals: SignalReader
        do throws(SystemError) {
            signals = try SignalReader(ProcessSignal.allCases, on: executor.loop)
        } catch {
            logger.error("cannot read signals: \(error.message)")
            return .failure
        }
        let proxy: Proxy
        do throws(Proxy.StartFailure) {
            proxy = try await Proxy(
                configuration,
                logger: logger,
                environment: environment,
                allowsColour: allowsColour,
                logsSecrets: logsSecrets,
                source: source,
                about: ProxyDescription(version: VersionText.lupin) { detail, configuration in
                    ExplainText.ofRecorded(detail, configuration) ?? ""
                },
                passed: passed,
                manager: manager
            )
        } catch {
            logger.error("\(error.message)")
            guard error.isBindFailure else { return .failure }
            await tellOfOther(on: executor.loop)
            return .cannotBind
        }
        logger.notice("\(greeting(proxy))")
        if let started { Task(executorPreference: executor) { await started(executor) } }
        await answer(signals, for: proxy, on: executor, isForTerminal)
        return nil
    }

    /// Logs which lupin of this user already runs, if one does.
    private func tellOfOther(on loop: EventLoop) async {
        let client = try? AdminClient.locate(socket: nil, rulesFile: rulesFile)
        let reply = try? await client?.request("GET", "/v1/status", on: loop)
        guard let other = reply?.decoded(as: RunningStatus.self) else { return }
        let rules = other.rules.file.map { "by \($0)" } ?? "without a rules file"
        logger.notice(
            """
            a lupin listens on \(other.listeners.joined(separator: " and ")) \(rules), up \
            \(RunningStatus.time(other.uptime)), process \(other.pid): lupin reload has it read \
            its rules again, and kill \(other.pid) ends it
            """
        )
    }

    /// In which the same signal is the first one again: timeout(1) sends it to its command, and to
    /// the group that this is in.
    private static let repetition = Duration.milliseconds(250)

    /// Never returns: the control loop stops below it, or a second signal ends the process.
    private func answer(
        _ signals: SignalReader,
        for proxy: Proxy,
        on executor: LoopExecutor,
        _ isForTerminal: Bool
    ) async {
        var first: (signal: ProcessSignal, time: ContinuousClock.Instant)?
        func end(by signal: ProcessSignal) {
            if let first {
                if signal == first.signal, .now - first.time < Self.repetition { return }
                proxy.leave()
                _exit(128 + signal.rawValue)
            }
            first = (signal, .now)
            logger.notice("stopping; a second signal cuts what still runs")
            Task(executorPreference: executor) {
                await proxy.stop()
                stop(executor)
            }
        }
        while true {
            let signal = await signals.next()
            switch signal {
            case .terminate, .interrupt: end(by: signal)
            // The terminal was closed. Kernel and shell may both send this signal.
            case .hangUp where isForTerminal && !Terminal.isThere:
                if first == nil { end(by: signal) }
            case .hangUp:
                // The proxy logs the outcome, as when the file changes.
                Task(executorPreference: executor) { await proxy.reload() }
            case .user1:
                proxy.reopenLog()
            }
        }
    }

    /// By message, since a loop that is stopped before it waits for events would wait once more.
    private func stop(_ executor: LoopExecutor) {
        executor.mailbox.post { executor.loop.stop() }
    }

    private func greeting(_ proxy: Proxy) -> String {
        let addresses = proxy.addresses.map(\.description).joined(separator: " and ")
        var text = "listening on \(addresses), "
        text += rulesFile.map { "rules from \($0)" } ?? "no rules file"
        text += "; \(configuration.settings.log.to.sentence)"
        if let url = proxy.urls.first {
            text += "; in a shell: export http_proxy=\(url) https_proxy=\(url)"
        }
        return text
    }
}

extension LogSettings.Destination {
    /// Where records go, as the start says it.
    fileprivate var sentence: String {
        switch self {
        case .off: "records of failures alone to standard output"
        case .stdout: "records to standard output"
        case .stderr: "records to standard error"
        case .file(let path): "records to \(path)"
        }
    }
}
