// The credentials of `tokens:`, with one state each for the process, and the exchanges that wait.
import LupinCore
import LupinIO
import LupinPolicy
import LupinTLS
import LupinUpstream
import Synchronization

/// The state of the rules file's tokens, for all workers.
///
/// It decides nothing itself: `CredentialState` decides which request uses the credential, waits or
/// refreshes.
final class TokenStore: Sendable {
    /// Wakes a waiting exchange, from any thread.
    typealias Wake = @Sendable () -> Void

    private struct Entry {
        let definition: TokenDefinition
        var state: CredentialState
        var waiters: [Wake] = []
        /// The versions of the secret files when last read, and the time of the last check.
        var versions: [FileVersion?]?
        var lookedAt: UInt64?
        /// The refresh token issued last, if no file keeps it, and the rules file's that it
        /// replaces.
        var rotated: (seed: String, token: String)?
        /// Which response of the server, of those that machines share, was used last.
        var sharedSerial: String?
        var sharedGeneration: UInt64 = 0
        /// The Digest challenges of servers, by origin.
        var digests: [Origin: DigestSession] = [:]
        /// Origins that have sent a Basic challenge.
        var basics: Set<Origin> = []

        init(_ definition: TokenDefinition) {
            self.definition = definition
            state = CredentialState(definition)
        }
    }

    /// The maximum number of servers whose challenges a token keeps; beyond it all are dropped.
    private static let originsMax = 256
    /// The minimum time between two checks of the secret files, in microseconds.
    private static let lookInterval: UInt64 = 1_000_000

    private let entries = Mutex<[String: Entry]>([:])
    private let secrets: TaintedSecrets

    init(secrets: TaintedSecrets) { self.secrets = secrets }

    /// Adopts the tokens of a rules file; unchanged tokens keep their credentials.
    func adopt(_ definitions: [TokenDefinition]) {
        entries.withLock { entries in
            var next: [String: Entry] = [:]
            for definition in definitions {
                let before = entries[definition.name]
                let isSame = before?.definition.isSameCredential(as: definition) ?? false
                next[definition.name] = isSame ? before : Entry(definition)
            }
            let lost = entries.filter { next[$0.key]?.definition != $0.value.definition }
            entries = next
            for entry in lost.values { entry.waiters.forEach { $0() } }
        }
    }

    // MARK: Requests

    /// Decides what a request does about its credential; `wake` wakes one that has to wait.
    ///
    /// `refresh` is the number of the refresh that it has waited for, and then of the one that it
    /// has to wait for.
    func request(
        _ definition: TokenDefinition,
        after refresh: inout Int?,
        now: UInt64,
        wake: @escaping Wake
    ) -> CredentialState.Advice {
        let waitedFor = refresh
        let (advice, number) = entries.withLock { entries -> (CredentialState.Advice, Int?) in
            let name = definition.name
            guard let advice = entries[name]?.state.request(now: now, waitedFor: waitedFor) else {
                return (.fail(TokenFailure(.missing)), nil)
            }
            if case .wait = advice { entries[name]?.waiters.append(wake) }
            return (advice, entries[name]?.state.refreshNumber)
        }
        refresh = number
        return advice
    }

    /// The credential to use now; nil when a wait or a refresh is needed.
    func held(_ definition: TokenDefinition, now: UInt64) -> CredentialState.Issued? {
        entries.withLock { $0[definition.name]?.state.held(now: now) }
    }

    /// The text of the credential issued last, valid or not.
    func last(_ definition: TokenDefinition) -> String? {
        entries.withLock { $0[definition.name]?.state.current?.credential.text }
    }

    /// All texts that reveal the credential of now or an earlier one, valid or not.
    func secrets(of definition: TokenDefinition) -> [String] {
        entries.withLock { $0[definition.name]?.state.secrets ?? [] }
    }

    /// Decides what to do after a response that refused the credential.
    func rejected(
        _ definition: TokenDefinition,
        version: Int?,
        canReplay: Bool,
        now: UInt64,
        wake: @escaping Wake
    ) -> CredentialState.Rejection {
        entries.withLock { entries in
            let name = definition.name
            guard
                let rejection = entries[name]?.state.rejected(
                    version: version,
                    canReplay: canReplay,
                    now: now
                )
            else { return .deliver(.notRefreshable) }
            if case .wait = rejection { entries[name]?.waiters.append(wake) }
            return rejection
        }
    }

    /// Decides what to do with a request that waited after its 401.
    func settled(
        _ definition: TokenDefinition,
        version: Int?,
        now: UInt64
    ) -> CredentialState.Rejection {
        entries.withLock { entries in
            entries[definition.name]?.state.settled(version: version, now: now)
                ?? .deliver(.notRefreshable)
        }
    }

    // MARK: Refreshes

    /// Stores a new credential and wakes the waiting exchanges.
    /// - Returns: The number of this credential among those of the token, counted from 1.
    func refreshed(_ definition: TokenDefinition, _ credential: Credential) -> Int {
        secrets.add(credential)
        var version = 0
        settle(definition) {
            $0.refreshed(credential)
            version = $0.current?.version ?? 0
        }
        return version
    }

    /// Notes that a refresh failed, and wakes the waiting exchanges.
    func failed(_ definition: TokenDefinition, _ failure: TokenFailure, now: UInt64) {
        settle(definition) { $0.refreshFailed(failure, now: now) }
    }

