// Finds lupin's own CA for the commands that make other programs trust it.
import LupinCore
import LupinIO
import LupinPolicy
import LupinProxy
import LupinTLS

enum Authority {
    /// Returns the CA's certificate in PEM, and creates the CA when it `isNeeded` and missing.
    ///
    /// Returns nil when there is no CA and it isn't needed: then nothing is intercepted.
    static func pem(
        _ settings: Settings,
        environment: [String: String],
        isNeeded: Bool = true
    ) throws -> [UInt8]? {
        let files: AuthorityFiles
        do throws(AuthorityFailure) {
            files = try AuthorityFiles(settings.intercept.authority, environment: environment)
        } catch {
            if isNeeded { throw error }
            return nil
        }
        let now = SystemCall.wallMicroseconds() / 1_000_000
        let authority = isNeeded ? try files.loadOrCreate(now: now) : try files.load(now: now)
        return authority?.certificate.pem
    }
}

extension Settings {
    /// The certificates of `upstream.tls.roots`, in PEM: tools see those origins in tunnels.
    var anchors: [UInt8] {
        upstream.tls.roots.files.flatMap { path in
            var content = WholeFile.content(of: path) ?? []
            if let last = content.last, last != 0x0A { content.append(0x0A) }
            return content
        }
    }
}

/// The per-user folders of the XDG Base Directory Specification.
enum UserFolder {
    static func state(_ environment: [String: String]) -> String? {
        path(environment, "XDG_STATE_HOME", below: ".local/state")
    }

    /// The file in which `lupin exec` leaves its records.
    static func execLog(_ environment: [String: String]) -> String? {
        state(environment).map { "\($0)/lupin/exec.jsonl" }
    }

    /// The folders for settings, states, data and caches, and for sockets.
    static func all(_ environment: [String: String]) -> [String] {
        [
            path(environment, "XDG_CONFIG_HOME", below: ".config"), state(environment),
            path(environment, "XDG_DATA_HOME", below: ".local/share"),
            path(environment, "XDG_CACHE_HOME", below: ".cache"),
            absolute(environment["XDG_RUNTIME_DIR"]),
        ]
        .compactMap(\.self)
    }

    /// The folder for temporary files.
    static func temporary(_ environment: [String: String]) -> String {
        absolute(environment["TMPDIR"]) ?? "/tmp"
    }

    /// Why there is no folder of a command's own below that for temporary files, and what helps.
    static func problem(ofTemporary environment: [String: String], _ error: SystemError) -> String {
        let place = temporary(environment)
        let (reason, help) =
            error == .unsafeDirectory
            ? ("it is another user's, or others may change what is in it", "chmod +t \(place), or ")
            : (error.message, "")
        return "cannot make a temporary directory in \(place): \(reason); \(help)set TMPDIR to "
            + "another folder"
    }

    private static func path(
        _ environment: [String: String],
        _ name: String,
        below usual: String
    ) -> String? {
        absolute(environment[name])
            ?? absolute(ProcessOwner.home(environment)).map { "\($0)/\(usual)" }
    }

    /// Returns nil for a relative path, which the specification says to ignore.
    private static func absolute(_ path: String?) -> String? {
        guard let path, path.hasPrefix("/") else { return nil }
        return path.count > 1 && path.hasSuffix("/") ? String(path.dropLast()) : path
    }
}
