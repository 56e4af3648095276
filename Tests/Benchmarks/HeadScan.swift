// What the origin and the load generator must know of a message's head, and no more.
import LupinCore

/// The few facts of a head that lies complete at the start of a buffer.
///
/// Both ends of the benchmark trust the proxy's grammar: this reads, it doesn't check.
struct HeadScan {
    /// Bytes of the head with its empty line.
    private(set) var count = 0
    /// Where the first line ends.
    private(set) var firstLineEnd = 0
    private(set) var contentLength: Int?
    private(set) var saysClose = false
    /// The ID that an ETag is; nil for any other ETag.
    private(set) var entityTag: RequestID?

    private static let lineFeed = UInt8(ascii: "\n")
    private static let contentLengthName = Array("content-length:".utf8)
    private static let connectionName = Array("connection:".utf8)
    private static let entityTagName = Array("etag:".utf8)

    /// Nil while the head isn't complete.
    init?(_ bytes: Span<UInt8>) {
        var lineStart = 0
        for i in bytes.indices where bytes[i] == Self.lineFeed {
            if i - lineStart <= 1 {
                count = i + 1
                return
            }
            if lineStart == 0 {
                firstLineEnd = i
            } else {
                readField(bytes.extracting(lineStart..<i))
            }
            lineStart = i + 1
        }
        return nil
    }

    /// The status of a response, 0 for what is none.
    static func status(of bytes: Span<UInt8>) -> Int {
        guard bytes.count >= 12, bytes[8] == UInt8(ascii: " ") else { return 0 }
        return number(bytes.extracting(9..<12)) ?? 0
    }

    /// The value of the first field called `name` in the head that `bytes` begin with.
    static func value(of name: String, in bytes: Span<UInt8>) -> String? {
        let name = Array("\(name):".utf8)
        var lineStart = 0
        for i in bytes.indices where bytes[i] == lineFeed {
            let line = bytes.extracting(lineStart..<i)
            lineStart = i + 1
            guard let start = value(of: name, in: line) else { continue }
            let text = String(copying: line.extracting(start..<line.count))
            return String(text.drop { $0 == " " }.prefix { $0 != "\r" })
        }
        return nil
    }

    /// The decimal number that `bytes` are, spaces around it ignored.
    static func number(_ bytes: Span<UInt8>) -> Int? {
        var value: Int?
        for i in bytes.indices {
            switch bytes[i] {
            case UInt8(ascii: "0")...UInt8(ascii: "9"):
                let digit = Int(bytes[i] - UInt8(ascii: "0"))
                guard (value ?? 0) < 1 << 48 else { return nil }
                value = (value ?? 0) * 10 + digit
            case UInt8(ascii: " "), UInt8(ascii: "\r"), UInt8(ascii: "\t"): break
            default: return nil
            }
        }
        return value
    }

    /// The ID between quotes.
    static func identifier(_ entityTag: Span<UInt8>) -> RequestID? {
        let quote = UInt8(ascii: "\"")
        guard let start = entityTag.indices.first(where: { entityTag[$0] == quote }) else {
            return nil
        }
        let end = min(start + 1 + RequestID.length, entityTag.count)
        return RequestID(entityTag.extracting((start + 1)..<end))
    }

    private mutating func readField(_ line: Span<UInt8>) {
        guard let first = line.first.map({ $0 | 0x20 }) else { return }
        if first == UInt8(ascii: "e"), let value = Self.value(of: Self.entityTagName, in: line) {
            entityTag = Self.identifier(line.extracting(value..<line.count))
        }
        guard first == UInt8(ascii: "c") else { return }
        if let value = Self.value(of: Self.contentLengthName, in: line) {
            contentLength = Self.number(line.extracting(value..<line.count))
        } else if let value = Self.value(of: Self.connectionName, in: line) {
            // The peers write `close` or `keep-alive` there, and nothing else.
            let word = line.extracting(value..<line.count)
            let first = word.indices.first { word[$0] != UInt8(ascii: " ") }
            saysClose = first.map { word[$0] | 0x20 == UInt8(ascii: "c") } ?? false
        }
    }

    /// Where the value begins if `line` is the field called `name` (lower case, with its colon).
    private static func value(of name: [UInt8], in line: Span<UInt8>) -> Int? {
        guard line.count > name.count else { return nil }
        for i in name.indices where line[i] | 0x20 != name[i] | 0x20 { return nil }
        return name.count
    }
}

extension Span<UInt8> {
    /// The first byte, if there is one.
    var first: UInt8? { isEmpty ? nil : self[0] }
}
