// The worker's end of the record log: formats lines and hands them over in large chunks.

package import LupinCore
import LupinIO
package import LupinRecords

/// The format of lines.
package enum RecordStyle: Sendable, Equatable {
    case json
    /// For people.
    case text(isColoured: Bool, columns: Int?, utcOffsetSeconds: Int64)

    /// The style that the settings choose: `auto` means text on a terminal and JSON elsewhere.
    ///
    /// `allowsColour` is false when `NO_COLOR` is set; `columns` is the width of the terminal, nil
    /// when unknown.
    package init(
        _ settings: LogSettings,
        allowsColour: Bool,
        columns: Int?,
        utcOffsetSeconds: Int64
    ) {
        let isTerminal =
            switch settings.to {
            case .off, .stdout: Terminal.isStandardOutput
            case .stderr: Terminal.isStandardError
            case .file: false
            }
        switch settings.format {
        case .auto where !isTerminal, .json: self = .json
        case .auto, .text:
            self = .text(
                isColoured: isTerminal && allowsColour,
                columns: isTerminal ? columns : nil,
                utcOffsetSeconds: utcOffsetSeconds
            )
        }
    }
}

/// One worker's access to the ``RecordWriter``.
///
/// Not Sendable: it is confined to the worker's loop.
///
/// Waking the writer's thread costs more than formatting a line, so lines are collected. They are
/// handed over at 64 KiB, or when the worker calls `flush()`, 20 ms after the first line.
package final class RecordSink {
    /// Bytes after which lines are handed over at once.
    private static let chunkBytes = 64 << 10

    private let writer: RecordWriter
    private var isOff: Bool
    private var pending: PendingLines
    /// The number of pending lines.
    private var lines = 0
    private var isFlushAsked = false

    package init(writer: RecordWriter, log: LogSettings, style: RecordStyle, redactor: Redactor) {
        self.writer = writer
        isOff = log.to == .off
        pending = PendingLines(style, redactor)
        adopt(log: log, style: style, redactor: redactor)
    }

    /// Switches to other settings after a reload.
    package func adopt(log: LogSettings, style: RecordStyle, redactor: Redactor) {
        isOff = log.to == .off
        pending.adopt(style, redactor)
    }

    /// Switches to another redactor after a new secret came up.
    package func adopt(redactor: Redactor) { pending.adopt(pending.style, redactor) }

    /// Redacts secrets in all output of this worker.
    package var redactor: Redactor { pending.format.redactor }

    /// Requests a `flush()` of the pending lines; returns true on the first request, when the
    /// caller should arm a timer.
    package func askForFlush() -> Bool {
        guard lines > 0, !isFlushAsked else { return false }
        isFlushAsked = true
        return true
    }

    /// Formats the record's line; with `log: off` only for failures.
    ///
    /// - Returns: With `returnsLine`, the line in JSON without its end; empty where there is none
    ///   that tells of this record alone.
    @discardableResult
    package func record(
        _ record: borrowing ExchangeRecord,
        returnsLine: Bool = false
    ) -> [UInt8] {
        guard record.isDue, !isOff || record.outcome != .ok else { return [] }
        let dropped = writer.takeDropped()
        var line: [UInt8] = []
        let count =
            returnsLine && dropped == 0
            ? pending.add(record, copy: &line) : pending.add(record, dropped: dropped)
        note(count)
        return line
    }

    /// Formats the line of a stage; writes failures even when the log is off.
    package func write(_ stage: StageRecord, isFailure: Bool = false) {
        guard isFailure || !isOff else { return }
        note(pending.add(stage))
    }

    /// Formats the line of an attempt.
    package func write(_ attempt: AttemptSummary, of exchange: ExchangeMoment) {
        guard !isOff else { return }
        note(pending.add(attempt, of: exchange))
    }

    /// Counts one more line; `count` bytes are pending now.
    private func note(_ count: Int) {
        lines += 1
        if count >= RecordSink.chunkBytes { flush() }
    }

    /// Hands over the collected lines.
    ///
    /// Never blocks.
    package func flush() {
        isFlushAsked = false
        guard lines > 0 else { return }
        let waiting = lines
        lines = 0
        writer.submit(pending.take(waiting, chunkBytes: RecordSink.chunkBytes))
    }
}

/// Lines that were not handed over yet, and their formatters.
///
/// One value, so that a record costs one run-time exclusivity check (120 instructions).
private struct PendingLines {
    private(set) var format: RecordFormat
    private(set) var style: RecordStyle
    private var text = SummaryText(isColoured: false)
    private var timestamp = TimestampText()
    private var line = JSONLine()
    private var announced = 0

    init(_ style: RecordStyle, _ redactor: Redactor) {
        self.style = style
        format = RecordFormat(redactor: redactor)
    }

    mutating func adopt(_ style: RecordStyle, _ redactor: Redactor) {
        self.style = style
        format.redactor = redactor
        if case .text(let isColoured, let columns, let utcOffsetSeconds) = style {
            text = SummaryText(
                isColoured: isColoured,
                columns: columns,
                utcOffsetSeconds: utcOffsetSeconds
            )
        }
    }

    /// Formats a record's line and returns the number of pending bytes.
    mutating func add(_ record: borrowing ExchangeRecord, dropped: Int) -> Int {
        announced += dropped
        switch style {
        case .json: format.appendJSON(record, dropped: dropped, to: &line)
        case .text:
            let summary = RecordSummary(record, dropped: dropped, redactor: format.redactor)
            text.append(summary, to: &line.bytes)
        }
        return line.bytes.count
    }

    /// The same, and copies the line if it is JSON, without its end.
    mutating func add(_ record: borrowing ExchangeRecord, copy: inout [UInt8]) -> Int {
        let start = line.bytes.count
        let end = add(record, dropped: 0)
        if case .json = style { copy = Array(line.bytes[start..<end - 1]) }
        return end
    }

    /// Formats a stage's line and returns the number of pending bytes.
    mutating func add(_ stage: StageRecord) -> Int {
        switch style {
        case .json: line.append(stage, &timestamp)
        case .text: text.append(stage, to: &line.bytes)
        }
        return line.bytes.count
    }

    /// Formats an attempt's line and returns the number of pending bytes.
    mutating func add(_ attempt: AttemptSummary, of exchange: ExchangeMoment) -> Int {
        switch style {
        case .json:
            format.appendAttempt(
                attempt.record,
                number: attempt.number,
                of: exchange,
                to: &line
            )
        case .text: text.append(StageRecord(.attempt, attempt, of: exchange), to: &line.bytes)
        }
        return line.bytes.count
    }

    /// Takes all pending lines, `lines` in number, for the writer.
    mutating func take(_ lines: Int, chunkBytes: Int) -> RecordWriter.Chunk {
        var bytes: [UInt8] = []
        if line.bytes.count >= chunkBytes / 2 {
            // Handed over without a copy; the reserve keeps the next buffer from being copied to
            // grow.
            swap(&bytes, &line.bytes)
            line.bytes.reserveCapacity(chunkBytes + 4096)
        } else {
            bytes.append(contentsOf: line.bytes)
            line.bytes.removeAll(keepingCapacity: true)
        }
        let chunk = RecordWriter.Chunk(bytes: bytes, lines: lines, announced: announced)
        announced = 0
        return chunk
    }
}
