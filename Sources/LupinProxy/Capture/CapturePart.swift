// What workers tell the thread that keeps captured exchanges.
import LupinCore
import LupinRecords

/// What a captured exchange has brought since its last part; most exchanges have one part.
///
/// A class, as it is large and goes through several hands.
final class CapturePart: Sendable {
    /// Names the exchange within this process.
    let key: UInt64
    /// What its first part begins with.
    let start: Start?
    let bodies: [CapturedBytes]
    let frames: [CapturedFrames]
    let end: End?

    struct Start: Sendable {
        var id: ExchangeID
        /// Since 1970.
        var microseconds: Int64
        /// How much is kept of a body.
        var bytesMax: Int
    }

    /// What is known at the end.
    ///
    /// A class: it goes through several hands.
    final class End: Sendable {
        let host: String
        let method: String
        let status: Int
        /// µs.
        let duration: Int64
        /// As the client sent it.
        let request: RequestHead?
        /// The request as it went to the origin; nil if none did.
        let sent: RequestHead?
        /// The response as the origin sent it; nil if none came.
        let received: ResponseHead?
        /// As the client got it.
        let response: ResponseHead?
        /// The line of the log; empty where that has none in JSON.
        let line: [UInt8]
        /// What the line is made of where the log has none.
        let record: ExchangeRecord?
        /// The bodies that were begun.
        let counts: BySide<CapturedCount?>

        init(
            _ record: borrowing ExchangeRecord,
            line: [UInt8],
            sent: RequestHead?,
            received: ResponseHead?,
            counts: BySide<CapturedCount?>
        ) {
            host = record.origin?.host.text ?? ""
            method = record.request?.method.token ?? ""
            status = Int(record.response?.status ?? 0)
            duration = record.timing.total ?? 0
            request = record.request
            self.sent = sent
            self.received = received
            response = record.response
            self.line = line
            self.record = line.isEmpty ? copy record : nil
            self.counts = counts
        }
    }

    init(
        key: UInt64,
        start: Start?,
        bodies: [CapturedBytes],
        frames: [CapturedFrames],
        end: End? = nil
    ) {
        self.key = key
        self.start = start
        self.bodies = bodies
        self.frames = frames
        self.end = end
    }

    /// About how much memory it takes besides bytes of bodies: itself with its share of lists, and
    /// the heads.
    static let ownSize = 256

    /// About how much memory an end takes besides.
    static func endSize(
        _ record: borrowing ExchangeRecord,
        _ sent: RequestHead?,
        _ received: ResponseHead?
    ) -> Int {
        2048 + size(record.request?.fields) + size(sent?.fields) + size(received?.fields)
            + size(record.response?.fields)
    }

    private static func size(_ fields: FieldSection?) -> Int {
        guard let fields else { return 0 }
        return fields.storage.count + fields.lines.count * 24
    }

    /// What is left of it when there is no room for its bytes.
    var withoutBytes: CapturePart {
        var bodies = bodies
        for i in bodies.indices { bodies[i].lose() }
        return CapturePart(
            key: key,
            start: start,
            bodies: bodies,
            frames: frames.map { CapturedFrames(isFromClient: $0.isFromClient, bytes: nil) },
            end: end
        )
    }

    /// How many bytes `withoutBytes` saves.
    var byteCount: Int {
        var count = frames.reduce(0) { $0 + ($1.bytes?.count ?? 0) }
        for i in bodies.indices { count += bodies[i].bytes.count }
        return count
    }
}

/// Bytes of a body.
struct CapturedBytes: Sendable {
    let side: CapturedSide
    /// The fields of its head, where the body begins with these bytes, perhaps once more: another
    /// attempt sends it again.
    var head: FieldSection?
    var bytes: [UInt8] = []
    /// The writer was behind: bytes are missing.
    private(set) var isLost = false

    init(_ side: CapturedSide, head: FieldSection?) {
        self.side = side
        self.head = head
    }

    mutating func lose() {
        bytes = []
        isLost = true
    }

    /// Keeps what it has.
    mutating func loseRest() { isLost = true }
}

/// Bytes of a WebSocket; nil where some are missing from there on.
struct CapturedFrames: Sendable {
    var isFromClient: Bool
    var bytes: [UInt8]?
}

/// How much of a body there was.
struct CapturedCount: Sendable {
    var bytes: UInt64 = 0
    /// Its end was seen.
    var isWhole = false
    /// The writer was behind: nothing more is kept.
    var isLost = false
}
