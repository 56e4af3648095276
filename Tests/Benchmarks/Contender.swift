// How each proxy is started, and what it can't do.
import ArgumentParser
import Foundation

/// Another proxy to measure beside lupin.
enum Peer: String, CaseIterable, ExpressibleByArgument {
    case nghttpx
    case squid
    case tinyproxy

    /// Why it can't serve clients that speak HTTP/2; nil when it can.
    fileprivate var obstacleToHTTP2: String? {
        switch self {
        case .nghttpx: nil
        case .squid, .tinyproxy: "doesn't speak HTTP/2"
        }
    }

    /// Why it can't look into TLS; nil when it can.
    fileprivate var obstacleToInterception: String? {
        switch self {
        case .nghttpx, .tinyproxy: "doesn't look into TLS"
        case .squid where SquidSettings.signer == nil: "needs squid-openssl to look into TLS"
        case .squid: nil
        }
    }
}

/// A proxy that takes part.
struct Contender {
    /// Where a cell's proxy finds its place.
    struct Setup {
        var port: UInt16
        var originPort: UInt16
        var directory: URL
        /// What to open TLS with; nil for jobs that don't ask for it.
        var interception: Certificates?
        /// PEM of a certificate and its key, for a listener that speaks TLS; nil for one in clear.
        var listenerFile: String?
        /// What lupin does beside forwarding.
        var rules = LupinRules.none
        /// Idle connections that lupin keeps to the origin; nil for its default.
        var idleConnections: Int?
        /// Event loops of lupin.
        var workers = 1
    }

    let name: String
    let executable: String
    private let kind: Kind

    private enum Kind {
        case lupin(keepsRecords: Bool)
        case peer(Peer)
    }

    private init(name: String, executable: String, kind: Kind) {
        self.name = name
        self.executable = executable
        self.kind = kind
    }

    static func lupin(at path: String, keepsRecords: Bool) throws -> Contender {
        guard FileManager.default.isExecutableFile(atPath: path) else {
            throw BenchError("no lupin at \(path): build it, or name it with --proxy")
        }
        return Contender(
            name: "lupin",
            executable: path,
            kind: .lupin(keepsRecords: keepsRecords)
        )
    }

    static func peer(_ peer: Peer) throws -> Contender {
        let found = try Program.path(of: peer.rawValue)
        return Contender(name: peer.rawValue, executable: found, kind: .peer(peer))
    }

    /// Why it can't do a job; nil when it can.
    func obstacle(to scenario: Scenario) -> String? {
        if case .peer(let peer) = kind {
            let plan = scenario.plan
            if let why = scenario.rules.obstacleToPeers { return why }
            if plan.streams > 0, let why = peer.obstacleToHTTP2 { return why }
            if plan.isIntercepted { return peer.obstacleToInterception }
        }
        return switch (kind, scenario) {
        case (.peer(.nghttpx), .tunnel), (.peer(.nghttpx), .smallTunnel):
            "hands CONNECT to another proxy"
        case (.peer(.tinyproxy), .idle): "keeps no idle connection"
        default: nil
        }
    }

    /// Writes its settings into the place and says how to start it.
    func launch(in setup: Setup, core: Int?) throws -> Launch {
        let (arguments, settings) = commandLine(in: setup)
        if let settings {
            try settings.write(to: file(in: setup), atomically: true, encoding: .utf8)
        }
        let folder = setup.directory.path
        return Launch(
            name: name,
            executable: executable,
            arguments: arguments,
            core: core,
            environment: [
                "PATH": "/usr/bin:/bin:/usr/sbin", "HOME": folder, "TMPDIR": folder,
                "XDG_RUNTIME_DIR": folder,
            ],
            log: setup.directory.appendingPathComponent("output")
        )
    }

    /// Where its settings lie.
    func file(in setup: Setup) -> URL {
        let suffix = if case .lupin = kind { "yaml" } else { "conf" }
        return setup.directory.appendingPathComponent("\(name).\(suffix)")
    }

    private func commandLine(in setup: Setup) -> (arguments: [String], settings: String?) {
        let file = file(in: setup).path
        switch kind {
        case .lupin(let keepsRecords):
            let records = setup.directory.appendingPathComponent("records.jsonl").path
            let log = keepsRecords ? "{to: \"\(records)\", format: json}" : "off"
            return (["serve", "--rules", file], LupinSettings.text(setup, log: log))
        case .peer(.nghttpx):
            // As a forward proxy it expects the next proxy behind it; our origin understands the
            // absolute-form that such a one gets.
            let security = setup.listenerFile == nil ? ";no-tls" : ""
            let arguments = [
                "--conf=/dev/null", "--http2-proxy", "--workers=1",
                "--frontend=127.0.0.1,\(setup.port)\(security)",
                "--backend=127.0.0.1,\(setup.originPort)", "--no-ocsp", "--log-level=ERROR",
                "--backend-keep-alive-timeout=2m", "--frontend-keep-alive-timeout=5m",
                // No stream waits for another, as none does in lupin.
                "--backend-connections-per-host=100",
            ]
            let file = setup.listenerFile.map { [$0, $0] } ?? []
            return (arguments + file, nil)
        case .peer(.squid):
            return (["-N", "-f", file], SquidSettings.text(setup))
        case .peer(.tinyproxy):
            return (["-d", "-c", file], Self.tinyproxySettings(port: setup.port))
        }
    }

    private static func tinyproxySettings(port: UInt16) -> String {
        """
        Port \(port)
        Listen 127.0.0.1
        Allow 127.0.0.0/8
        MaxClients 8000
        Timeout 600
        LogLevel Critical

        """
    }
}

/// Programs that must be there.
enum Program {
    /// Where `name` is; proxies are often out of a user's path.
    ///
    /// - Throws: When it isn't installed.
    static func path(of name: String) throws -> String {
        let path = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
        let places = (path + ["/usr/sbin", "/usr/local/sbin"]).map { "\($0)/\(name)" }
        guard let found = places.first(where: FileManager.default.isExecutableFile) else {
            throw BenchError("\(name) isn't installed")
        }
        return found
    }
}
