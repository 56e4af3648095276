// Drives the inspector in a terminal: keys and answers go in, questions and the screen come out.
import ArgumentParser
import LupinConsole
import LupinIO

/// The inspector on the user's terminal; confined to one loop.
///
/// Each source of events has a task of its own: keys, signals, seconds, answers. All of them change
/// `state` and then wake the painter, so many changes in a row cost one drawing.
final class TerminalInspector {
    private let executor: LoopExecutor
    private let client: AdminClient
    private let terminal: TerminalDevice
    private let before: SignalsBefore
    /// What is captured meanwhile; nil for nothing.
    private let hold: CaptureHold?
    private var state: ExchangeInspector
    private var painter: ScreenPainter
    /// Wakes the painter with `.answered`, and `run` with `.draining`.
    private let changes: ParkingSlot
    private let ending: ParkingSlot
    private var code: ExitCode?
    /// The editor, while it has the terminal.
    private var editor: EditorRun?

    /// A terminal sends the bytes of a key together; behind a slow line they may be this far apart.
    private static let keyPause = Duration.milliseconds(50)
    private static let pollPause = Duration.seconds(1)
    /// Between two attempts to write to a terminal that takes nothing.
    private static let outputPause = Duration.milliseconds(20)
    /// The size of a terminal that does not tell its own.
    private static let usualSize = (rows: 24, columns: 80)

    private static var environment: [String: String] { ProcessOwner.environment }

    /// Whether the terminal has a cursor that can be moved.
    static var isUsable: Bool { !["", "dumb"].contains(environment["TERM"] ?? "") }

    private static var isColoured: Bool {
        // These terminals have no colours.
        let isOld = ["vt100", "vt102", "vt220"].contains(environment["TERM"] ?? "")
        return !isOld && !LocatedLog.isColourRefused
    }

    /// Runs until the user leaves or a signal ends it.
    ///
    /// The hosts are captured meanwhile.
    static func run(at admin: AdminOptions, capturing hosts: [String]) throws -> ExitCode {
        let before = TerminalSignals.block()
        return try ControlLoop.run { executor in
            do throws(AdminProblem) {
                let client = try admin.client()
                // If no lupin runs, the user learns it before the screen changes.
                let reply = try await client.request("GET", "/v1/exchanges/live", on: executor.loop)
                guard reply.isSuccess else { throw AdminProblem(message: reply.sentence) }
                let hold = hosts.isEmpty ? nil : CaptureHold(client, hosts)
                try await hold?.renew(on: executor.loop)
                let result: Result<ExitCode, SystemError>
                do throws(SystemError) {
                    let inspector = try TerminalInspector(client, before, hold, on: executor)
                    result = .success(await inspector.run())
                } catch {
                    result = .failure(error)
                }
                await hold?.end(on: executor.loop)
                switch result {
                case .success(let code): return code
                case .failure(let error):
                    throw AdminProblem(message: "cannot use the terminal: \(error.message)")
                }
            } catch {
                StandardError.print("lupin: \(error.message)")
                return .failure
            }
        }
    }

    private init(
        _ client: AdminClient,
        _ before: SignalsBefore,
        _ hold: CaptureHold?,
        on executor: LoopExecutor
    ) throws(SystemError) {
        self.executor = executor
        self.client = client
        self.before = before
        self.hold = hold
        let loop = executor.loop
        terminal = try TerminalDevice(on: loop)
        changes = ParkingSlot(on: loop)
        ending = ParkingSlot(on: loop)
        let size = terminal.size ?? Self.usualSize
        state = ExchangeInspector(
            rows: size.rows,
            columns: size.columns,
            utcOffsetSeconds: Terminal.utcOffsetSeconds(at: SystemCall.wallMicroseconds())
        )
        painter = ScreenPainter(isColoured: Self.isColoured)
    }

    /// Takes the terminal, and gives it back whatever ends the inspector.
    private func run() async -> ExitCode {
        let signals: TerminalSignals
        do throws(SystemError) {
            signals = try TerminalSignals(on: executor.loop)
            try terminal.take(sending: ScreenPainter.opening)
        } catch {
            terminal.release(sending: ScreenPainter.closing)
            StandardError.print("lupin: cannot use the terminal: \(error.message)")
            return .failure
        }
        start { await $0.readKeys() }
        start { await $0.poll() }
        start { await $0.paint() }
        let reading = LoopLocal((self, signals), of: executor)
        Task(executorPreference: executor) {
            await reading.value.0.read(reading.value.1)
        }
        while code == nil { _ = await ending.park(for: .answered) }
        editor?.end()
        // Other tasks still hold this object, and the editor's file must go.
        editor = nil
        terminal.release(sending: ScreenPainter.closing)
        return code ?? .success
    }

    /// Runs `work` as a task on the loop.
    private func start(_ work: @escaping @Sendable (TerminalInspector) async -> Void) {
        let inspector = LoopLocal(self, of: executor)
        Task(executorPreference: executor) { await work(inspector.value) }
    }

    private func leave(_ code: ExitCode) {
        self.code = self.code ?? code
        ending.wake(.answered)
    }

