// The body of a stored response on its way to a client, from memory.
import LupinCore
import LupinIO

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
    private var piece = StoredPiece.bytes([])
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
            case .bytes(let bytes): (piece, position, end) = (.bytes(bytes), 0, bytes.count)
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
        let isLast = parts.isEmpty
        let taken = try piece.push(position..<end, to: sink, isLast: isLast)
        position += taken
        let isAllTaken = position == end
        return Offer(taken: taken, isAllTaken: isAllTaken, isEnd: isAllTaken && isLast)
    }

    var trailers: FieldSection { FieldSection() }
    var knownLength: UInt64? { length }
}
