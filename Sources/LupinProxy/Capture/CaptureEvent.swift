// What workers tell the thread that keeps captured exchanges.
import LupinCore

/// A part of an exchange that is captured.
///
/// `key` names the exchange within this process.
enum CaptureEvent: Sendable {
    /// Its first bytes follow.
    case begin(key: UInt64, ExchangeID, startMicroseconds: Int64)
    /// A body begins, perhaps anew: another attempt sends it again.
    case body(key: UInt64, CapturedSide, CaptureContent)
    case bytes(key: UInt64, CapturedSide, [UInt8])
    /// The writer was behind: bytes of the body are missing from here on.
    case lost(key: UInt64, CapturedSide)
    /// Bytes of a WebSocket.
    case frames(key: UInt64, isFromClient: Bool, [UInt8])
    /// Frames are missing from here on.
    case lostFrames(key: UInt64, isFromClient: Bool)
    case end(key: UInt64, CapturedEnd)
    /// A part of it came when the queue was full: nothing of it is kept.
    case forget(key: UInt64)

    /// What it takes of the memory, about.
    var size: Int {
        switch self {
        case .bytes(_, _, let bytes), .frames(_, _, let bytes): Self.ownSize + bytes.count
        case .body(_, _, let content): Self.ownSize + content.type.utf8.count
        case .end(_, let end): Self.ownSize + end.size
        case .begin, .lost, .lostFrames, .forget: Self.ownSize
        }
    }

    /// The event itself, with its share of the lists that it is in.
    private static let ownSize = 128

    /// What is left of it when there is no room for its bytes.
    var withoutBytes: CaptureEvent {
        switch self {
        case .bytes(let key, let side, _): .lost(key: key, side)
        case .frames(let key, let isFromClient, _):
            .lostFrames(key: key, isFromClient: isFromClient)
        case .begin, .body, .lost, .lostFrames, .end, .forget: self
        }
    }

    var isEnd: Bool { if case .end = self { true } else { false } }

    /// The exchange that it belongs to.
    var key: UInt64 {
        switch self {
        case .begin(let key, _, _), .body(let key, _, _), .bytes(let key, _, _),
            .lost(let key, _), .frames(let key, _, _), .lostFrames(let key, _), .end(let key, _),
            .forget(let key):
            key
        }
    }
}

/// What a head says of its content.
struct CaptureContent: Sendable {
    var type: String
    var codings: [String]
    /// How much of it is kept.
    var bytesMax: Int

    init(_ fields: FieldSection, bytesMax: Int) {
        type = fields.value(of: .contentType) ?? ""
        codings = fields.contentCodings
        self.bytesMax = bytesMax
    }
}

/// The end of an exchange; a class, as a record is large and goes through several hands.
final class CapturedEnd: Sendable {
    /// With the fields of both heads.
    let record: ExchangeRecord
    /// The request as it went to the origin; nil if none did.
    let sent: RequestHead?
    /// The response as the origin sent it; nil if none came.
    let received: ResponseHead?
    /// The bodies that were begun.
    let bodies: BySide<CapturedCount?>

    init(
        record: ExchangeRecord,
        sent: RequestHead?,
        received: ResponseHead?,
        bodies: BySide<CapturedCount?>
    ) {
        self.record = record
        self.sent = sent
        self.received = received
        self.bodies = bodies
    }

    /// What it takes of the memory, about: itself, the lists in it, and the heads.
    fileprivate var size: Int {
        2048 + Self.size(record.request?.fields) + Self.size(sent?.fields)
            + Self.size(received?.fields) + Self.size(record.response?.fields)
    }

    private static func size(_ fields: FieldSection?) -> Int {
        guard let fields else { return 0 }
        return fields.storage.count + fields.lines.count * 24
    }
}

/// How much of a body there was.
struct CapturedCount: Sendable {
    var bytes: UInt64 = 0
    /// Its end was seen.
    var isWhole = false
}
