// Parses a field line in one go if it is complete and plain, as nearly all are.
import LupinCore

/// A field line `name: value` without special cases.
///
/// Every unchecked read is before `limit`, by the comparison right before it.
struct PlainLine {
    let line: FieldSection.Line
    /// The index after its CRLF.
    let end: Int

    /// Returns nil if the line is incomplete or not plain.
    @inline(__always)
    init?(_ bytes: Span<UInt8>, from start: Int, _ names: borrowing FieldNameTable.Lookup) {
        let limit = bytes.count
        guard start >= 0, start < limit, bytes.uncheckedByte(at: start) > 0x20,
            let colon = bytes.firstIndex(of: 0x3A, from: start, to: limit)
        else { return nil }
        let name = bytes.uncheckedExtracting(start..<colon)
        let known = names.name(spelledBy: name)
        guard known != .other || name.isToken else { return nil }
        var valueStart = colon &+ 1
        while valueStart < limit, bytes.uncheckedByte(at: valueStart).isBlank { valueStart &+= 1 }
        let carriageReturn = bytes.endOfFieldValue(from: valueStart, to: limit)
        end = carriageReturn &+ 2
        guard end <= limit, bytes.uncheckedByte(at: carriageReturn) == 0x0D,
            bytes.uncheckedByte(at: carriageReturn &+ 1) == 0x0A
        else { return nil }
        var valueEnd = carriageReturn
        while valueEnd > valueStart, bytes.uncheckedByte(at: valueEnd &- 1).isBlank {
            valueEnd &-= 1
        }
        line = FieldSection.Line(
            name: ByteRange(start: start, count: colon &- start),
            value: ByteRange(start: valueStart, count: valueEnd &- valueStart),
            known: known,
            isContiguous: valueStart == colon &+ 2 && bytes.uncheckedByte(at: colon &+ 1) == 0x20
                && valueEnd == carriageReturn
        )
    }
}

extension Span where Element == UInt8 {
    var isToken: Bool {
        var i = 0
        while i < count, self[i].isTokenByte { i &+= 1 }
        return i == count && i > 0
    }
}
