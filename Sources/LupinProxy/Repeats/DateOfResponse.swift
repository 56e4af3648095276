// Where a head has its Date, which may differ in heads that are equal otherwise.
import LupinCore

extension FieldSection {
    /// Has it say another Date.
    mutating func set(date: String) { set(name: FieldName.date.spelling, value: date) }
}

extension HTTPDate {
    /// Where the value of the only Date of a head stands, if it has the length of IMF-fixdate.
    static func place(in head: Span<UInt8>) -> Range<Int>? {
        var place: Range<Int>?
        for i in 0..<max(0, head.count - 8) where head[i] == 0x0A {
            guard head.extracting((i + 1)..<(i + 7)).equalsIgnoringCase(dateStart.utf8Span.span)
            else { continue }
            var end = i + 7
            while end < head.count, head[end] != 0x0D { end += 1 }
            guard place == nil, end - i - 7 == bytes else { return nil }
            place = (i + 7)..<end
        }
        return place
    }

    private static let dateStart = "date: "
    static let bytes = 29

    /// Whether a date may hold `byte` where another holds `other`.
    static func mayHold(_ byte: UInt8, for other: UInt8) -> Bool {
        switch other {
        case 0x30...0x39: 0x30...0x39 ~= byte
        case 0x41...0x5A, 0x61...0x7A: 0x41...0x5A ~= byte & 0xDF
        default: byte == other
        }
    }
}
