// How each proxy is started, and what it can't do.
import ArgumentParser
import Foundation

/// Another proxy to measure beside lupin.
enum Peer: String, CaseIterable, ExpressibleByArgument {
    case nghttpx
    case squid
    case tinyproxy
}

/// A proxy that takes part.
struct Contender {
    /// Where a cell's proxy finds its place.
    struct Place {
        var port: UInt16
        var originPort: UInt16
        var directory: URL
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
        switch (kind, scenario) {
        case (.peer(.nghttpx), .tunnel): "hands CONNECT to another proxy"
        case (.peer(.tinyproxy), .idle): "keeps no idle connection"
        default: nil
        }
    }

    /// Writes its settings into the place and says how to start it.
    func launch(in place: Place, core: Int?) throws -> Launch {
        let (arguments, settings) = commandLine(in: place)
        if let settings {
            try settings.write(to: file(in: place), atomically: true, encoding: .utf8)
        }
        let folder = place.directory.path
        return Launch(
            name: name,
            executable: executable,
            arguments: arguments,
            core: core,
            environment: [
                "PATH": "/usr/bin:/bin:/usr/sbin", "HOME": folder, "TMPDIR": folder,
                "XDG_RUNTIME_DIR": folder,
            ],
            log: place.directory.appendingPathComponent("output")
        )
    }

    private func file(in place: Place) -> URL {
        let suffix = if case .lupin = kind { "yaml" } else { "conf" }
        return place.directory.appendingPathComponent("\(name).\(suffix)")
    }

    private func commandLine(in place: Place) -> (arguments: [String], settings: String?) {
        let file = file(in: place).path
        switch kind {
        case .lupin(let keepsRecords):
            let records = place.directory.appendingPathComponent("records.jsonl").path
            let log = keepsRecords ? "{to: \"\(records)\", format: json}" : "off"
            return (["serve", "--rules", file], Self.lupinRules(port: place.port, log: log))
        case .peer(.nghttpx):
            // As a forward proxy it expects the next proxy behind it; our origin understands the
            // absolute-form that such a one gets.
            let arguments = [
                "--conf=/dev/null", "--http2-proxy", "--workers=1",
                "--frontend=127.0.0.1,\(place.port);no-tls",
                "--backend=127.0.0.1,\(place.originPort)", "--no-ocsp", "--log-level=ERROR",
                "--backend-keep-alive-timeout=2m", "--frontend-keep-alive-timeout=5m",
            ]
            return (arguments, nil)
        case .peer(.squid):
            return (["-N", "-f", file], Self.squidSettings(port: place.port))
        case .peer(.tinyproxy):
            return (["-d", "-c", file], Self.tinyproxySettings(port: place.port))
        }
    }

    private static func lupinRules(port: UInt16, log: String) -> String {
        """
        lupin: 1
        workers: 1
        listen: [{address: "127.0.0.1:\(port)"}]
        limits: {connections: 8192}
        log: \(log)

        """
    }

    private static func squidSettings(port: UInt16) -> String {
        """
        http_port 127.0.0.1:\(port)
        http_access allow all
        workers 1
        cache deny all
        access_log none
        cache_log /dev/null
        cache_store_log none
        pid_filename none
        coredump_dir none
        netdb_filename none
        pinger_enable off
        max_filedescriptors 16384
        shutdown_lifetime 0 seconds
        client_idle_pconn_timeout 5 minutes
        server_idle_pconn_timeout 5 minutes
        visible_hostname bench

        """
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
