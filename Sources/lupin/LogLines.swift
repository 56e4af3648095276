// Reads the lines that a log has by now, from a file or from standard input.
import LupinIO

enum LogLines {
    /// A longer line is not lupin's; only its beginning is passed on.
    private static let lineBytesMax = 4 << 20

    /// Passes every line of the log at `path` to `body`; `-` is standard input.
    ///
    /// No more than one line lies in memory, and a block of 64 KiB.
    static func read(
        _ path: String,
        _ body: (ArraySlice<UInt8>) throws(RecordProblem) -> Void
    ) throws(RecordProblem) {
        var file: TailedFile
        do throws(SystemError) {
            file = try TailedFile(path: path == "-" ? nil : path)
        } catch {
            throw RecordProblem(message: "cannot open \(path): \(error.message)")
        }
        var bytes: [UInt8] = []
        // Whether the rest of a line that is too long is skipped.
        var isSkipping = false
        var isOpen = true
        while isOpen {
            do throws(SystemError) {
                isOpen = try file.read(into: &bytes)
            } catch {
                throw RecordProblem(message: "cannot read \(path): \(error.message)")
            }
            if !isOpen { bytes.append(0x0A) }
            guard let last = bytes.lastIndex(of: 0x0A) else {
                if isSkipping {
                    bytes = []
                } else if bytes.count > lineBytesMax {
                    try body(bytes[..<lineBytesMax])
                    isSkipping = true
                    bytes = []
                }
                continue
            }
            var lines = bytes[...last].split(separator: 0x0A, omittingEmptySubsequences: false)[...]
            if isSkipping { lines = lines.dropFirst() }
            isSkipping = false
            for line in lines where !line.isEmpty { try body(line) }
            bytes.removeSubrange(...last)
        }
    }
}
