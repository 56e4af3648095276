// A log that is printed from a file or a pipe, and followed while it grows.
import ArgumentParser
import LupinCore
import LupinIO

/// Prints the lines of a log.
struct LogFile {
    /// `-` is standard input.
    let path: String
    /// How many of the last lines that pass; nil for all.
    let count: Int?
    var printer: RecordPrinter

    /// Prints what there is and, where it is followed, what comes.
    mutating func print(follows: Bool) throws {
        var tail: TailedFile
        do throws(SystemError) {
            tail = try TailedFile(path: path == "-" ? nil : path)
        } catch {
            throw ValidationError("cannot open \(path): \(error.message)")
        }
        var output = try StandardOutput()
        var last = count.map(LastPieces.init)
        var input: [UInt8] = []
        while true {
            if try tail.read(into: &input) {
                if last != nil {
                    printer.take(from: &input) { last?.take($0) }
                    continue
                }
                guard output.write(printer.take(from: &input)) else { return }
                continue
            }
            if let held = last.take() {
                guard output.write(held.all) else { return }
            }
            // Standard input ends when its writer does; only a file can grow again.
            guard follows, path != "-" else { break }
            if tail.hasRotated {
                while try tail.read(into: &input) {}
                guard output.write(printer.take(from: &input)),
                    output.write(printer.finish(&input))
                else { return }
                try tail.reopen()
            } else {
                TailedFile.pause(milliseconds: 200)
            }
        }
        _ = output.write(printer.finish(&input))
    }
}

/// The last so many pieces of output.
private struct LastPieces {
    let count: Int
    private var pieces: [[UInt8]] = []

    init(_ count: Int) { self.count = count }

    mutating func take(_ piece: [UInt8]) {
        pieces.append(piece)
        // Trimmed now and then: it costs what all pieces cost.
        if pieces.count > 2 * count + 1024 { pieces.removeFirst(pieces.count - count) }
    }

    var all: [UInt8] { pieces.suffix(count).flatMap { $0 } }
}

/// Standard output for whole pieces of text.
struct StandardOutput: ~Copyable {
    private var file: AppendFile

    init() throws { file = try AppendFile(.standardOutput) }

    /// False when nobody reads any more.
    mutating func write(_ bytes: [UInt8]) -> Bool {
        file.write(bytes.span) { true }.error == nil
    }
}
