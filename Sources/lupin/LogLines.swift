// Reads the lines that a log has by now, from a file or from standard input.
import LupinCore
import LupinIO

enum LogLines {
    /// Passes every line of the log at `path` to `body`; `-` is standard input.
    static func read(
        _ path: String,
        _ body: (ArraySlice<UInt8>) -> Void
    ) throws(RecordProblem) {
        var file: TailedFile
        do throws(SystemError) {
            file = try TailedFile(path: path == "-" ? nil : path)
        } catch {
            throw RecordProblem(message: "cannot open \(path): \(error.message)")
        }
        var bytes: [UInt8] = []
        var isOpen = true
        while isOpen {
            do throws(SystemError) {
                isOpen = try file.read(into: &bytes)
            } catch {
                throw RecordProblem(message: "cannot read \(path): \(error.message)")
            }
            if !isOpen { bytes.append(0x0A) }
            guard let last = bytes.lastIndex(of: 0x0A) else { continue }
            for line in bytes[...last].split(separator: 0x0A) { body(line) }
            bytes.removeSubrange(...last)
        }
    }
}
