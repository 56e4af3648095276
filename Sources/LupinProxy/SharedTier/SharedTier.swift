// The store that several machines share, as all workers know it: names, signatures, health, counts.
import Logging
import LupinCore
import LupinRedis
import LupinTLS
import Synchronization

/// What a shared store did, for `lupin cache stats` and `/metrics`.
struct SharedTierCounts: Sendable {
    var hits: UInt64 = 0
    var misses: UInt64 = 0
    var stored: UInt64 = 0
    /// Values that the team did not sign, or not for this key.
    var rejected: UInt64 = 0
    /// Questions that were not answered in time, or not at all.
    var failures: UInt64 = 0
    /// Requests that waited for another machine's fetch.
    var collapsed: UInt64 = 0
}

/// A shared store: what is the same for all workers.
final class SharedTier: Sendable {
    let settings: SharedStoreSettings
    let server: SharedServer
    let home: RedisTarget
    let health = NodeHealth()
    private let names: KeyedDigest
    private let signatures: KeyedDigest
    private let get: KeyedCommand
    private let timeLeft: KeyedCommand
    let dropping: SharedDropping
    private let tokens: SealingKey?
    private let tallied = Mutex(SharedTierCounts())
    private let logger: Logger

    /// nil where the settings have none.
    init?(_ settings: SharedStoreSettings, logger: Logger) {
        guard let server = settings.server, settings.isOn else { return nil }
        self.settings = settings
        self.server = server
        self.logger = logger
        home = RedisTarget(place: server.place, isSecure: server.isSecure)
        let team = KeyedDigest(key: Array(settings.key.utf8))
        // Each purpose has a key of its own.
        names = KeyedDigest(key: team.sha256("lupin shared name".utf8Span.span))
        signatures = KeyedDigest(key: team.sha256("lupin shared signature".utf8Span.span))
        let lastByte = Self.replyBytesMax(settings) - 4096
        get = KeyedCommand(
            "GETRANGE",
            keyBytes: Self.stemBytes + 1,
            [[0x30], Array(String(lastByte).utf8)]
        )
        timeLeft = KeyedCommand("PTTL", keyBytes: Self.stemBytes + 1)
        tokens = SealingKey(team.sha256("lupin shared tokens".utf8Span.span))
        dropping = SharedDropping(
            name: team.sha256("lupin shared channel".utf8Span.span),
            key: team.sha256("lupin shared messages".utf8Span.span)
        )
    }

    /// The longest reply: an object with what is said around it.
    var replyBytesMax: Int { Self.replyBytesMax(settings) }

    private static func replyBytesMax(_ settings: SharedStoreSettings) -> Int {
        settings.objectBytesMax + (256 << 10)
    }

    // MARK: Names

    /// The keys of a URL's values; none of them shows the URL, and all lie on one node.
    struct Keys: Sendable {
        fileprivate let stem: [UInt8]

        var entry: [UInt8] { stem + [0x65] }
        var lease: [UInt8] { stem + [0x6C] }
    }

    func keys(of key: CacheKey) -> Keys { Keys(stem: stem(of: key.text)) }

    /// The beginning of all keys about one thing: the part in braces keeps them on one node.
    private func stem(of text: String) -> [UInt8] {
        var stem: [UInt8] = []
        stem.reserveCapacity(Self.stemBytes + 1)
        stem += Self.stemStart
        stem += name(of: text.utf8Span.span)
        stem += Self.stemEnd
        return stem
    }

    private static let stemStart = Array("lupin:{".utf8)
    private static let stemEnd = Array("}:".utf8)
    private static let stemBytes = stemStart.count + SharedDropping.nameBytes + stemEnd.count

    /// 40 hex digits that only the team can make.
    private func name(of text: Span<UInt8>) -> [UInt8] {
        SharedDropping.digits(of: names.sha256(text))
    }

    /// Asks for a value, and for the time that it has left; where there is none, an empty text
    /// comes.
    ///
    /// Of a value that is longer than what this machine takes only a part comes, whose signature is
    /// wrong.
    func look(_ key: [UInt8]) -> [RedisCommand] { [get.about(key), timeLeft.about(key)] }

    /// The key of one of several responses of a URL.
    func key(of variant: VaryKey, _ series: [UInt8], _ keys: Keys) -> [UInt8] {
        let text = series + variant.encodedValues
        return keys.stem + [0x76] + name(of: text.span)
    }

    /// The team's signature of a value under a key.
    var sign: SharedEntry.Signature {
        { [signatures] key, signed in
            signatures.sha256((key + [0]).span, signed)
        }
    }

    // MARK: Tokens

    /// The keys of a token's state and lease, on one node.
    func tokenKeys(of identity: String) -> (state: [UInt8], lease: [UInt8]) {
        let stem = stem(of: "token\n\(identity)")
        return (stem + [0x74], stem + [0x6C])
    }

    func sealed(_ state: SharedTokenState, under key: [UInt8]) -> [UInt8]? {
        tokens?.seal(state.encoded, for: key)
    }

    /// nil where it was not sealed by the team, or for another key.
    func token(in sealed: [UInt8], under key: [UInt8]) -> SharedTokenState? {
        tokens?.open(sealed, for: key).flatMap(SharedTokenState.init(encoded:))
    }

    // MARK: Counts

    var counts: SharedTierCounts { tallied.withLock { $0 } }

    func count(_ change: (inout SharedTierCounts) -> Void) { tallied.withLock { change(&$0) } }

    // MARK: Health

    /// Whether an error of a server means that it can't serve for now.
    func isOutage(_ error: String) -> Bool {
        ["LOADING", "CLUSTERDOWN", "MASTERDOWN", "READONLY", "NOAUTH", "TRYAGAIN", "BUSY"]
            .contains { error.hasPrefix($0) }
    }

    func note(failureOf target: RedisTarget, _ reason: String, now: UInt64) {
        count { $0.failures += 1 }
        guard health.noteFailure(of: target, now: now) else { return }
        logger.warning(
            "the shared cache at \(target.text) is left alone until it answers: \(reason)"
        )
    }

    func noteSuccess(of target: RedisTarget) {
        if health.noteSuccess(of: target) {
            logger.notice("the shared cache at \(target.text) answers again")
        }
    }
}