    private func settle(
        _ definition: TokenDefinition,
        _ change: (inout CredentialState) -> Void
    ) {
        let waiters = entries.withLock { entries -> [Wake] in
            // A refresh that a reload overtook is useless to the new definition.
            guard var entry = entries[definition.name],
                entry.definition.isSameCredential(as: definition)
            else { return [] }
            change(&entry.state)
            let waiters = entry.waiters
            entry.waiters = []
            entries[definition.name] = entry
            return waiters
        }
        for wake in waiters { wake() }
    }

    /// The refresh token issued last; nil when the one of the rules file, `seed`, is still valid: a
    /// new token in the rules file replaces the issued one.
    func refreshToken(of definition: TokenDefinition, seed: String) -> String? {
        entries.withLock { entries in
            guard let rotated = entries[definition.name]?.rotated, rotated.seed == seed else {
                return nil
            }
            return rotated.token
        }
    }

    func keep(refreshToken: String, of definition: TokenDefinition, seed: String) {
        entries.withLock { $0[definition.name]?.rotated = (seed, refreshToken) }
    }

    func sharedState(of definition: TokenDefinition) -> (serial: String?, generation: UInt64) {
        entries.withLock { entries in
            let entry = entries[definition.name]
            return (entry?.sharedSerial, entry?.sharedGeneration ?? 0)
        }
    }

    func note(sharedSerial: String, _ generation: UInt64, of definition: TokenDefinition) {
        entries.withLock { entries in
            entries[definition.name]?.sharedSerial = sharedSerial
            entries[definition.name]?.sharedGeneration = generation
        }
    }

    /// Whether a secret file of the token has changed since the last check.
    ///
    /// Returns true to one caller only, which must read the files.
    func hasChangedFiles(_ definition: TokenDefinition, now: UInt64) -> Bool {
        let paths = definition.source.paths
        guard !paths.isEmpty else { return false }
        let isDue = entries.withLock { entries in
            let looked = entries[definition.name]?.lookedAt
            if let looked, now &- looked < Self.lookInterval { return false }
            entries[definition.name]?.lookedAt = now
            return true
        }
        guard isDue else { return false }
        // Not under the lock, by which all workers get their tokens: a folder may be on a server.
        let versions = paths.map { FileVersion(path: $0) }
        return entries.withLock { entries in
            let known = entries[definition.name]?.versions
            entries[definition.name]?.versions = versions
            guard let known, known != versions else { return false }
            entries[definition.name]?.state.sourceChanged()
            return true
        }
    }

    // MARK: Challenges

    /// The answer to the last challenge of `origin`, with its own nonce count; nil when there is no
    /// challenge, or where it must protect a `content` that is not known.
    func digest(
        _ definition: TokenDefinition,
        for origin: Origin,
        method: String,
        uri: String,
        content: [UInt8]?,
        credentials: UserPassword
    ) -> (field: String, mark: DigestSession.Mark)? {
        let cnonce = Base64Text.encode(RandomSource.bytes(count: 18))
        return entries.withLock { entries in
            guard var session = entries[definition.name]?.digests[origin] else { return nil }
            let field = session.field(
                method: method,
                uri: uri,
                content: content,
                credentials: credentials,
                cnonce: cnonce,
                hash: MessageDigest.digest
            )
            guard let field else { return nil }
            entries[definition.name]?.digests[origin] = session
            return (field, session.mark)
        }
    }

    /// Takes the challenges of a 401, and returns whether they can be answered.
    func challenged(
        _ definition: TokenDefinition,
        by origin: Origin,
        _ challenges: [AuthenticationChallenge],
        answered mark: DigestSession.Mark?
    ) -> DigestSession.Reaction {
        entries.withLock { entries in
            guard var digests = entries[definition.name]?.digests else { return .deliver }
            if digests[origin] == nil {
                if digests.count >= Self.originsMax { digests = [:] }
                digests[origin] = DigestSession(challenges)
            }
            let reaction = digests[origin]?.challenged(challenges, answered: mark) ?? .deliver
            entries[definition.name]?.digests = digests
            return reaction
        }
    }

    /// Takes the next nonce, if the server sent one.
    func note(_ definition: TokenDefinition, from origin: Origin, authenticationInfo: String) {
        entries.withLock { entries in
            entries[definition.name]?.digests[origin]?.note(authenticationInfo: authenticationInfo)
        }
    }

    /// Whether `origin` has sent a Basic challenge before (RFC 7617 §2.2).
    func wantsBasic(_ definition: TokenDefinition, _ origin: Origin) -> Bool {
        entries.withLock { $0[definition.name]?.basics.contains(origin) ?? false }
    }

    func noteBasic(_ definition: TokenDefinition, _ origin: Origin) {
        entries.withLock { entries in
            if entries[definition.name]?.basics.count ?? 0 >= Self.originsMax {
                entries[definition.name]?.basics = []
            }
            entries[definition.name]?.basics.insert(origin)
        }
    }
}

extension TokenDefinition {
    /// Whether both are equal apart from their line in the file.
    func isSameCredential(as other: TokenDefinition) -> Bool {
        var copy = other
        copy.line = line
        return copy == self
    }
}
