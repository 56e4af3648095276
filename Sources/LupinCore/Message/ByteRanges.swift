// Parses Range and Content-Range, and frames multipart responses (RFC 9110 §14).

/// The byte ranges that a Range field requests.
package struct RangeRequest: Sendable, Equatable {
    package enum Part: Sendable, Equatable {
        /// From the first byte to the last one, inclusive; nil for the end.
        case from(UInt64, to: UInt64?)
        /// The given number of bytes at the end.
        case suffix(UInt64)
    }

    /// The maximum number of parts; a field with more is ignored (§14.2: it may be an attack).
    package static let partsMax = 16
    /// A gap smaller than the frame around a part is sent along.
    static let gapMax: UInt64 = 80

    package let parts: [Part]

    /// The request's ranges; nil without a Range, or when it is ignored: of another unit, invalid,
    /// on two lines, or with too many parts.
    package init?(of fields: FieldSection) {
        guard let line = fields.first(.range), fields.count(of: .range) == 1 else { return nil }
        self.init(parsing: fields.storage.span.extracting(line.value.range))
    }

    /// Parses the value of a field.
    package init?(parsing text: Span<UInt8>) {
        var reader = RangeCursor(position: 0)
        guard reader.takesBytes(before: 0x3D, in: text) else { return nil }
        var parts: [Part] = []
        while true {
            reader.skipSpaces(in: text)
            if reader.position == text.count { break }
            // Empty members of a list are allowed (§5.6.1.2).
            if reader.take(0x2C, in: text) { continue }
            guard let part = RangeRequest.part(in: text, &reader), parts.count < Self.partsMax
            else { return nil }
            parts.append(part)
            reader.skipSpaces(in: text)
            guard reader.position == text.count || reader.take(0x2C, in: text) else { return nil }
        }
        guard !parts.isEmpty else { return nil }
        self.parts = parts
    }

    private static func part(in text: Span<UInt8>, _ reader: inout RangeCursor) -> Part? {
        if reader.take(0x2D, in: text) { return reader.number(in: text).map { .suffix($0) } }
        guard let first = reader.number(in: text), reader.take(0x2D, in: text) else { return nil }
        guard reader.position < text.count, text[reader.position].isASCIIDigit else {
            return .from(first, to: nil)
        }
        guard let last = reader.number(in: text), last >= first else { return nil }
        return .from(first, to: last)
    }

    /// The ranges to send of a representation of `length` bytes; empty when none is satisfiable.
    ///
    /// In the order of the request, unless some overlap or nearly touch: then in ascending order,
    /// joined (§15.3.7.2).
    package func resolved(length: UInt64) -> [Range<UInt64>] {
        var ranges: [Range<UInt64>] = []
        for part in parts {
            switch part {
            case .from(let first, let last):
                guard first < length else { continue }
                // Bounded: `last` is at most `RangeCursor.max`, so adding 1 can't overflow.
                ranges.append(first..<min(last.map { $0 + 1 } ?? length, length))
            case .suffix(let count):
                guard count > 0, length > 0 else { continue }
                ranges.append((length - min(count, length))..<length)
            }
        }
        guard ranges.count > 1 else { return ranges }
        let joined = RangeRequest.joined(ranges)
        return joined.count == ranges.count ? ranges : joined
    }

    private static func joined(_ ranges: [Range<UInt64>]) -> [Range<UInt64>] {
        var joined: [Range<UInt64>] = []
        for range in ranges.sorted(by: { $0.lowerBound < $1.lowerBound }) {
            if let last = joined.last, range.lowerBound <= last.upperBound.addingSaturated(gapMax) {
                let end = max(last.upperBound, range.upperBound)
                joined[joined.count - 1] = last.lowerBound..<end
            } else {
                joined.append(range)
            }
        }
        return joined
    }
}

