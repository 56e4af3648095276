// What lupin's rules file says in a job.

/// The rules of a job; peers have nothing like them.
enum LupinRules {
    case none
    /// 200 rules, of which three match: one sets a field, one removes fields, and one sets a field
    /// to the value of another field.
    case many
    /// A cache in memory for everything.
    case cache

    /// Why a peer can't do the job; nil when it can.
    var obstacleToPeers: String? {
        switch self {
        case .none: nil
        case .many: "has no such rules"
        case .cache: "runs without its cache"
        }
    }

    fileprivate var text: String {
        switch self {
        case .none: ""
        case .many: "rules:\n" + (Self.misses + Self.hits).map { "  - \($0)\n" }.joined()
        case .cache: "rules:\n  - {match: {scheme: http}, cache: standard}\n"
        }
    }

    private static let hits = [
        "{match: {host: \"127.0.0.1\"}, request: [{set: {X-Tenant: bench}}]}",
        "{match: {scheme: http, path: \"\(Demand.varied)**\"}, request: [{remove: [User-Agent]}], "
            + "response: [{remove: [Server]}]}",
        "{match: {scheme: http, method: GET}, "
            + "request: [{set: {X-From: \"${header:X-Request-Id}\"}}]}",
    ]

    /// By name, by pattern, by method and, so that the name alone doesn't decide, by path.
    private static let misses = (0..<200 - hits.count).map { i in
        switch i % 4 {
        case 0: "{match: \"api\(i).example\", request: [{set: {X-Tenant: t\(i)}}]}"
        case 1: "{match: \"http://*.team\(i).example/v1/**\", request: [{remove: [X-Debug]}]}"
        case 2: "{match: {host: \"**.ads\(i).example\", method: GET}, respond: {status: 403}}"
        default:
            "{match: {host: \"127.0.0.1\", path: \"/never/\(i)/**\"}, "
                + "request: [{set: {X-Never: \"\(i)\"}}]}"
        }
    }
}

/// lupin's settings.
enum LupinSettings {
    /// The rules file; `log` is where its records go.
    static func text(_ setup: Contender.Setup, log: String) -> String {
        let tls = setup.listenerFile.map { "{cert: \"\($0)\", key: \"\($0)\"}" } ?? "off"
        var lines = [
            "lupin: 1", "workers: \(setup.workers)",
            "listen: [{address: \"127.0.0.1:\(setup.port)\", tls: \(tls)}]",
            // A storm's few clients reset what many would.
            "limits: {connections: 8192, h2: {resets: 100000/30s}}", "log: \(log)",
        ]
        var upstream: [String] = []
        if let files = setup.interception {
            let authority = "{cert: \"\(files.authority)\", key: \"\(files.authorityKey)\"}"
            lines.append("intercept: {mode: all, ca: \(authority)}")
            upstream.append("tls: {roots: [\"\(files.originRoot)\"]}")
        }
        if let count = setup.idleConnections { upstream.append("pool: {per_host: \(count)}") }
        if !upstream.isEmpty { lines.append("upstream: {\(upstream.joined(separator: ", "))}") }
        return lines.map { "\($0)\n" }.joined() + setup.rules.text
    }
}
