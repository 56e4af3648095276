// Writes captured exchanges: what workers copied becomes rows of the file.
import Logging
import LupinCore
import LupinIO
import LupinPolicy
import LupinRecords
import LupinStore
import Synchronization

/// The state of the thread that writes captured exchanges.
///
/// Every batch that it takes is in the file before the next: `kill -9` loses what was not taken.
final class CaptureWriter: Sendable {
    private let builders: Mutex<Builders>
    private let file: CaptureFile
    private let logger: Logger
    private let droppedAt = Mutex<UInt64>(0)

    /// The time between two searches for what is too old or too much, in µs.
    private static let dropInterval: UInt64 = 250_000

    init(_ file: CaptureFile, lastNumber: Int64, _ redactor: Redactor, logger: Logger) {
        self.file = file
        self.logger = logger
        builders = Mutex(Builders(lastNumber: lastNumber, redactor))
    }

    /// Drops the exchanges with `forgotten` keys, then takes a worker's parts in their order.
    /// - Returns: How many exchanges have ended without being kept.
    func take(
        _ parts: [CapturePart],
        forgotten: [UInt64],
        _ surroundings: CaptureQueue.Surroundings
    ) -> Int {
        let (batch, lost) = builders.withLock { builders in
            for key in forgotten { builders.forget(key) }
            for part in parts { builders.take(part, surroundings) }
            return (builders.takeBatch(), builders.takeLost())
        }
        attempt { file throws(DiskProblem) in try file.write(batch) }
        let now = SystemCall.monotonicMicroseconds()
        let isDue = droppedAt.withLock { droppedAt in
            guard now >= droppedAt + Self.dropInterval else { return false }
            droppedAt = now
            return true
        }
        if isDue { drop(by: surroundings.settings) }
        return lost
    }

    /// Drops exchanges that are older than `capture.keep`, or beyond `capture.disk`.
    func drop(by settings: CaptureSettings) {
        let oldest = SystemCall.wallMicroseconds() - settings.keep.milliseconds * 1000
        attempt { file throws(DiskProblem) in
            try file.drop(startedBefore: oldest, bytesMax: settings.diskBytes)
        }
    }

    private func attempt(_ change: (CaptureFile) throws(DiskProblem) -> Void) {
        do throws(DiskProblem) {
            try change(file)
        } catch {
            let isNews = builders.withLock { $0.noteFailure() }
            if isNews { logger.warning("the capture can't be written: \(error)") }
        }
    }

    /// The exchanges under way.
    private struct Builders: ~Copyable {
        private var open: [UInt64: ExchangeBuilder] = [:]
        /// Those with something new that is not in the batch yet; some may have ended.
        private var touched: [ExchangeBuilder] = []
        private var batch = CaptureBatch()
        private var lastNumber: Int64
        private var format: RecordFormat
        /// The generation of the surroundings whose redactor `format` uses.
        private var generation = -1
        private var failures: UInt64 = 0
        /// Exchanges that ended without being kept.
        private var lost = 0

        init(lastNumber: Int64, _ redactor: Redactor) {
            self.lastNumber = lastNumber
            format = RecordFormat(redactor: redactor)
        }

        private mutating func adoptRedactor(of surroundings: CaptureQueue.Surroundings) {
            guard surroundings.generation != generation else { return }
            generation = surroundings.generation
            format.redactor = surroundings.redactor
        }

        /// Whether the failure is worth a line: the first, and every thousandth.
        mutating func noteFailure() -> Bool {
            failures += 1
            return failures % 1000 == 1
        }

        /// Drops an exchange that lost a part.
        mutating func forget(_ key: UInt64) {
            if let builder = open.removeValue(forKey: key) { builder.forget(in: &batch) }
        }

        mutating func take(_ part: CapturePart, _ surroundings: CaptureQueue.Surroundings) {
            guard let builder = builder(part) else {
                if part.end != nil { lost += 1 }
                return
            }
            builder.take(part, surroundings, &batch)
            if let end = part.end {
                adoptRedactor(of: surroundings)
                builder.end(end, &format, &batch)
            } else if !builder.isTouched {
                builder.isTouched = true
                touched.append(builder)
            }
        }

        /// The builder of an exchange, which ends with its last part; nil if the exchange is not
        /// kept.
        private mutating func builder(_ part: CapturePart) -> ExchangeBuilder? {
            guard let start = part.start else {
                return part.end == nil ? open[part.key] : open.removeValue(forKey: part.key)
            }
            lastNumber += 1
            let row = CapturedExchange(number: lastNumber, id: start.id, start: start.microseconds)
            let builder = ExchangeBuilder(row, bytesMax: start.bytesMax)
            if part.end == nil { open[part.key] = builder }
            return builder
        }

        mutating func takeLost() -> Int {
            defer { lost = 0 }
            return lost
        }

