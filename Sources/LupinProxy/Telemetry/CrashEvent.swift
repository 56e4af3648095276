// The log line about a lupin process that ended without stopping.
import LupinCore
import LupinIO
import LupinRecords

/// A lupin process of this installation that crashed or was killed, found when the next one starts.
struct CrashEvent: Sendable {
    let process: Int32
    /// When it started, in seconds since 1970.
    let startSeconds: Int64

    /// The event as text for people.
    var sentence: String {
        "the lupin of process \(process), started \(HTTPDate.text(startSeconds)), ended without "
            + "stopping: it crashed or was killed"
    }

    /// The log line.
    func line(_ style: RecordStyle, now: Int64) -> [UInt8] {
        switch style {
        case .json: json(now)
        case .text(_, _, let utcOffsetSeconds): text(now, utcOffsetSeconds)
        }
    }

    private func json(_ now: Int64) -> [UInt8] {
        var line = JSONLine()
        line.openObject()
        line.add("schema", RecordFormat.schema)
        line.add("ts", text: Self.timestamp(now).span)
        line.add("event", literal: "crash")
        line.openObject("process")
        line.add("pid", UInt64(max(0, process)))
        let start = Self.timestamp(startSeconds.multipliedSaturated(by: 1_000_000))
        line.add("start", text: start.span)
        line.closeObject()
        line.closeObject()
        line.endLine()
        return line.bytes
    }

    private static func timestamp(_ microseconds: Int64) -> [UInt8] {
        var bytes: [UInt8] = []
        var timestamp = TimestampText()
        timestamp.append(date: microseconds, to: &bytes)
        return bytes
    }

    private func text(_ now: Int64, _ utcOffsetSeconds: Int64) -> [UInt8] {
        var bytes: [UInt8] = []
        var timestamp = TimestampText(utcOffsetSeconds: utcOffsetSeconds)
        timestamp.append(timeOfDay: now, to: &bytes)
        LogText.append(" --- \(sentence)", as: .plain, to: &bytes)
        bytes.append(0x0A)
        return bytes
    }
}
