// The store that several machines share, as all workers know it: names, signatures, health, counts.
import Logging
import LupinCaching
import LupinIO
import LupinPolicy
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
    /// Queries that were not answered in time, or not at all.
    var failures: UInt64 = 0
    /// Requests that waited for another machine's fetch.
    var collapsed: UInt64 = 0
}

/// A shared store: what is the same for all workers.
final class SharedTier: Sendable {
    let settings: SharedStoreSettings
    let server: SharedServer
    let home: RedisTarget
    /// How long an answer may take, in microseconds.
    let timeoutUs: UInt64
    let health = NodeHealth()
    private let names: KeyedDigest
    private let signatures: KeyedDigest
    /// The offset of the last byte that a query asks for.
    private let lastByte: RedisArgument
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
        home = RedisTarget(endpoint: server.endpoint, isSecure: server.isSecure)
        timeoutUs = settings.timeout.microseconds
        let team = KeyedDigest(key: Array(settings.key.utf8))
        // Each purpose has a key of its own.
        names = KeyedDigest(key: team.sha256("lupin shared name".utf8Span.span))
        signatures = KeyedDigest(key: team.sha256("lupin shared signature".utf8Span.span))
        lastByte = .text(String(Self.replyBytesMax(settings) - 4096))
        tokens = SealingKey(team.sha256("lupin shared tokens".utf8Span.span))
        dropping = SharedDropping(
            name: team.sha256("lupin shared channel".utf8Span.span),
            key: team.sha256("lupin shared messages".utf8Span.span)
        )
    }

    /// The longest reply: an object with its framing.
    var replyBytesMax: Int { Self.replyBytesMax(settings) }

    private static func replyBytesMax(_ settings: SharedStoreSettings) -> Int {
        settings.objectBytesMax + (256 << 10)
    }

    // MARK: Names

    /// The keys of a URL's values; none of them shows the URL, and all lie on one node.
    struct Keys: Sendable {
        let entry: [UInt8]

        var lease: [UInt8] { entry.dropLast() + [0x6C] }
    }

    func keys(of key: CacheKey) -> Keys { Keys(entry: self.key(of: key.text, 0x65)) }

    /// The key of a purpose about one thing: the part in braces keeps all of them on one node.
    private func key(of text: String, _ purpose: UInt8) -> [UInt8] {
        var key: [UInt8] = []
        key.reserveCapacity(Self.stemBytes + 1)
        key += Self.stemStart
        appendName(of: text.utf8Span.span, to: &key)
        key += Self.stemEnd
        key.append(purpose)
        return key
    }

    /// Appends 40 hex digits that only the team can compute.
    private func appendName(of text: Span<UInt8>, to key: inout [UInt8]) {
        guard let name = names.code(of: text) else {
            // OpenSSL has failed: values about different texts must never share a key.
            let nowhere = RandomSource.bytes(count: 32)
            return SharedDropping.appendDigits(of: nowhere.span, to: &key)
        }
        SharedDropping.appendDigits(of: name.span, to: &key)
    }

    private static let stemStart = Array("lupin:{".utf8)
    private static let stemEnd = Array("}:".utf8)
    private static let stemBytes = stemStart.count + SharedDropping.nameBytes + stemEnd.count

    /// Asks for a value and its remaining time to live; the reply is empty where there is none.
    ///
    /// A value that is too long for this machine arrives cut, so its signature is wrong.
    func look(_ key: [UInt8]) -> RedisCommands {
        var commands = RedisCommands("GETRANGE", [.bytes(key), "0", lastByte])
        commands.add("PTTL", [.bytes(key)])
        return commands
    }

    /// The key of one of several responses of a URL.
    func key(of variant: VaryKey, _ series: [UInt8], _ keys: Keys) -> [UInt8] {
        let text = series + variant.encodedValues
        var key: [UInt8] = keys.entry.dropLast() + [0x76]
        appendName(of: text.span, to: &key)
        return key
    }

    /// The team's signature of a value under a key.
    func signature(_ key: [UInt8], _ signed: Span<UInt8>) -> SharedEntry.Signature? {
        signatures.code(of: key.span, 0, signed)
    }

    // MARK: Tokens

    /// The keys of a token's state and lease, on one node.
    func tokenKeys(of identity: String) -> (state: [UInt8], lease: [UInt8]) {
        let text = "token\n\(identity)"
        return (key(of: text, 0x74), key(of: text, 0x6C))
    }

    func sealed(_ state: SharedTokenState, under key: [UInt8]) -> [UInt8]? {
        tokens?.seal(state.encoded, for: key)
    }

    /// nil where the team did not seal it, or sealed it for another key.
    func token(in sealed: [UInt8], under key: [UInt8]) -> SharedTokenState? {
        tokens?.open(sealed, for: key).flatMap(SharedTokenState.init(encoded:))
    }

    // MARK: Counts

    var counts: SharedTierCounts { tallied.withLock { $0 } }

    /// Counts a look for a response.
    func count(isHit: Bool) { count { if isHit { $0.hits += 1 } else { $0.misses += 1 } } }

    func count(_ change: (inout SharedTierCounts) -> Void) { tallied.withLock { change(&$0) } }

    // MARK: Health

    /// Whether a server's error means that it can't serve for now.
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
