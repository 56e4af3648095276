// Asks a running lupin for its inspector, and to capture hosts.
import ArgumentParser
import LupinCore
import LupinIO

/// The inspector of a running lupin.
struct RunningInspector: Sendable {
    let client: AdminClient
    /// The hosts to capture besides those that are captured already.
    let hosts: [String]

    /// Runs `body` with the inspector; prints why it can't, and returns the exit code.
    static func ask(
        at place: AdminPlace,
        capturing hosts: [String],
        on loop: EventLoop,
        _ body: (RunningInspector, EventLoop) async throws(AdminProblem) -> Void
    ) async -> ExitCode {
        do throws(AdminProblem) {
            try await body(RunningInspector(client: place.client(), hosts: hosts), loop)
            return .success
        } catch {
            StandardError.print("lupin: \(error.message)")
            return .failure
        }
    }

    /// The address of the page, for one browser; the hosts are captured from now on.
    func address(on loop: EventLoop) async throws(AdminProblem) -> String {
        if !hosts.isEmpty { try await capture(on: loop) }
        let answer = try await json("POST", "/v1/inspector", on: loop)
        guard let url = answer["url"]?.string else {
            throw AdminProblem(message: "the running lupin has no inspector")
        }
        return url
    }

    /// Adds the hosts to those that are captured.
    func capture(on loop: EventLoop) async throws(AdminProblem) {
        let captured = try await json("GET", "/v1/capture", on: loop)["hosts"]?.list ?? []
        var line = JSONLine()
        line.openObject()
        line.add("hosts", list: captured.compactMap(\.string) + hosts)
        line.closeObject()
        _ = try await json("PUT", "/v1/capture", body: line.bytes, on: loop)
    }

    private func json(
        _ method: String,
        _ path: String,
        body: [UInt8]? = nil,
        on loop: EventLoop
    ) async throws(AdminProblem) -> JSONValue {
        let reply = try await client.request(method, path, body: body, on: loop)
        guard reply.isSuccess else { throw AdminProblem(message: reply.sentence) }
        return JSONValue(parsing: reply.body.span) ?? .null
    }
}
