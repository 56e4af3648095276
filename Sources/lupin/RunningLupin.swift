// Finds the running lupin for commands in other terminals, by its socket.
import LupinCore
import LupinProxy

enum RunningLupin {
    /// Requests its status; returns nil when none answers at the socket, or at the default one.
    static func find(socket: String?) -> RunningStatus? {
        AdminClient.answer("GET", "/v1/status", socket: socket, rulesFile: nil)?
            .decoded(as: RunningStatus.self)
    }

    /// The same at the default socket, or at that of a rules file, if its proxy is one that this
    /// user may trust, too.
    ///
    /// One of another network serves for its rules (`isForRules`), not to send anything through.
    static func findTrusted(
        rulesFile: String? = nil,
        isForRules: Bool = false
    ) -> RunningStatus? {
        let found = AdminClient.answer("GET", "/v1/status", socket: nil, rulesFile: rulesFile)
        guard let reply = found,
            let running = reply.decoded(as: RunningStatus.self)
        else { return nil }
        if reply.isElsewhere {
            if isForRules { return running }
            StandardError.print(
                "lupin: warning: the lupin of process \(running.pid) listens in another network, "
                    + "so it is left alone"
            )
            return nil
        }
        guard let proxy = try? ProxyAddress(url: running.proxy) else { return nil }
        guard let refusal = TrustedServer.refusal(of: proxy) else { return running }
        StandardError.print("lupin: warning: \(refusal)")
        return nil
    }

    /// Requests the rules file in force, which the file itself may not have any more; nil without
    /// one.
    static func rules(socket: String?, rulesFile: String? = nil) -> RulesInForce? {
        AdminClient.answer("GET", "/v1/rules", socket: socket, rulesFile: rulesFile)
            .flatMap { $0.isSuccess ? $0.decoded(as: RulesInForce.self) : nil }
    }
}

/// The rules file of a running lupin, as it took it, and what it tells of its environment.
struct RulesInForce: Decodable {
    struct Variable: Decodable {
        var name: String
        /// nil where it is not set; empty for a secret.
        var check: String?
    }
    struct ProxyVariable: Decodable {
        var name: String
        var value: String
    }

    var file: String
    var version: String
    var text: String
    // A lupin of an earlier version tells none of these.
    var salt: String?
    var variables: [Variable]?
    var proxies: [ProxyVariable]?
}

extension RulesInForce {
    /// This shell's environment with the parent proxies of the running lupin.
    func environment(over own: [String: String]) -> [String: String] {
        guard let proxies else { return own }
        let told = Dictionary(proxies.map { ($0.name, $0.value) }) { $1 }
        return ToldVariables.environment(own, with: told)
    }

    /// The variables that have other values here, or that only one of both has.
    func differing(from own: [String: String]) -> [String] {
        (variables ?? []).filter { variable in
            guard let check = variable.check else { return own[variable.name] != nil }
            guard let value = own[variable.name] else { return true }
            return !check.isEmpty && check != ToldVariables.check(of: value, salt: salt ?? "")
        }
        .map(\.name)
    }

    /// Says which variables this shell has otherwise, for what is told by its own.
    func tellDiffering(from own: [String: String]) {
        let names = differing(from: own).map { "${env:\($0)}" }
        if names.isEmpty { return }
        StandardError.print(
            "lupin: warning: \(LogText.plain(names.joined(separator: ", "))): the running lupin "
                + "has another value, or this shell or it has none; what is told goes by this shell"
        )
    }
}
