// The body of a stored response: immutable, shared by all who are served from it.
import LupinCore
import LupinIO

/// Content in memory, in the pieces in which it came.
struct StoredContent: Sendable {
    let pieces: [[UInt8]]
    /// Bytes of all pieces.
    let count: UInt64

    /// Pieces up to so many bytes are made one: each costs those who are served a call.
    private static let pieceBytesMax = 1 << 20

    init(_ pieces: [[UInt8]]) {
        count = pieces.reduce(0) { $0 + UInt64($1.count) }
        guard pieces.count > 1 else {
            self.pieces = pieces
            return
        }
        var joined: [[UInt8]] = []
        var left = Int(clamping: count)
        for piece in pieces {
            if let last = joined.last, last.count + piece.count <= Self.pieceBytesMax {
                joined[joined.count - 1] += piece
            } else {
                var first: [UInt8] = []
                first.reserveCapacity(min(left, Self.pieceBytesMax))
                joined.append(first + piece)
            }
            left -= piece.count
        }
        self.pieces = joined
    }

    /// The bytes of a range of it, in pieces.
    func pieces(in range: Range<UInt64>) -> [[UInt8]] {
        var found: [[UInt8]] = []
        var start: UInt64 = 0
        for piece in pieces {
            let next = start + UInt64(piece.count)
            let (from, to) = (max(range.lowerBound, start), min(range.upperBound, next))
            if from < to {
                let isWhole = to - from == UInt64(piece.count)
                found.append(isWhole ? piece : Array(piece[Int(from - start)..<Int(to - start)]))
            }
            start = next
        }
        return found
    }

    /// What is held once `part` is, too.
    ///
    /// This is what is held now, one piece behind the other, as `held` says. Where both have a
    /// byte, it is the new one.
    func combined(_ held: HeldContent, with part: StoredContent, at range: Range<UInt64>) -> Self {
        let before = pieces(in: 0..<held.heldBytes(before: range.lowerBound))
        let behind = pieces(in: held.heldBytes(before: range.upperBound)..<count)
        return StoredContent(before + part.pieces + behind)
    }
}

/// What follows the head of an answer, bit by bit.
enum AnswerPart {
    /// Bytes of lupin's own.
    case bytes([UInt8])
    /// Bytes of the stored content.
    case range(Range<UInt64>)
}

extension CachedAnswer {
    /// What follows the head.
    var parts: [AnswerPart] {
        guard let multipart else { return ranges.map(AnswerPart.range) }
        var parts: [AnswerPart] = []
        for (i, range) in ranges.enumerated() {
            parts.append(.bytes(multipart.heads[i]))
            parts.append(.range(range))
        }
        return parts + [.bytes(multipart.end)]
    }
}

/// What is sent of stored content: ranges of it, with bytes of lupin's own before and between them.
final class StoredBody: BodySource {
    private let content: StoredContent
    private var parts: ArraySlice<AnswerPart>
    /// The piece that is on its way, what of it is meant, and how much of that has gone.
    private var piece: [UInt8] = []
    private var position = 0
    private var end = 0
    private let length: UInt64

    /// The ranges of `answer`, framed as it says.
    init(_ content: StoredContent, _ answer: CachedAnswer) {
        self.content = content
        length = answer.contentLength
        parts = answer.parts[...]
    }

    func pull() throws(LupinError) -> BodyProgress {
        while position == end {
            guard let part = parts.first else { return .end }
            parts = parts.dropFirst()
            switch part {
            case .bytes(let bytes): (piece, position, end) = (bytes, 0, bytes.count)
            case .range(let range): begin(range)
            }
        }
        return .payload
    }

    /// Takes the first piece of a range, and puts the rest of it back in the queue.
    private func begin(_ range: Range<UInt64>) {
        var start: UInt64 = 0
        for piece in content.pieces {
            let next = start + UInt64(piece.count)
            if range.lowerBound < next {
                self.piece = piece
                position = Int(range.lowerBound - start)
                end = Int(min(range.upperBound, next) - start)
                if range.upperBound > next {
                    parts = [.range(next..<range.upperBound)] + parts
                }
                return
            }
            start = next
        }
    }

    func offer(to sink: any BodySink, keeping replay: BodyReplay?) throws(LupinError) -> Offer {
        let piece = piece
        let isLast = parts.isEmpty
        let taken = try sink.push(piece.span.extracting(position..<end), isLast: isLast)
        position += taken
        let isAllTaken = position == end
        return Offer(taken: taken, isAllTaken: isAllTaken, isEnd: isAllTaken && isLast)
    }

    var trailers: FieldSection { FieldSection() }
    var knownLength: UInt64? { length }
    var spliceable: UInt64 { 0 }

    func splice(into pipe: SplicePipe, _ count: Int) throws(LupinError) -> Channel.Received {
        .blocked
    }
}
