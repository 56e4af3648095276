// Shows a text that is longer than the terminal by the user's pager.
import LupinConsole
import LupinCore
import LupinIO

enum PagedText {
    /// Prints a text for people, whose explanations have colours on a terminal.
    static func show(_ text: String, isExplanation: Bool = false) {
        let isPainted =
            isExplanation && Terminal.isStandardOutput && !LocatedLog.isColourRefused
        let shown = isPainted ? PaintedText.explanation(text) : LogText.lines(text)
        let bytes = Array("\(shown)\n".utf8)
        if isLong(shown), page(bytes) { return }
        guard var output = try? StandardOutput() else { return }
        _ = output.write(painted: bytes)
    }

    private static func isLong(_ text: String) -> Bool {
        guard Terminal.isStandardInput, Terminal.isStandardOutput, let rows = Terminal.rows
        else { return false }
        return text.utf8.count { $0 == 0x0A } + 2 > rows
    }

    /// Has the pager show it; returns false where there is none.
    private static func page(_ bytes: [UInt8]) -> Bool {
        var environment = LocatedRules.environment
        let named = environment["PAGER"] ?? ""
        let pager = named.isEmpty ? "less" : named
        // What ends on the screen stays there, and colours pass.
        environment["LESS"] = environment["LESS"] ?? "FRX"
        let before = ChildSignals.block()
        do throws(SystemError) {
            let folder = try PrivateFolder(in: UserFolder.temporary(environment))
            let file = "\(folder.path)/page"
            try WholeFile.write(bytes, to: file)
            // The variable may have arguments, as in `less -S`.
            let launch = ChildLaunch(
                "/bin/sh",
                ["-c", "exec \(pager) < \"$0\"", file],
                environment: environment.map { "\($0.key)=\($0.value)" }
            )
            let child = try ChildProcess(launch, signals: before)
            while true {
                switch child.state() {
                // A shell has no program of that name, or may not run it.
                case .ended(let code): return code != 126 && code != 127
                case .stopped(let signal): child.stopAlong(by: signal)
                case .running: TailedFile.pause(milliseconds: 20)
                }
            }
        } catch {
            return false
        }
    }
}
