// The heads of repeated forwards, as they come and as they go out.
import LupinCore
import LupinWire

/// A request's head as it came.
enum RepeatedHead {
    /// On HTTP/1.1.
    case bytes([UInt8])
    /// On a stream.
    case message(RequestHead)

    /// Whether `head` is the same to the last byte.
    func isSame(as head: Span<UInt8>) -> Bool {
        guard case .bytes(let known) = self else { return false }
        return known.span.begins(head)
    }

    /// Whether the head of `request`, which came on a stream, is the same to the last byte.
    func isSame(as request: ParsedRequest) -> Bool {
        guard case .message(let known) = self else { return false }
        return request.hasHead(known)
    }
}

/// A request's head as it goes upstream.
enum SentHead {
    /// On HTTP/1.1.
    case bytes([UInt8])
    /// On a stream of a connection to that hop.
    case message(RequestHead, RequestOptions, NextHop)

    /// How long it is; on a stream, before it is compressed.
    var count: Int {
        switch self {
        case .bytes(let bytes): bytes.count
        case .message(let head, _, _): head.fields.storage.count
        }
    }
}

/// A response's head as it came.
struct KeptHead {
    /// As they lay in HTTP/1.1, or in the storage of a stream's fields; empty where nobody kept it.
    var bytes: [UInt8] = []
    /// Where the value of its only Date stands in them; nil for none.
    var date: Range<Int>?

    var isEmpty: Bool { bytes.isEmpty }

    /// A head of HTTP/1.1.
    init(_ bytes: [UInt8] = []) {
        self.bytes = bytes
        date = HTTPDate.place(in: bytes.span)
    }

    /// The head of a stream, whose status is its first field.
    init(_ fields: borrowing FieldSection) {
        bytes = fields.storage
        date = fields.placeOfDate
    }
}

/// A response's head as it goes out.
struct RepeatedAnswer {
    /// On HTTP/1.1; empty for one that goes out on streams.
    private(set) var bytes: [UInt8] = []
    /// On streams.
    private(set) var message = AnswerMessage()
    /// Where the origin's only Date stands in the head, or lupin's own in `bytes`.
    private let place: Range<Int>?

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
        place = HTTPDate.place(in: bytes.span)
    }

    init(_ message: AnswerMessage) {
        self.message = message
        place = message.head.fields.placeOfDate
    }

    /// Whether it can say another Date.
    var isDated: Bool { place != nil || message.options.date != nil }

    /// Has it say another Date of the same length.
    mutating func set(date: Span<UInt8>) {
        if message.options.date != nil {
            message.options.date = String(copying: date)
        } else if let place, !bytes.isEmpty {
            for i in 0..<min(date.count, place.count) { bytes[place.lowerBound + i] = date[i] }
        } else if let place {
            for i in 0..<min(date.count, place.count) {
                message.head.fields.storage[place.lowerBound + i] = date[i]
            }
        }
    }
}

/// A final response's head with what a stream says beside it.
struct AnswerMessage {
    var head = ResponseHead()
    var options = ResponseOptions(framing: .none)
    /// A body follows, if only an empty one.
    var hasBody = false
}

extension FieldSection {
    /// Where the value of the only Date stands that goes any further.
    fileprivate var placeOfDate: Range<Int>? {
        guard count(of: .date) == 1, let line = first(.date), !line.isHopByHop,
            line.value.range.count == HTTPDate.bytes
        else { return nil }
        return line.value.range
    }
}