    // MARK: What comes

    private func readKeys() async {
        var decoder = KeyDecoder()
        while code == nil {
            let deadline =
                decoder.isWaiting ? executor.loop.deadline(in: Self.keyPause) : UInt64.max
            switch await terminal.next(until: deadline) {
            case .bytes(let bytes):
                for key in decoder.feed(bytes) { perform(state.take(key)) }
            case .silence:
                if let key = decoder.flush() { perform(state.take(key)) }
            case .end:
                // As the shell's hangup would, which may come later or not at all.
                return leave(ExitCode(128 + 1))
            }
            changes.wake(.answered)
        }
    }

    private func poll() async {
        let slot = ParkingSlot(on: executor.loop)
        var renewal = executor.loop.deadline(in: CaptureHold.renewal)
        while code == nil {
            perform(state.tick(now: SystemCall.wallMicroseconds()))
            changes.wake(.answered)
            if executor.loop.now >= renewal {
                renewal = executor.loop.deadline(in: CaptureHold.renewal)
                start { try? await $0.hold?.renew(on: $0.executor.loop) }
            }
            _ = await slot.park(for: [], until: executor.loop.deadline(in: Self.pollPause))
        }
    }

    private func read(_ signals: TerminalSignals) async {
        while code == nil {
            switch await signals.next() {
            case .resized: resize()
            case .stopWanted: stop(wholeGroup: false)
            case .continued: takeTerminal()
            case .childChanged: lookAtEditor()
            case .end(let number): leave(ExitCode(128 + number))
            }
        }
    }

    // MARK: What is done

    private func perform(_ demands: [InspectorDemand]) {
        for demand in demands {
            switch demand {
            case .ask(let request): ask(request)
            case .edit(let text): edit(text)
            case .copy(let text): copy(text)
            case .redraw:
                painter.forget()
                resize()
            case .suspend: stop(wholeGroup: true)
            case .leave: leave(.success)
            }
        }
    }

    private func ask(_ request: InspectorRequest) {
        start { inspector in
            do throws(AdminProblem) {
                let reply = try await inspector.client.request(
                    request.method,
                    request.path,
                    body: request.body,
                    bytesMax: AdminClient.exchangesBytesMax,
                    on: inspector.executor.loop
                )
                let answer = InspectorAnswer(
                    status: reply.status,
                    lastID: reply.lastID,
                    body: reply.body
                )
                inspector.perform(inspector.state.take(answer, to: request))
            } catch {
                inspector.state.take(failure: error.message, of: request)
            }
            inspector.changes.wake(.answered)
        }
    }

    /// Terminals refuse longer texts, and some show them.
    private static let copyBytesMax = 48 << 10

    private func copy(_ text: String) {
        guard text.utf8.count <= Self.copyBytesMax else {
            state.tell("It is too long for the clipboard.", isBad: true)
            return
        }
        terminal.write(ScreenPainter.clipboard(text))
    }

    // MARK: The screen

    private func paint() async {
        while code == nil {
            var deadline = UInt64.max
            if terminal.isTaken {
                // A slow terminal gets the latest screen, not each one.
                if terminal.flush() {
                    let columns = state.columns
                    terminal.write(painter.bytes(for: state.screen(), columns: columns))
                }
                if !terminal.flush() { deadline = executor.loop.deadline(in: Self.outputPause) }
            }
            _ = await changes.park(for: .answered, until: deadline)
        }
    }

    private func resize() {
        let size = terminal.size ?? Self.usualSize
        state.resize(rows: size.rows, columns: size.columns)
        painter.forget()
        changes.wake(.answered)
    }

    /// Opens the screen again after a stop or an editor.
    private func takeTerminal() {
        guard editor == nil, code == nil else { return }
        do throws(SystemError) {
            try terminal.take(sending: ScreenPainter.opening)
        } catch {
            return leave(.failure)
        }
        terminal.wakeReader()
        resize()
    }

    private func stop(wholeGroup: Bool) {
        terminal.release(sending: ScreenPainter.closing)
        TerminalSignals.stop(wholeGroup: wholeGroup)
        takeTerminal()
    }

    // MARK: The editor

    private func edit(_ text: RequestText) {
        guard editor == nil else { return }
        terminal.release(sending: ScreenPainter.closing)
        do throws(SystemError) {
            editor = try EditorRun(text, environment: Self.environment, signals: before)
        } catch {
            takeTerminal()
            state.tell("The editor can't be run: \(error.message)", isBad: true)
        }
    }

    private func lookAtEditor() {
        guard let editor else { return }
        switch editor.state() {
        case .running: return
        case .stopped:
            TerminalSignals.stop(wholeGroup: false)
            editor.goOn()
        case .ended(let code):
            let result = editor.result(code: code)
            self.editor = nil
            takeTerminal()
            switch result {
            case .saved(let bytes): perform(state.edited(editor.text, saved: bytes))
            case .unsaved: perform(state.edited(editor.text, saved: nil))
            case .failed(let reason): state.tell(reason, isBad: true)
            }
            changes.wake(.answered)
        }
    }
}
