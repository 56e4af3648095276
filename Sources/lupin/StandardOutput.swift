// Writes what commands tell people, so that nothing in it can act on their terminal.
import LupinCore
import LupinIO

/// Standard output.
///
/// Together with ``StandardError`` the only way to the terminal: names, values and paths come from
/// other people's files, records and answers, and may hold escape sequences. The terminal inspector
/// and the log paint for themselves, of texts that were escaped one by one.
struct StandardOutput: ~Copyable {
    private var file: AppendFile

    init() throws { file = try AppendFile(.standardOutput) }

    /// Prints lines for people.
    ///
    /// What must stay on its line is escaped by `LogText.plain` before: line breaks pass.
    static func print(_ text: String, terminator: String = "\n") {
        guard var output = try? StandardOutput() else { return }
        _ = output.error(writing: text + terminator)
    }

    /// Prints what a program reads, such as JSON or a script: it means the same afterwards.
    static func print(code text: String, terminator: String = "\n") {
        guard var output = try? StandardOutput() else { return }
        _ = output.error(writing: text + terminator, keepsTabs: true)
    }

    /// Writes lines for people; returns the error when that fails.
    mutating func error(writing text: String, keepsTabs: Bool = false) -> SystemError? {
        error(painted: Array(LogText.lines(text, keepsTabs: keepsTabs).utf8))
    }

    /// Writes what was made harmless piece by piece, with colours between the pieces; returns false
    /// when the reader has closed its end.
    mutating func write(painted bytes: [UInt8]) -> Bool { error(painted: bytes) == nil }

    /// Writes bytes that a program asked for, such as an archive; on a terminal they are made
    /// harmless.
    mutating func error(writing bytes: [UInt8]) -> SystemError? {
        guard Terminal.isStandardOutput else { return error(painted: bytes) }
        return error(writing: String(decoding: bytes, as: UTF8.self), keepsTabs: true)
    }

    private mutating func error(painted bytes: [UInt8]) -> SystemError? {
        file.write(bytes.span) { true }.error
    }
}
