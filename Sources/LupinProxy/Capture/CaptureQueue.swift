// Captured exchanges: one thread that writes them, one that reads them, and the file between.
import Logging
import LupinCore
import LupinIO
import LupinPolicy
import LupinStore
import Synchronization

/// The one owner of captured exchanges.
///
/// File and threads exist from the first captured exchange on, or from the first query about one.
/// Workers never wait for it: when more than `queueBytes` of the settings wait for the thread,
/// bodies are cut and marked so; beyond four times as much, exchanges are not kept. Workers ask
/// before they copy, so that what is not kept costs next to nothing.
final class CaptureQueue: Sendable {
    private static let queueBatchesMax = 4096

    /// The secrets and limits that hold for a batch.
    struct Surroundings: Sendable {
        let secrets: BodySecrets
        var settings: CaptureSettings
        /// Grows with every change.
        fileprivate(set) var generation = 0

        init(redactor: Redactor, settings: CaptureSettings) {
            secrets = BodySecrets(redactor)
            self.settings = settings
        }

        var redactor: Redactor { secrets.redactor }
    }

    /// The file with its threads.
    struct Opened: Sendable {
        let file: CaptureFile
        let writer: HelperThread
        let reader: HelperThread
        let captureWriter: CaptureWriter
    }

    private enum State {
        case untouched
        case opened(Opened)
        /// It can't be opened, which was reported.
        case failed(String)
        case closed
    }

    private let logger: Logger
    private let environment: [String: String]
    private let state = Mutex(State.untouched)
    private let current: Mutex<Surroundings>
    private let keys = Atomic<UInt64>(0)
    private let queuedBytes = Atomic(0)
    /// `queueBytes` of the settings.
    private let queueBytes: Atomic<Int>
    /// Exchanges that lost a part because the thread was behind.
    private let forgotten = Mutex<[UInt64]>([])
    /// How many exchanges were lost so far.
    private let lost = Atomic(0)
    private let warnings = WarningPause()
    /// The hosts that inspectors want captured, besides those of the rules.
    private let asked = Mutex<[String]>([])

    init(_ surroundings: Surroundings, _ environment: [String: String], _ logger: Logger) {
        current = Mutex(surroundings)
        queueBytes = Atomic(surroundings.settings.queueBytes)
        self.environment = environment
        self.logger = logger
    }

    /// The key of a new exchange.
    func nextKey() -> UInt64 { keys.add(1, ordering: .relaxed).newValue }

    /// Uses other secrets and limits from the next batch on.
    func adopt(_ surroundings: Surroundings) {
        queueBytes.store(surroundings.settings.queueBytes, ordering: .relaxed)
        current.withLock { current in
            let generation = current.generation + 1
            current = surroundings
            current.generation = generation
        }
    }

    var settings: CaptureSettings { current.withLock { $0.settings } }

    // MARK: Hosts that were asked for

    var hosts: [String] { asked.withLock { $0 } }

    func set(hosts: [String]) { asked.withLock { $0 = hosts } }

    // MARK: Writing

    /// Takes what a worker has, `bytes` in all; never waits for the disk.
    func submit(_ parts: [CapturePart], bytes: Int) {
        guard case .success(let opened) = open() else { return }
        var (parts, size) = (parts, bytes)
        if !takesBodies(of: size) {
            size -= parts.reduce(0) { $0 + $1.byteCount }
            parts = parts.map(\.withoutBytes)
        }
        guard takesExchanges(of: size) else { return forget(parts) }
        // First, since further parts of these exchanges may be among `parts`.
        let forgotten = takeForgotten()
        queuedBytes.add(size, ordering: .relaxed)
        let isTaken = opened.writer.submit { [self, parts, size] in
            let known = current.withLock { $0 }
            noteLost(opened.captureWriter.take(parts, forgotten: forgotten, known))
            queuedBytes.subtract(size, ordering: .releasing)
        }
        if isTaken { return }
        queuedBytes.subtract(size, ordering: .relaxed)
        self.forgotten.withLock { $0 += forgotten }
        forget(parts)
    }

    /// Whether there is room for `bytes` more of bodies.
    func takesBodies(of bytes: Int) -> Bool {
        queuedBytes.load(ordering: .relaxed) + bytes <= queueBytes.load(ordering: .relaxed)
    }

    /// Whether there is room for `bytes` more of exchanges without bodies.
    func takesExchanges(of bytes: Int) -> Bool {
        let (room, isOverflow) = queueBytes.load(ordering: .relaxed)
            .multipliedReportingOverflow(by: 4)
        return isOverflow || queuedBytes.load(ordering: .relaxed) + bytes <= room
    }

    /// Keeps nothing of these exchanges, since a part of each is lost.
    private func forget(_ parts: [CapturePart]) {
        let keys = Set(parts.map(\.key))
        forgotten.withLock { $0 += keys }
        noteLost(parts.count(where: { $0.end != nil }))
    }

    /// Counts exchanges that are not kept, each once.
    func noteLost(_ count: Int) {
        if count == 0 { return }
        let lost = lost.add(count, ordering: .relaxed).newValue
        guard warnings.mayWarn(now: SystemCall.monotonicMicroseconds()) else { return }
        logger.warning("the capture lacks exchanges, \(lost) so far: its writer is behind")
    }

    /// Drops what is too old, even if nothing is captured any more.
    func sweep() {
        guard let opened = openedToSweep else { return }
        opened.writer.submit { [self] in opened.captureWriter.drop(by: settings) }
    }

