// What a request asks of the origin: read from its target.
import LupinCore

/// How many bytes are wanted, and what is to be said in them.
///
/// - `/bytes/N`: N bytes, the same in every answer.
/// - `/varied/ID/N?…`: N bytes that name the ID, as the answer's fields do.
/// - `/stored/ID/N?…`: the same, and a cache may keep it.
/// - `/storm/LANE/FAULT/ID/N?…`: the same, unless the fault is something else.
struct Demand {
    private(set) var bytes = 0
    /// What the answer names; nil where all answers are equal.
    private(set) var id: RequestID?
    private(set) var isStorable = false
    /// The part that it has in a storm; nil for any other demand.
    private(set) var storm: StormPart?

    static let varied = "/varied/"
    static let stored = "/stored/"

    private static let variedPath = Array(varied.utf8)
    private static let storedPath = Array(stored.utf8)
    private static let slash = UInt8(ascii: "/")
    private static let questionMark = UInt8(ascii: "?")

    /// Reads a target in origin-form or absolute-form; of one that isn't ours, 0 bytes.
    ///
    /// Named bodies are whole lines, and short enough to be made as one piece.
    init(target: Span<UInt8>) {
        let end = target.indices.first { target[$0] == Self.questionMark } ?? target.count
        let path = target.extracting(0..<end)
        guard let slash = path.indices.last(where: { path[$0] == Self.slash }) else { return }
        bytes = HeadScan.number(path.extracting((slash + 1)..<path.count)) ?? 0
        let start = slash - RequestID.length
        guard start >= Self.storedPath.count, bytes <= OriginAnswers.wholeBytesMax,
            bytes % NamedBody.lineBytes == 0
        else { return }
        id = RequestID(path.extracting(start..<slash))
        let folder = path.extracting((start - Self.storedPath.count)..<start)
        isStorable = id != nil && folder.equalsIgnoringCase(Self.storedPath.span)
        guard id != nil, !isStorable, !folder.equalsIgnoringCase(Self.variedPath.span) else {
            return
        }
        storm = StormPart(path: path.extracting(0..<start))
    }

    /// What is filled into an answer; without an ID there are no blanks.
    var ids: ExchangeIDs {
        let id = id ?? RequestID(number: 0)
        return ExchangeIDs(request: id, url: id)
    }
}
