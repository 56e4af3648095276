// The credentials of `tokens:`: one state each for the whole process, and who waits for it.
import LupinCore
import LupinIO
import LupinTLS
import Synchronization

/// What all workers know of the tokens of the rules file.
///
/// It decides nothing itself: `CredentialState` says who uses, waits and refreshes.
final class TokenStore: Sendable {
    /// Wakes a waiting exchange, from whatever thread.
    typealias Wake = @Sendable () -> Void

    private struct Entry {
        let definition: TokenDefinition
        var state: CredentialState
        var waiters: [Wake] = []
        /// Secret files as they were when they were last read, and when somebody last looked.
        var versions: [FileVersion?] = []
        var lookedAt: UInt64?
        /// What the token server issued last, where no file keeps it, for that of the rules file.
        var rotated: (seed: String, token: String)?
        /// What servers asked for, by origin.
        var digests: [Origin: DigestSession] = [:]
        /// Origins that asked for Basic.
        var basics: Set<Origin> = []

        init(_ definition: TokenDefinition) {
            self.definition = definition
            state = CredentialState(definition)
        }
    }

    /// Servers whose challenges are remembered for one token; beyond it all are forgotten.
    private static let originsMax = 256
    /// Secret files are looked at no more often.
    private static let lookInterval: UInt64 = 1_000_000

    private let entries = Mutex<[String: Entry]>([:])
    private let secrets: TaintedSecrets

    init(secrets: TaintedSecrets) { self.secrets = secrets }

    /// Takes over what a rules file says; tokens that are as they were keep their credentials.
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

    /// What a request does about its credential; one that has to wait is woken by `wake`.
    func request(
        _ definition: TokenDefinition,
        now: UInt64,
        wake: @escaping Wake
    ) -> CredentialState.Advice {
        entries.withLock { entries in
            let name = definition.name
            guard entries[name] != nil else { return .fail(TokenFailure(.missing)) }
            let advice = entries[name]?.state.request(now: now) ?? .fail(TokenFailure(.missing))
            if case .wait = advice { entries[name]?.waiters.append(wake) }
            return advice
        }
    }

    /// The credential to use now, where nobody has to be asked or told of it.
    func held(_ definition: TokenDefinition, now: UInt64) -> CredentialState.Issued? {
        entries.withLock { $0[definition.name]?.state.held(now: now) }
    }

    /// What a status that says "not with this credential" comes to.
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

    /// What a request that waited after its 401 comes to.
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

    /// A credential came.
    /// - Returns: Which credential of the token it is, counted from 1.
    func refreshed(_ definition: TokenDefinition, _ credential: Credential) -> Int {
        secrets.add(credential)
        var version = 0
        settle(definition) {
            $0.refreshed(credential)
            version = $0.current?.version ?? 0
        }
        return version
    }

    /// None came.
    func failed(_ definition: TokenDefinition, _ failure: TokenFailure, now: UInt64) {
        settle(definition) { $0.refreshFailed(failure, now: now) }
    }

    private func settle(
        _ definition: TokenDefinition,
        _ change: (inout CredentialState) -> Void
    ) {
        let waiters = entries.withLock { entries -> [Wake] in
            // A refresh that a reload overtook is of no use to the new definition.
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

    /// The refresh token that the server issued last; nil where the one of the rules file holds,
    /// `seed`: whoever writes a new one there means that one.
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

    /// Whether a secret file of the token is another one than the last time somebody looked.
    ///
    /// True for one caller only, who reads them.
    func hasChangedFiles(_ definition: TokenDefinition, now: UInt64) -> Bool {
        let paths = definition.source.paths
        guard !paths.isEmpty else { return false }
        return entries.withLock { entries in
            guard let looked = entries[definition.name]?.lookedAt else {
                entries[definition.name]?.lookedAt = now
                entries[definition.name]?.versions = paths.map { FileVersion(path: $0) }
                return false
            }
            guard now &- looked >= Self.lookInterval else { return false }
            entries[definition.name]?.lookedAt = now
            let versions = paths.map { FileVersion(path: $0) }
            guard versions != entries[definition.name]?.versions else { return false }
            entries[definition.name]?.versions = versions
            entries[definition.name]?.state.sourceChanged()
            return true
        }
    }

    // MARK: Challenges

    /// The answer to the last challenge of `origin`, with a count of its own; nil where none is
    /// known.
    func digest(
        _ definition: TokenDefinition,
        for origin: Origin,
        method: String,
        uri: String,
        credentials: UserPassword
    ) -> (field: String, mark: DigestSession.Mark)? {
        let cnonce = Base64Text.encode(RandomSource.bytes(count: 18))
        return entries.withLock { entries in
            guard var session = entries[definition.name]?.digests[origin] else { return nil }
            let field = session.field(
                method: method,
                uri: uri,
                credentials: credentials,
                cnonce: cnonce,
                hash: MessageDigest.digest
            )
            entries[definition.name]?.digests[origin] = session
            return (field, session.mark)
        }
    }

    /// Takes the challenges of a 401, and says whether they can be answered.
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

    /// Takes the next nonce, if a server names it.
    func note(_ definition: TokenDefinition, from origin: Origin, authenticationInfo: String) {
        entries.withLock { entries in
            entries[definition.name]?.digests[origin]?.note(authenticationInfo: authenticationInfo)
        }
    }

    /// Whether `origin` has asked for Basic before (RFC 7617 §2.2).
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
    /// Whether it is the same but for the line that it stands on.
    func isSameCredential(as other: TokenDefinition) -> Bool {
        var copy = other
        copy.line = line
        return copy == self
    }
}
