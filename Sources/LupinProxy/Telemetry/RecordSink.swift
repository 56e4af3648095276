// The worker's end of the record log: formats lines and hands them over in large pieces.

package import LupinCore
import LupinIO

/// How lines look.
package enum RecordStyle: Sendable, Equatable {
    case json
    /// For people.
    case text(isColoured: Bool, columns: Int?, utcOffsetSeconds: Int64)

    /// The style that the settings ask for: `auto` is text on a terminal and JSON elsewhere.
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
/// Not Sendable: it belongs to the worker's loop.
///
/// Waking the writer's thread costs more than formatting a line, so lines are collected: hand-over
/// is at 64 KiB, or when the worker calls `flush()`, which it does 20 ms after the first line.
package final class RecordSink {
    /// Bytes after which lines are handed over at once.
    private static let chunkBytes = 64 << 10

    private let writer: RecordWriter
    private var style: RecordStyle
    private var isOff: Bool
    private var format: RecordFormat
    private var text: SummaryText
    private var line = JSONLine()
    private var lines = 0
    private var announced = 0

    package init(writer: RecordWriter, log: LogSettings, style: RecordStyle, redactor: Redactor) {
        self.writer = writer
        self.style = style
        isOff = log.to == .off
        format = RecordFormat(redactor: redactor)
        text = SummaryText(isColoured: false)
        adopt(log: log, style: style, redactor: redactor)
    }

    /// Goes on with other settings, after a reload.
    package func adopt(log: LogSettings, style: RecordStyle, redactor: Redactor) {
        self.style = style
        isOff = log.to == .off
        format.redactor = redactor
        if case .text(let isColoured, let columns, let utcOffsetSeconds) = style {
            text = SummaryText(
                isColoured: isColoured,
                columns: columns,
                utcOffsetSeconds: utcOffsetSeconds
            )
        }
    }

    /// What hides secrets in everything this worker says.
    package var redactor: Redactor { format.redactor }

    /// Whether lines wait for `flush()`: then a timer should be armed.
    package var isPending: Bool { lines > 0 }

    /// Formats the record's line, unless `log: off` holds for it.
    package func record(_ record: borrowing ExchangeRecord) {
        guard record.isDue, !isOff || record.outcome != .ok else { return }
        let dropped = writer.takeDropped()
        announced += dropped
        switch style {
        case .json: format.appendJSON(record, dropped: dropped, to: &line)
        case .text:
            let summary = RecordSummary(record, dropped: dropped, redactor: format.redactor)
            text.append(summary, to: &line.bytes)
        }
        lines += 1
        if line.bytes.count >= RecordSink.chunkBytes { flush() }
    }

    /// Hands over what has been collected.
    ///
    /// Never blocks.
    package func flush() {
        guard lines > 0 else { return }
        var chunk: [UInt8] = []
        if line.bytes.count >= RecordSink.chunkBytes / 2 {
            // Handed over without a copy; the next buffer need not grow, which would copy it whole.
            chunk = line.bytes
            line.bytes = []
            line.bytes.reserveCapacity(RecordSink.chunkBytes + 4096)
        } else {
            chunk.append(contentsOf: line.bytes)
            line.bytes.removeAll(keepingCapacity: true)
        }
        writer.submit(RecordWriter.Chunk(bytes: chunk, lines: lines, announced: announced))
        lines = 0
        announced = 0
    }
}
