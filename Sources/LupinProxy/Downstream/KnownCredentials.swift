// Which credentials were checked lately, so that a slow hash is not worked on for every request.
import LupinIO

/// What was found out about credentials, by their digests, for a while.
struct KnownCredentials {
    /// How long those that passed are known.
    static let passedLifetime = Duration.seconds(300)
    /// Wrong ones are known for a moment only: a tool that tries the same again and again shall not
    /// keep the thread busy.
    static let failedLifetime = Duration.seconds(5)
    /// Of each kind; beyond, one goes for each that comes, and no wrong one pushes out a right one.
    static let countMax = 1024

    private var passed: [[UInt8]: (name: String, expiry: UInt64)] = [:]
    private var failed: [[UInt8]: UInt64] = [:]

    /// What is known of credentials at `now`, in microseconds; nil for nothing.
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

    /// Remembers what a check found out; other verdicts say nothing about the credentials.
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