        /// Takes what is to be written now.
        mutating func takeBatch() -> CaptureBatch {
            for builder in touched { builder.flush(into: &batch) }
            touched.removeAll(keepingCapacity: true)
            var taken = CaptureBatch()
            swap(&taken, &batch)
            return taken
        }
    }
}

/// An exchange under way; confined to the thread that writes.
private final class ExchangeBuilder {
    private var row: CapturedExchange
    private var isWritten = false
    private var hasEnded = false
    /// It is among those with something new.
    var isTouched = false
    private var bodies = BySide<BodyBuilder?>(repeating: nil)
    private var directions: [Bool: MessageBuilder] = [:]
    private let bytesMax: Int
    private var messageCount: Int64 = 0
    private var messageBytes = 0

    /// Most lines are shorter.
    private static let lineBytes = 1024
    /// The content of all messages that are kept of an exchange.
    private static let messageBytesMax = 64 << 20

    init(_ row: CapturedExchange, bytesMax: Int) {
        self.row = row
        self.bytesMax = bytesMax
    }

    /// Takes all but the end.
    func take(
        _ part: CapturePart,
        _ surroundings: CaptureQueue.Surroundings,
        _ batch: inout CaptureBatch
    ) {
        for new in part.bodies {
            let i = new.side.rawValue
            if let head = new.head { begin(new.side, head, surroundings, &batch) }
            if !new.bytes.isEmpty {
                bodies[i]?.take(new.bytes)
                keepMessages(of: i, &batch)
            }
            if new.isLost { bodies[i]?.lose() }
        }
        for new in part.frames {
            if let bytes = new.bytes {
                read(bytes, isFromClient: new.isFromClient, surroundings, &batch)
            } else {
                direction(new.isFromClient, surroundings).lose()
            }
        }
    }

    /// Keeps the messages in a body as the client sees it.
    private func keepMessages(of i: Int, _ batch: inout CaptureBatch) {
        for message in bodies[i]?.takeMessages() ?? [] { keep(message, &batch) }
    }

    private func keep(_ message: CapturedMessage, _ batch: inout CaptureBatch) {
        guard messageBytes < Self.messageBytesMax else { return }
        messageCount += 1
        messageBytes += message.content.count + 64
        var message = message
        message.number = messageCount
        batch.messages.append((row.number, message))
    }

    private func begin(
        _ side: CapturedSide,
        _ head: FieldSection,
        _ surroundings: CaptureQueue.Surroundings,
        _ batch: inout CaptureBatch
    ) {
        let i = side.rawValue
        if bodies[i] != nil {
            batch.restarts.append((row.number, i))
            batch.pieces.removeAll { $0.exchange == row.number && $0.side == i }
        }
        bodies[i] = BodyBuilder(side, head, bytesMax: bytesMax, surroundings)
    }

    private func direction(
        _ isFromClient: Bool,
        _ surroundings: CaptureQueue.Surroundings
    ) -> MessageBuilder {
        if let found = directions[isFromClient] { return found }
        let new = MessageBuilder(
            isFromClient: isFromClient,
            bytesMax: surroundings.settings.bodyBytes
        )
        directions[isFromClient] = new
        return new
    }

    private func read(
        _ bytes: [UInt8],
        isFromClient: Bool,
        _ surroundings: CaptureQueue.Surroundings,
        _ batch: inout CaptureBatch
    ) {
        direction(isFromClient, surroundings).read(bytes, surroundings) { message in
            keep(message, &batch)
        }
    }

    /// Drops what was written of the exchange.
    func forget(in batch: inout CaptureBatch) {
        hasEnded = true
        batch.forgotten.append(row.number)
    }

    /// Adds what is final of its bodies, for inspectors that watch.
    func flush(into batch: inout CaptureBatch) {
        isTouched = false
        if hasEnded { return }
        if !isWritten {
            isWritten = true
            batch.exchanges.append(row)
        }
        for i in bodies.indices {
            bodies[i]?.flushCertain(of: row.number, into: &batch)
        }
    }

    func end(_ end: CapturePart.End, _ format: inout RecordFormat, _ batch: inout CaptureBatch) {
        hasEnded = true
        row.host = end.host
        row.method = end.method
        row.status = end.status
        row.duration = end.duration
        row.line = end.line
        if let record = end.record {
            var line = JSONLine(capacity: Self.lineBytes)
            format.appendJSON(record, dropped: 0, to: &line)
            if line.bytes.last == 0x0A { line.bytes.removeLast() }
            row.line = line.bytes
        }
        row.heads = PackedHeads.bytes(
            request: end.request,
            sent: end.sent,
            received: end.received,
            response: end.response,
            format.redactor
        )
        for i in bodies.indices {
            guard let body = bodies[i] else { continue }
            body.end(end.counts[i] ?? CapturedCount())
            keepMessages(of: i, &batch)
            if !isWritten, let whole = body.whole() {
                row.bodies.append(whole)
            } else {
                body.flush(of: row.number, into: &batch)
            }
        }
        batch.exchanges.append(row)
    }
}
