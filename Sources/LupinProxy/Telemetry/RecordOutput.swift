// The destination of record lines: opening, rotation, and errors such as a full disk.

import LupinCore
import LupinIO

/// The destination of the log; used on the writer's thread.
struct RecordOutput: ~Copyable {
    /// The result of a write.
    struct Result {
        var lostLines = 0
        /// A problem to report; nil when it was reported before.
        var message: String?
    }

    private var destination: AppendFile.Destination
    private var file: AppendFile
    private var rotateBytes: Int
    private var keep: Int
    /// The last write ended inside a line, which must be ended before the next one.
    private var isInsideLine = false
    /// The reported problem that still lasts.
    private var problem: String?
    /// The destination took no bytes while lupin was stopping.
    private var hasGivenUp = false

    /// - Throws: The error of opening the file.
    init(_ settings: LogSettings) throws(SystemError) {
        destination = Self.destination(of: settings)
        file = try AppendFile(destination)
        rotateBytes = settings.rotateBytes
        keep = settings.rotateKeep
    }

    /// The place of the log; with `log: off` lupin's own failures go to the default place.
    private static func destination(of settings: LogSettings) -> AppendFile.Destination {
        switch settings.to {
        case .off, .stdout: .standardOutput
        case .stderr: .standardError
        case .file(let path): .file(path)
        }
    }

    /// Opens the same place again; the old file stays open if that fails.
    mutating func reopen() throws(SystemError) {
        file = try AppendFile(destination)
        isInsideLine = false
    }

    /// Switches to another place; changes nothing when opening fails.
    mutating func change(to settings: LogSettings) throws(SystemError) {
        let newDestination = Self.destination(of: settings)
        if newDestination != destination {
            file = try AppendFile(newDestination)
            destination = newDestination
            isInsideLine = false
        }
        rotateBytes = settings.rotateBytes
        keep = settings.rotateKeep
    }

    /// Writes whole lines; rotates first when they would make the file too long.
    mutating func write(_ lines: Span<UInt8>, mayWait: () -> Bool) -> Result {
        if hasGivenUp { return Result(lostLines: Self.count(lines, from: 0)) }
        var message: String?
        if case .file(let path) = destination, file.isRegularFile, rotateBytes > 0, file.size > 0,
            rotateBytes - file.size < lines.count
        {
            message = rotate(path)
        }
        if isInsideLine {
            let newline: [UInt8] = [0x0A]
            isInsideLine = file.write(newline.span, mayWait: mayWait).written == 0
        }
        let (written, error) = isInsideLine ? (0, nil) : file.write(lines, mayWait: mayWait)
        if written > 0 { isInsideLine = lines[written - 1] != 0x0A }
        if written == lines.count {
            if message == nil { problem = nil }
            return Result(message: message)
        }
        hasGivenUp = error == .wouldBlock
        let reason = error?.message ?? "it takes no bytes"
        return Result(
            lostLines: Self.count(lines, from: written),
            message: message ?? news("records are being lost: \(reason)")
        )
    }

    /// Moves the file aside and opens a new one.
    ///
    /// When that fails, lines still go to the old file.
    private mutating func rotate(_ path: String) -> String? {
        do throws(SystemError) {
            let steps = LogRotation.steps(path: path, keep: keep) { FileStatus(path: $0) != nil }
            for step in steps {
                switch step {
                case .rename(let from, let to): try FileRename.rename(from, to: to)
                case .remove(let path): try FileRename.remove(path)
                }
            }
            try reopen()
            return nil
        } catch {
            return news("cannot rotate the record log: \(error.message)")
        }
    }

    /// Returns `text` unless it was reported last.
    private mutating func news(_ text: String) -> String? {
        if problem == text { return nil }
        problem = text
        return text
    }

    /// Counts the lines that end at `start` or behind it.
    private static func count(_ lines: Span<UInt8>, from start: Int) -> Int {
        var count = 0
        for i in start..<lines.count where lines[i] == 0x0A { count += 1 }
        return count
    }
}
