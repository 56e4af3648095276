// Runs the user's editor on a text in a private file, and reads what was saved.
import Glibc
import LupinConsole
import LupinIO

/// The user's editor while it has the terminal.
final class EditorRun {
    enum Result {
        case saved([UInt8])
        /// The file is as it was written.
        case unsaved
        /// A sentence for users.
        case failed(String)
    }

    let text: RequestText
    private let folder: PrivateFolder
    private let file: String
    private let child: ChildProcess
    private let written: FileStatus?

    /// Starts `$VISUAL`, `$EDITOR` or vi.
    /// - Throws: The kernel's error.
    init(
        _ text: RequestText,
        environment: [String: String],
        signals: SignalsBefore
    ) throws(SystemError) {
        self.text = text
        folder = try PrivateFolder(in: environment["TMPDIR"] ?? "/tmp")
        file = "\(folder.path)/request.http"
        try WholeFile.write(text.text, to: file)
        written = FileStatus(path: file)
        let named = ["VISUAL", "EDITOR"].compactMap { environment[$0] }.first { !$0.isEmpty }
        // The variable may have arguments, as in `code --wait`. The shell becomes the editor, so
        // that signals reach it.
        let launch = ChildLaunch(
            "/bin/sh",
            ["-c", "exec \(named ?? "vi") \"$@\"", "editor", file],
            environment: environment.map { "\($0.key)=\($0.value)" }
        )
        child = try ChildProcess(launch, signals: signals)
    }

    func state() -> ChildProcess.State { child.state() }

    func goOn() { child.send(signal: SIGCONT) }

    /// Ends it with lupin.
    func end() { child.send(signal: SIGTERM) }

    func result(code: Int32) -> Result {
        guard code == 0 else {
            return .failed("The editor ended with code \(code), so nothing was sent.")
        }
        let now = FileStatus(path: file)
        guard now?.identity != written?.identity || now?.modified != written?.modified else {
            return .unsaved
        }
        guard let bytes = WholeFile.content(of: file) else {
            return .failed("What the editor saved can't be read.")
        }
        return .saved(bytes)
    }
}
