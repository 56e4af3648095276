// Recently checked credentials, so that a slow hash is not computed for every request.
import LupinIO

/// The verdicts on credentials, by their digests, for a limited time.
struct KnownCredentials {
    /// How long valid credentials are known.
    static let passedLifetime = Duration.seconds(300)
    /// How long invalid ones are known: only briefly, so that a client that repeats them does not
    /// keep the thread busy.
    static let failedLifetime = Duration.seconds(5)
    /// The maximum of each kind; beyond it an arbitrary one of the same kind is dropped.
    static let countMax = 1024

    private var passed: [[UInt8]: (name: String, expiry: UInt64)] = [:]
    private var failed: [[UInt8]: UInt64] = [:]

    /// The known verdict at `now`, in microseconds; nil when there is none.
    mutating func verdict(on key: [UInt8], at now: UInt64) -> Authenticator.Verdict? {
        if let entry = passed[key] {
            if entry.expiry > now { return .passed(entry.name) }
            passed[key] = nil
        }
        if let expiry = failed[key] {
            if expiry > now { return .failed }
            failed[key] = nil
        }
        return nil
    }

    /// Stores the verdict of a check; `busy` and `interrupted` say nothing about the credentials.
    mutating func note(_ verdict: Authenticator.Verdict, on key: [UInt8], at now: UInt64) {
        switch verdict {
        case .passed(let name):
            if passed.count >= Self.countMax { passed.remove(at: passed.startIndex) }
            passed[key] = (name, now &+ Self.passedLifetime.microseconds)
        case .failed:
            if failed.count >= Self.countMax { failed.remove(at: failed.startIndex) }
            failed[key] = now &+ Self.failedLifetime.microseconds
        case .busy, .interrupted: break
        }
    }
}
