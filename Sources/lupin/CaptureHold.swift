// Lets the running lupin capture hosts for as long as an inspector runs.
import LupinCore
import LupinIO

/// The hosts that an inspector wants captured while it runs.
struct CaptureHold: Sendable {
    let client: AdminClient
    let hosts: [String]
    /// By which the running lupin knows it.
    let name = String(UInt64.random(in: .min ... .max), radix: 16)

    /// How often it is renewed; lupin keeps it for three times as long.
    static let renewal = Duration.seconds(60)
    /// How long an inspector that ends waits for lupin.
    private static let farewell = Duration.seconds(2)

    init(_ client: AdminClient, _ hosts: [String]) {
        self.client = client
        self.hosts = hosts
    }

    private var path: String { "/v1/capture/holds/\(name)" }

    /// Begins the hold, or renews it.
    func renew(on loop: EventLoop) async throws(AdminProblem) {
        var line = JSONLine()
        line.openObject()
        line.add("hosts", list: hosts)
        line.closeObject()
        _ = try await client.json("PUT", path, body: line.bytes, on: loop)
    }

    /// Ends the hold; where lupin is gone, it ended before.
    func end(on loop: EventLoop) async {
        let wish = Array("{}".utf8)
        _ = try? await client.request(
            "DELETE",
            path,
            body: wish,
            timeout: Self.farewell,
            on: loop
        )
    }
}
