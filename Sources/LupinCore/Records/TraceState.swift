// What vendors of tracing systems know of a trace: a list that passes through unchanged.

/// The value of `tracestate` (W3C Trace Context §3.3), checked and bounded.
///
/// lupin adds no member of its own.
package struct TraceState: Hashable, Sendable {
    /// Beyond it the whole list is malformed.
    package static let membersMax = 32
    /// A longer list loses members (§3.3.1.5): first those above `memberBytesMax`, then the last.
    package static let bytesMax = 512
    private static let memberBytesMax = 128
    private static let keyBytesMax = 256
    private static let valueBytesMax = 256

    /// `vendor=value`, from the latest to the earliest.
    package private(set) var members: [String] = []

    package init() {}

    /// Joins the values of all fields.
    ///
    /// nil where a member is malformed, a key comes twice, or there are too many.
    package init?(_ values: [String]) {
        var keys: Set<String> = []
        for value in values {
            for part in value.split(separator: ",", omittingEmptySubsequences: true) {
                let member = part.drop { Self.isSpace($0) }
                let trimmed = Self.withoutTail(member)
                // Empty members are allowed.
                if trimmed.isEmpty { continue }
                guard let key = Self.key(of: trimmed), keys.insert(key).inserted,
                    members.count < Self.membersMax
                else { return nil }
                members.append(String(trimmed))
            }
        }
        shorten()
    }

    /// The value of the field; empty for none.
    package var text: String { members.joined(separator: ",") }

    private var bytes: Int {
        members.reduce(max(0, members.count - 1)) { $0 + $1.utf8.count }
    }

    private mutating func shorten() {
        while bytes > Self.bytesMax {
            let long = members.lastIndex { $0.utf8.count > Self.memberBytesMax }
            members.remove(at: long ?? members.count - 1)
        }
    }

    private static func isSpace(_ character: Character) -> Bool {
        character == " " || character == "\t"
    }

    private static func withoutTail(_ text: Substring) -> Substring {
        var text = text
        while let last = text.last, isSpace(last) { text.removeLast() }
        return text
    }

    /// The key of a member; nil where key or value are malformed (§3.3.1.3).
    private static func key(of member: Substring) -> String? {
        guard let equals = member.utf8.firstIndex(of: 0x3D) else { return nil }
        let key = member.utf8[..<equals]
        let value = member.utf8[member.utf8.index(after: equals)...]
        guard let first = key.first, isStart(first), key.count <= keyBytesMax,
            key.allSatisfy(isPart), !value.isEmpty, value.count <= valueBytesMax,
            value.allSatisfy({ (0x20...0x7E).contains($0) && $0 != 0x3D })
        else { return nil }
        return String(member[..<equals])
    }

    /// `lcalpha / DIGIT`.
    private static func isStart(_ byte: UInt8) -> Bool {
        byte.isASCIIDigit || (0x61...0x7A).contains(byte)
    }

    /// Those, and `_ - * / @`.
    private static func isPart(_ byte: UInt8) -> Bool {
        isStart(byte) || [0x5F, 0x2D, 0x2A, 0x2F, 0x40].contains(byte)
    }
}
