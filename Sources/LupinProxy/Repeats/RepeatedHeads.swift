// The heads of repeated forwards, as they come and as they go out.
import LupinCore
import LupinWire

/// A request's head as it came.
enum RepeatedHead {
    /// On HTTP/1.1.
    case bytes([UInt8])
    /// On a stream.
    case message(ParsedRequest)

    /// Whether `head` is the same to the last byte.
    func isSame(as head: Span<UInt8>) -> Bool {
        guard case .bytes(let known) = self else { return false }
        return known.span.begins(head)
    }
}

/// A request's head as it goes upstream.
enum SentHead {
    /// On HTTP/1.1.
    case bytes([UInt8])
    /// On a stream of a connection to that hop.
    case message(PreparedHead, NextHop)

    /// How long it is; on a stream, before it is compressed.
    var count: Int {
        switch self {
        case .bytes(let bytes): bytes.count
        case .message(let head, _): head.count
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
enum RepeatedAnswer {
    /// On HTTP/1.1, and where its Date stands.
    case bytes([UInt8], date: Range<Int>?)
    /// On streams.
    case message(PreparedHead)

    init(_ bytes: [UInt8]) { self = .bytes(bytes, date: HTTPDate.place(in: bytes.span)) }

    /// Whether it can say another Date.
    var isDated: Bool {
        switch self {
        case .bytes(_, let date): date != nil
        case .message(let head): head.isDated
        }
    }

    /// Has it say another Date of the same length.
    mutating func set(date: Span<UInt8>) {
        switch self {
        case .message(let head): head.set(date: date)
        case .bytes(var bytes, let place?):
            for i in 0..<min(date.count, place.count) { bytes[place.lowerBound + i] = date[i] }
            self = .bytes(bytes, date: place)
        case .bytes(_, nil): break
        }
    }
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