    /// The file, if there is one.
    ///
    /// Another lupin that has it open sweeps it itself.
    private var openedToSweep: Opened? {
        state.withLock { state in
            switch state {
            case .opened(let opened): return opened
            case .failed, .closed: return nil
            case .untouched:
                guard let folder, CaptureFile.exists(in: folder), let opened = try? openNow() else {
                    return nil
                }
                state = .opened(opened)
                return opened
            }
        }
    }

    private func takeForgotten() -> [UInt64] {
        forgotten.withLock { forgotten in
            defer { forgotten = [] }
            return forgotten
        }
    }

    /// Writes all that was handed over and closes the file.
    func close() {
        let former = state.withLock { state in
            defer { state = .closed }
            return state
        }
        guard case .opened(let opened) = former else { return }
        opened.writer.join()
        opened.reader.join()
        opened.file.close()
    }

    // MARK: Reading

    /// Runs `body` with the file on the thread that reads, and the result on the loop.
    func read<Value: Sendable>(
        on loop: EventLoop,
        _ body: @escaping @Sendable (CaptureFile) throws(DiskProblem) -> Value
    ) async -> Result<Value, CaptureProblem> {
        await run(body, on: loop, isWriting: false)
    }

    /// Runs `body` after all that was handed over so far.
    func write<Value: Sendable>(
        on loop: EventLoop,
        _ body: @escaping @Sendable (CaptureFile) throws(DiskProblem) -> Value
    ) async -> Result<Value, CaptureProblem> {
        await run(body, on: loop, isWriting: true)
    }

    /// Waits until all that was handed over so far is written, for a second at most.
    func settle(on loop: EventLoop) async {
        guard queuedBytes.load(ordering: .acquiring) > 0 else { return }
        let deadline = loop.deadline(in: .seconds(1))
        _ = await run({ _ throws(DiskProblem) in }, on: loop, isWriting: true, until: deadline)
    }

    private func run<Value: Sendable>(
        _ body: @escaping @Sendable (CaptureFile) throws(DiskProblem) -> Value,
        on loop: EventLoop,
        isWriting: Bool,
        until deadline: UInt64 = .max
    ) async -> Result<Value, CaptureProblem> {
        let opened: Opened
        switch open() {
        case .success(let found): opened = found
        case .failure(let problem): return .failure(problem)
        }
        let slot = ParkingSlot(on: loop)
        let answer = LoopLocal(Answer<Value>(slot), of: loop.executor)
        let executor = loop.executor
        let thread = isWriting ? opened.writer : opened.reader
        let isTaken = thread.submit {
            let result: Result<Value, CaptureProblem>
            do throws(DiskProblem) {
                result = .success(try body(opened.file))
            } catch {
                result = .failure(CaptureProblem(sentence: "the capture: \(error)"))
            }
            executor.mailbox.post { answer.value.take(result) }
        }
        guard isTaken else { return .failure(.busy) }
        while answer.value.result == nil, loop.now < deadline {
            _ = await slot.park(for: .answered, until: deadline)
        }
        return answer.value.result ?? .failure(.busy)
    }

    private final class Answer<Value: Sendable> {
        private(set) var result: Result<Value, CaptureProblem>?
        private let slot: ParkingSlot

        init(_ slot: ParkingSlot) { self.slot = slot }

        func take(_ result: Result<Value, CaptureProblem>) {
            self.result = result
            slot.wake(.answered)
        }
    }

    // MARK: Opening

    /// Whether there is a file that can be read.
    ///
    /// A file that can't be opened counts as none: another lupin of the user may have it.
    var mayHaveExchanges: Bool {
        let isThere = state.withLock { state in
            switch state {
            case .opened: true
            case .failed, .closed: false
            case .untouched: folder.map(CaptureFile.exists) ?? false
            }
        }
        guard isThere, case .success = open() else { return false }
        return true
    }

    var folder: String? {
        settings.folder(environment: environment, home: ProcessOwner.home(environment))
    }

    private func open() -> Result<Opened, CaptureProblem> {
        let (result, isNews) = state.withLock { state in
            switch state {
            case .opened(let opened): return (Result<Opened, CaptureProblem>.success(opened), false)
            case .failed(let reason): return (.failure(CaptureProblem(sentence: reason)), false)
            case .closed: return (.failure(.busy), false)
            case .untouched: break
            }
            do throws(CaptureProblem) {
                let opened = try openNow()
                state = .opened(opened)
                return (.success(opened), false)
            } catch {
                state = .failed(error.sentence)
                return (.failure(error), true)
            }
        }
        if isNews, case .failure(let problem) = result { logger.warning("\(problem.sentence)") }
        return result
    }

    private func openNow() throws(CaptureProblem) -> Opened {
        guard let folder else {
            throw CaptureProblem(sentence: "nothing is captured: set capture.path")
        }
        do {
            let file = try CaptureFile(folder: folder)
            let last = try file.lastNumber()
            return Opened(
                file: file,
                // The capture may fall behind; exchanges must not.
                writer: try HelperThread(
                    name: "lupin-capture",
                    capacity: Self.queueBatchesMax,
                    yields: true
                ),
                reader: try HelperThread(name: "lupin-captured", capacity: 64),
                captureWriter: CaptureWriter(
                    file,
                    lastNumber: last,
                    current.withLock { $0.redactor },
                    logger: logger
                )
            )
        } catch let problem as DiskProblem {
            throw CaptureProblem(sentence: "nothing is captured: \(problem)")
        } catch {
            throw CaptureProblem(sentence: "nothing is captured: no thread could be started")
        }
    }
}

/// Why the capture can't be asked, as a sentence.
struct CaptureProblem: Error, Sendable {
    var sentence: String

    static let busy = CaptureProblem(sentence: "the capture is busy; ask again")
}
