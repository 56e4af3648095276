// Asks a running lupin for its inspector, and to capture hosts for it.
import ArgumentParser
import LupinCore
import LupinIO

/// The inspector of a running lupin.
struct RunningInspector: Sendable {
    let client: AdminClient
    /// The hosts that are captured while the page is open.
    let hosts: [String]

    /// Runs `body` with the inspector; prints why it can't, and returns the exit code.
    static func ask(
        at admin: AdminOptions,
        capturing hosts: [String],
        on loop: EventLoop,
        _ body: (RunningInspector, EventLoop) async throws(AdminProblem) -> Void
    ) async -> ExitCode {
        do throws(AdminProblem) {
            try await body(RunningInspector(client: admin.client(), hosts: hosts), loop)
            return .success
        } catch {
            StandardError.print("lupin: \(error.message)")
            return .failure
        }
    }

    /// The address of the page, for one browser.
    ///
    /// With `hosts` these are captured for as long as the page is open, which gets their hold.
    func address(on loop: EventLoop) async throws(AdminProblem) -> String {
        var tail = ""
        if !hosts.isEmpty {
            let hold = CaptureHold(client, hosts)
            try await hold.renew(on: loop)
            tail = "&hold=\(hold.name)"
        }
        let answer = try await client.json("POST", "/v1/inspector", on: loop)
        // A browser opens it, so it is nothing else than a page of this machine.
        guard let url = answer["url"]?.string, url.hasPrefix("http://127.0.0.1:"),
            LogText.plain(url) == url
        else {
            throw AdminProblem(message: "the running lupin has no inspector")
        }
        return url + tail
    }

    /// Captures hosts until lupin ends, besides those that are captured already.
    func capture(_ hosts: [String], on loop: EventLoop) async throws(AdminProblem) {
        guard !hosts.isEmpty else { return }
        let captured = try await client.json("GET", "/v1/capture", on: loop)["hosts"]?.list ?? []
        var line = JSONLine()
        line.openObject()
        line.add("hosts", list: captured.compactMap(\.string) + hosts)
        line.closeObject()
        _ = try await client.json("PUT", "/v1/capture", body: line.bytes, on: loop)
    }
}
