// For whom a running lupin bypasses its rules now, because they refused its certificate.

/// A client that gets tunnels, or 403, as `/v1/bypasses` tells of it.
struct RunningBypass: Decodable {
    private struct Answer: Decodable { var bypasses: [RunningBypass] }

    var client: String
    /// Host and port.
    var host: String
    var because: String
    var since: String
    var until: String

    /// For people.
    var sentence: String {
        "bypassed now for \(client), until \(until): it refused lupin's certificate (\(because)); "
            + "lupin reload ends that"
    }

    /// Those of the running lupin; none where none runs.
    static func all(socket: String?, rulesFile: String?) -> [RunningBypass] {
        let reply = ask("GET", socket: socket, rulesFile: rulesFile)
        return reply?.decoded(as: Answer.self)?.bypasses ?? []
    }

    /// Has the running lupin forget them, if one runs: its clients may trust the authority now.
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
