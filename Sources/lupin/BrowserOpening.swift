// Opens the inspector's page in the user's browser.
import LupinIO

enum BrowserOpening {
    /// Opens the page where there is a display; a browser that can't be started is no failure.
    static func open(_ url: String, _ before: SignalsBefore) {
        let environment = LocatedRules.environment
        let displays = ["DISPLAY", "WAYLAND_DISPLAY"]
        guard displays.contains(where: { environment[$0]?.isEmpty == false }) else { return }
        // A browser that it starts stays, and writes to no terminal.
        let script = "exec xdg-open \"$0\" </dev/null >/dev/null 2>&1"
        let launch = ChildLaunch(
            "/bin/sh",
            ["-c", script, url],
            environment: environment.map { "\($0.key)=\($0.value)" }
        )
        _ = try? ChildProcess(launch, signals: before)
    }
}
