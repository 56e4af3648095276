// Captured exchanges as entries of an HTTP Archive.
import LupinCore
import LupinRecords
import LupinStore

extension CaptureFile {
    /// How many messages of a WebSocket an archive has at most.
    private static let messagesMax = 100_000

    /// The bodies of an exchange for an archive, and its messages.
    ///
    /// A body that is longer than `room` is left out, and says so.
    func archivedBodies(
        of exchange: Int64,
        room: Int
    ) throws(DiskProblem) -> ArchivedBodies {
        var result = ArchivedBodies()
        var room = room
        for body in try bodies(of: exchange) {
            guard let side = CapturedSide(rawValue: body.side),
                side == .request || side == .response
            else { continue }
            var archived = ArchivedBody(
                bytes: UInt64(clamping: body.bytes),
                content: [],
                type: body.type,
                truncated: body.truncated,
                withheld: body.withheld
            )
            if body.kept > Int64(room) {
                archived.withheld = Self.isTooLong
            } else {
                archived.content = try content(of: exchange, side: body.side) ?? []
                room -= archived.content.count
            }
            if side == .request { result.request = archived } else { result.response = archived }
        }
        for message in try messages(of: exchange, after: 0, limit: Self.messagesMax) {
            room -= message.content.count
            guard room >= 0 else { break }
            result.messages.append(
                ArchivedMessage(
                    time: message.time,
                    isFromClient: message.isFromClient,
                    kind: message.kind,
                    content: message.content,
                    isTruncated: message.isTruncated
                )
            )
        }
        return result
    }

    private static let isTooLong = "the archive has no room for this body"
}

extension ArchiveEntry {
    /// Creates the entry of a captured exchange; nil while it is under way.
    init?(captured exchange: CapturedExchange, _ bodies: ArchivedBodies) {
        guard let record = JSONValue(parsing: exchange.line.span),
            case .object(let heads)? = JSONValue(parsing: PackedHeads.json(of: exchange.heads).span)
        else { return nil }
        self.init(JSONValue(record: record, besides: heads), bodies)
    }
}
