// Finds the running lupin for commands in other terminals, by its socket.

enum RunningLupin {
    /// Requests its status; returns nil when none answers at the socket, or at the default one.
    static func find(socket: String?) -> RunningStatus? {
        AdminClient.answer("GET", "/v1/status", socket: socket, rulesFile: nil)?
            .decoded(as: RunningStatus.self)
    }

    /// The same at the default socket, if its proxy is one that this user may trust, too.
    static func findTrusted() -> RunningStatus? {
        guard let running = find(socket: nil) else { return nil }
        guard let proxy = try? ProxyAddress(url: running.proxy) else { return nil }
        guard let refusal = TrustedServer.refusal(of: proxy) else { return running }
        StandardError.print("lupin: warning: \(refusal)")
        return nil
    }

    /// Requests the rules file in force, which the file itself may not have any more; nil without
    /// one.
    static func rules(socket: String?) -> RulesInForce? {
        AdminClient.answer("GET", "/v1/rules", socket: socket, rulesFile: nil)
            .flatMap { $0.isSuccess ? $0.decoded(as: RulesInForce.self) : nil }
    }
}

/// The rules file of a running lupin, as it took it.
struct RulesInForce: Decodable {
    var file: String
    var version: String
    var text: String
}
