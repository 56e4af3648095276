// What machines tell each other about URLs whose responses are to be dropped.
import LupinCaching
import LupinCore
import LupinTLS
import Synchronization

/// The team's channel, its messages, and the way from any thread to the client that sends them.
final class SharedDropping: Sendable {
    /// The channel's name.
    let channel: [UInt8]
    private let key: SealingKey?
    /// Distinguishes our own messages, which come back.
    private let ourselves = RandomSource.bytes(count: 16)
    private let send = Mutex<(@Sendable ([CacheKey]) -> Void)?>(nil)
    /// A response that is older counts as dropped, even where the server could not be told, or
    /// where a fetch that had begun before has stored it there since.
    private let dropped = Mutex(DropTimes())

    /// - Parameters:
    ///   - name: A name that only the team can make.
    ///   - key: 32 bytes.
    init(name: [UInt8], key: [UInt8]) {
        var channel = Array("lupin:drop:".utf8)
        Self.appendDigits(of: name.span, to: &channel)
        self.channel = channel
        self.key = SealingKey(key)
    }

    /// Appends the first 160 bits of a digest as 40 hex digits.
    static func appendDigits(of digest: Span<UInt8>, to text: inout [UInt8]) {
        text.append(hexOf: digest.extracting(first: nameBytes / 2))
    }

    static let nameBytes = 40

    /// Registers a client of this process.
    /// - Returns: Whether it is the first, which listens, too.
    func begin(_ send: @escaping @Sendable ([CacheKey]) -> Void) -> Bool {
        self.send.withLock { current in
            if current != nil { return false }
            current = send
            return true
        }
    }

    /// Notes that a URL is dropped now.
    func note(_ url: String, nowUs: Int64) { dropped.withLock { $0.note(url, nowUs: nowUs) } }

    /// Whether the URL of a key was dropped at a time or later.
    func isDropped(_ key: CacheKey, since timeUs: Int64) -> Bool {
        dropped.withLock { $0.isDropped(key, since: timeUs) }
    }

    /// Makes a client drop what all machines have under these keys; from any thread.
    func drop(_ keys: [CacheKey]) {
        if keys.isEmpty { return }
        send.withLock { $0 }?(keys)
    }

    /// The message that a URL is to be dropped; only the team can read or make it.
    func message(_ url: String) -> [UInt8]? { key?.seal(ourselves + Array(url.utf8), for: channel) }

    /// The URL in a message; nil where it is our own, or none of the team's.
    func url(in message: [UInt8]) -> String? {
        guard let text = key?.open(message, for: channel), text.count > ourselves.count,
            !text.starts(with: ourselves)
        else { return nil }
        return String(validating: text.dropFirst(ourselves.count), as: UTF8.self)
    }
}
