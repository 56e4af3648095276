// The clients whose hosts a running lupin tunnels because they refused its certificate.

/// A client that gets tunnels, or 403, as `/v1/bypasses` lists it.
struct RunningBypass: Decodable {
    private struct Answer: Decodable { var bypasses: [RunningBypass] }

    var client: String
    /// Host and port.
    var host: String
    var because: String
    var since: String
    var until: String

    /// A sentence for users.
    var sentence: String {
        "bypassed now for \(client), until \(until): it refused lupin's certificate (\(because)); "
            + "lupin reload ends that"
    }

    /// Returns the bypasses of the running lupin; empty when none runs.
    static func all(socket: String?, rulesFile: String?) -> [RunningBypass] {
        let reply = ask("GET", socket: socket, rulesFile: rulesFile)
        return reply?.decoded(as: Answer.self)?.bypasses ?? []
    }

    /// Clears the bypasses of the running lupin: its clients may trust the CA now.
    static func clear() { _ = ask("DELETE", socket: nil, rulesFile: nil) }

    private static func ask(_ method: String, socket: String?, rulesFile: String?) -> AdminReply? {
        let reply = AdminClient.answer(
            method,
            "/v1/bypasses",
            socket: socket,
            rulesFile: rulesFile
        )
        return reply.flatMap { $0.isSuccess ? $0 : nil }
    }
}
