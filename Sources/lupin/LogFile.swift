// Prints a log from a file or a pipe, and follows it while it grows.
import ArgumentParser
import LupinIO
import LupinRecords

/// Prints the lines of a log.
struct LogFile {
    /// `-` is standard input.
    let path: String
    /// How many of the last matching lines to print; nil for all.
    let count: Int?
    var printer: RecordPrinter

    /// Prints the existing lines and, when it `follows`, new ones.
    mutating func print(follows: Bool) throws {
        var tail: TailedFile
        do throws(SystemError) {
            tail = try TailedFile(path: path == "-" ? nil : path)
        } catch {
            let isWord = !path.contains("/") && !path.contains(".")
            let hint = isWord ? "; to look for it in URLs, write url~\(path)" : ""
            throw ExitCode.failure("cannot open \(path): \(error.message)\(hint)")
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
                guard output.write(painted: printer.take(from: &input)) else { return }
                continue
            }
            if let held = last.take() {
                guard output.write(painted: held.all) else { return }
            }
            // Standard input ends when its writer closes it; only a file can grow again.
            guard follows, path != "-" else { break }
            if tail.hasRotated {
                while try tail.read(into: &input) {}
                guard output.write(painted: printer.take(from: &input)),
                    output.write(painted: printer.finish(&input))
                else { return }
                try tail.reopen()
            } else {
                TailedFile.pause(milliseconds: 200)
            }
        }
        _ = output.write(painted: printer.finish(&input))
    }
}

/// The last `count` pieces of output.
private struct LastPieces {
    let count: Int
    private var pieces: [[UInt8]] = []

    init(_ count: Int) { self.count = count }

    mutating func take(_ piece: [UInt8]) {
        pieces.append(piece)
        // Trimmed only now and then, so that the amortized cost per piece is constant.
        if pieces.count > 2 * count + 1024 { pieces.removeFirst(pieces.count - count) }
    }

    var all: [UInt8] { pieces.suffix(count).flatMap { $0 } }
}
