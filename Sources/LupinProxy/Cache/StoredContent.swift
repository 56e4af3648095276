// The content of a stored response in memory, in pieces that all exchanges share.
import LupinCaching
import LupinCore
import LupinIO
import LupinUpstream

/// A piece of the content.
enum StoredPiece: Sendable {
    case bytes([UInt8])
    /// A long piece, which a socket takes without a copy.
    case mapped(MappedBytes)

    /// Joins pieces into one; a single piece is copied too if it is long and not mapped.
    init(joining pieces: ArraySlice<StoredPiece>) {
        if let first = pieces.first, pieces.count == 1, first.isWellKept {
            self = first
            return
        }
        let count = pieces.reduce(0) { $0 + $1.count }
        if count >= MappedBytes.countMin {
            let mapped = MappedBytes(count: count) { room in
                for piece in pieces { piece.withSpan { room.append($0) } }
            }
            if let mapped {
                self = .mapped(mapped)
                return
            }
        }
        var joined: [UInt8] = []
        joined.reserveCapacity(count)
        for piece in pieces { joined += piece.copy(0..<piece.count) }
        self = .bytes(joined)
    }

    /// Whether bytes of this length are in the right kind of memory.
    fileprivate var isWellKept: Bool {
        switch self {
        case .bytes(let bytes): bytes.count < MappedBytes.countMin
        case .mapped: true
        }
    }

    var count: Int {
        switch self {
        case .bytes(let bytes): bytes.count
        case .mapped(let bytes): bytes.count
        }
    }

    /// Gives access to the bytes.
    func withSpan<Value, Failure>(
        _ body: (Span<UInt8>) throws(Failure) -> Value
    ) throws(Failure) -> Value {
        switch self {
        case .bytes(let bytes): try body(bytes.span)
        case .mapped(let bytes): try body(bytes.span)
        }
    }

    func copy(_ range: Range<Int>) -> [UInt8] {
        withSpan { [UInt8](copying: $0.extracting(range)) }
    }

    /// Offers a range of the piece to `sink`; returns how many bytes it took.
    func push(
        _ range: Range<Int>,
        to sink: any BodySink,
        isLast: Bool
    ) throws(LupinError) -> Int {
        switch self {
        case .bytes(let bytes): try sink.push(bytes.span.extracting(range), isLast: isLast)
        case .mapped(let bytes): try sink.push(bytes, range, isLast: isLast)
        }
    }
}

/// Content in memory.
struct StoredContent: Sendable {
    let pieces: [StoredPiece]
    /// Bytes of all pieces.
    let count: UInt64

    /// Pieces up to this size are joined: each piece costs one call when it is sent.
    private static let pieceBytesMax = 1 << 20

    /// One piece, which is copied if it is long.
    init(whole bytes: [UInt8]) {
        let piece = StoredPiece.bytes(bytes)
        count = UInt64(bytes.count)
        pieces = [piece.isWellKept ? piece : StoredPiece(joining: [piece])]
    }

    /// Pieces as they were received.
    init(_ pieces: [[UInt8]]) { self.init(pieces.map(StoredPiece.bytes)) }

    init(_ pieces: [StoredPiece]) {
        count = pieces.reduce(0) { $0 + UInt64($1.count) }
        var joined: [StoredPiece] = []
        var (start, bytes) = (0, 0)
        for (i, piece) in pieces.enumerated() {
            if i > start, bytes + piece.count > Self.pieceBytesMax {
                joined.append(StoredPiece(joining: pieces[start..<i]))
                (start, bytes) = (i, 0)
            }
            bytes += piece.count
        }
        if start < pieces.count { joined.append(StoredPiece(joining: pieces[start...])) }
        self.pieces = joined
    }

    /// The bytes of a range of the content, in pieces.
    func pieces(in range: Range<UInt64>) -> [StoredPiece] {
        var found: [StoredPiece] = []
        var start: UInt64 = 0
        for piece in pieces {
            let next = start + UInt64(piece.count)
            let (from, to) = (max(range.lowerBound, start), min(range.upperBound, next))
            if from < to {
                let isWhole = to - from == UInt64(piece.count)
                let cut = Int(from - start)..<Int(to - start)
                found.append(isWhole ? piece : .bytes(piece.copy(cut)))
            }
            start = next
        }
        return found
    }

    /// All bytes in one piece of memory.
    var joined: [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(Int(clamping: count))
        for piece in pieces { piece.withSpan { bytes.append(copying: $0) } }
        return bytes
    }

    /// The content after adding `part`.
    ///
    /// The pieces hold the bytes that `held` names, one behind the other. Where both have a byte,
    /// the new one is used.
    func combined(_ held: HeldContent, with part: StoredContent, at range: Range<UInt64>) -> Self {
        let before = pieces(in: 0..<held.heldBytes(before: range.lowerBound))
        let behind = pieces(in: held.heldBytes(before: range.upperBound)..<count)
        return StoredContent(before + part.pieces + behind)
    }
}
