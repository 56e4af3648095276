// Opens the inspector's page in the user's browser.
import LupinCore
import LupinIO

enum BrowserOpening {
    /// Opens the page where there is a display; a browser that can't be started is no failure.
    ///
    /// The address holds a code, and every user sees the arguments of a process. So the browser
    /// gets a file that only this user may read, beside the socket, and the file leads to the page.
    static func open(_ url: String, beside socket: String, _ before: SignalsBefore) {
        let environment = LocatedRules.environment
        let displays = ["DISPLAY", "WAYLAND_DISPLAY"]
        guard displays.contains(where: { environment[$0]?.isEmpty == false }) else { return }
        let path = absolute("\(socket).html")
        let page = Array(page(leadingTo: url).utf8)
        do throws(ProtectedFileProblem) {
            try ProtectedFile.write(page.span, to: path, replacing: true)
        } catch {
            return
        }
        // A browser that it starts stays, and writes to no terminal.
        let script = "exec xdg-open \"$0\" </dev/null >/dev/null 2>&1"
        let launch = ChildLaunch(
            "/bin/sh",
            ["-c", script, "file://\(path)"],
            environment: environment.map { "\($0.key)=\($0.value)" }
        )
        _ = try? ChildProcess(launch, signals: before)
    }

    private static func absolute(_ path: String) -> String {
        path.hasPrefix("/") ? path : "\(ProcessOwner.directory)/\(path)"
    }

    private static func page(leadingTo url: String) -> String {
        let url = url.replacing("&", with: "&amp;")
        return """
            <!doctype html>
            <meta charset="utf-8">
            <meta name="referrer" content="no-referrer">
            <meta http-equiv="refresh" content="0; url=\(url)">
            <title>lupin inspector</title>
            <a href="\(url)">The inspector</a>

            """
    }
}