/// The byte range of a Content-Range field (§14.4).
package struct ContentRange: Sendable, Equatable {
    /// nil when the response only gives the length of the representation (416).
    package var range: Range<UInt64>?
    /// nil when the origin doesn't know it.
    package var completeLength: UInt64?

    package init(range: Range<UInt64>?, completeLength: UInt64?) {
        self.range = range
        self.completeLength = completeLength
    }

    /// The Content-Range of a message; nil when it is invalid or there are two.
    package init?(of fields: FieldSection) {
        guard let line = fields.first(.contentRange), fields.count(of: .contentRange) == 1 else {
            return nil
        }
        self.init(parsing: fields.storage.span.extracting(line.value.range))
    }

    /// Parses the value of a field.
    package init?(parsing text: Span<UInt8>) {
        var reader = RangeCursor(position: 0)
        guard reader.takesBytes(before: 0x20, in: text) else { return nil }
        reader.skipSpaces(in: text)
        if !reader.take(0x2A, in: text) {
            guard let first = reader.number(in: text), reader.take(0x2D, in: text),
                let last = reader.number(in: text), last >= first
            else { return nil }
            // Bounded: `last` is at most `RangeCursor.max`.
            range = first..<(last + 1)
        }
        guard reader.take(0x2F, in: text) else { return nil }
        if !reader.take(0x2A, in: text) {
            guard let length = reader.number(in: text) else { return nil }
            completeLength = length
        }
        reader.skipSpaces(in: text)
        guard reader.position == text.count, range != nil || completeLength != nil else {
            return nil
        }
        if let range, let completeLength, range.upperBound > completeLength { return nil }
    }

    /// The value of the field.
    package var text: String {
        let bytes = range.map { "\($0.lowerBound)-\($0.upperBound - 1)" } ?? "*"
        return "bytes \(bytes)/\(completeLength.map(String.init) ?? "*")"
    }
}

/// The frames around several ranges in one response (§14.6).
package struct MultipartRanges: Sendable {
    package let ranges: [Range<UInt64>]
    /// The bytes before each range, in the same order.
    package let heads: [[UInt8]]
    /// The bytes behind the last range.
    package let end: [UInt8]
    /// The length of the whole content, including frames.
    package let contentLength: UInt64
    /// The value of Content-Type.
    package let contentType: String

    /// - Parameters:
    ///   - ranges: The ranges to send; none of them empty.
    ///   - completeLength: The length of the whole representation; nil when unknown.
    ///   - mediaType: Its Content-Type, or nil.
    ///   - boundary: 1 to 70 letters and digits that the content is unlikely to hold.
    package init(
        ranges: [Range<UInt64>],
        completeLength: UInt64?,
        mediaType: [UInt8]?,
        boundary: String
    ) {
        self.ranges = ranges
        contentType = "multipart/byteranges; boundary=\(boundary)"
        var heads: [[UInt8]] = []
        var total: UInt64 = 0
        for range in ranges {
            var head = Array("\(heads.isEmpty ? "" : "\r\n")--\(boundary)\r\n".utf8)
            if let mediaType { head += Array("Content-Type: ".utf8) + mediaType + [0x0D, 0x0A] }
            let contentRange = ContentRange(range: range, completeLength: completeLength)
            head += Array("Content-Range: \(contentRange.text)\r\n\r\n".utf8)
            total = total.addingSaturated(UInt64(head.count))
                .addingSaturated(range.upperBound - range.lowerBound)
            heads.append(head)
        }
        self.heads = heads
        end = Array("\r\n--\(boundary)--\r\n".utf8)
        contentLength = total.addingSaturated(UInt64(end.count))
    }
}

/// A position in a field of numbers and delimiters.
private struct RangeCursor {
    /// Larger numbers are refused: nothing that is stored has so many bytes.
    ///
    /// So adding 1 to a number, or adding two numbers, can't overflow.
    static let max: UInt64 = 1 << 62

    var position: Int

    mutating func number(in text: Span<UInt8>) -> UInt64? {
        guard
            case .value(let number) = NumberReader.decimal(
                text,
                from: &position,
                max: RangeCursor.max
            )
        else { return nil }
        return number
    }

    /// Reads the unit, which must be `bytes`, and the separator behind it.
    mutating func takesBytes(before separator: UInt8, in text: Span<UInt8>) -> Bool {
        skipSpaces(in: text)
        let start = position
        while position < text.count, text[position].isTokenByte { position += 1 }
        return text.extracting(start..<position).isWord("bytes") && take(separator, in: text)
    }

    mutating func take(_ byte: UInt8, in text: Span<UInt8>) -> Bool {
        guard position < text.count, text[position] == byte else { return false }
        position += 1
        return true
    }

    mutating func skipSpaces(in text: Span<UInt8>) {
        while position < text.count, text[position] == 0x20 || text[position] == 0x09 {
            position += 1
        }
    }
}
