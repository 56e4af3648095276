// Where lupin's own certificate authority is, for the commands that have others trust it.
import LupinCore
import LupinIO
import LupinProxy
import LupinTLS

enum Authority {
    /// The authority's certificate in PEM.
    ///
    /// nil where there is none and it `isNeeded` by no rule: then nothing is intercepted.
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

/// The folders that the XDG Base Directory Specification gives each user.
enum UserFolder {
    static func state(_ environment: [String: String]) -> String? {
        path(environment, "XDG_STATE_HOME", below: ".local/state")
    }

    /// Where temporary files go.
    static func temporary(_ environment: [String: String]) -> String {
        absolute(environment["TMPDIR"]) ?? "/tmp"
    }

    private static func path(
        _ environment: [String: String],
        _ name: String,
        below usual: String
    ) -> String? {
        absolute(environment[name])
            ?? absolute(ProcessOwner.home(environment)).map { "\($0)/\(usual)" }
    }

    /// The specification has relative paths ignored.
    private static func absolute(_ path: String?) -> String? {
        guard let path, path.hasPrefix("/") else { return nil }
        return path.count > 1 && path.hasSuffix("/") ? String(path.dropLast()) : path
    }
}
