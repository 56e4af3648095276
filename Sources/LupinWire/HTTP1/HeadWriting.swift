// The pieces that heads are written of: texts, numbers, single fields, runs of field lines.
import LupinCore

/// One member of Via (RFC 9110 §7.6.3).
package struct ViaMember: Sendable, Hashable {
    /// The version in which the message was received.
    package enum Version: UInt8, Sendable, Hashable { case http10, http11, http2 }

    package var receivedProtocol: Version
    /// The name lupin goes by, such as `lupin-1f2e3d4c`.
    package var pseudonym: String

    package init(_ receivedProtocol: Version, pseudonym: String) {
        self.receivedProtocol = receivedProtocol
        self.pseudonym = pseudonym
    }
}

extension Array where Element == UInt8 {
    /// Appends the bytes of a text.

    mutating func append(_ text: String) {
        let utf8 = text.utf8
        appendBulk(utf8.span)
    }

    @inline(__always)
    mutating func appendLineEnd() { append("\r\n" as StaticString) }

    /// Appends `name: value CRLF`, where `name` brings its colon and space.

    mutating func appendField(_ name: StaticString, _ value: String) {
        append(name)
        append(value)
        appendLineEnd()
    }

    mutating func appendDecimal(_ number: UInt64) {
        var digits = InlineArray<20, UInt8>(repeating: 0x30)
        var first = 20
        var rest = number
        repeat {
            first &-= 1
            digits[first] = 0x30 &+ UInt8(truncatingIfNeeded: rest % 10)
            rest /= 10
        } while rest > 0
        appendBulk(digits.span.extracting(first...))
    }

    mutating func appendHexadecimal(_ number: UInt64) {
        var shift = number == 0 ? 0 : (63 - number.leadingZeroBitCount) & ~3
        while shift >= 0 {
            let digit = UInt8(truncatingIfNeeded: number &>> UInt64(shift)) & 15
            append(digit < 10 ? digit &+ 0x30 : digit &+ 0x57)
            shift -= 4
        }
    }

    /// Appends the framing field that `framing` needs, if any.

    mutating func appendFraming(_ framing: BodyFraming) {
        switch framing {
        case .none, .untilClose: break
        case .length(let count):
            append("Content-Length: " as StaticString)
            appendDecimal(count)
            appendLineEnd()
        case .chunked: append("Transfer-Encoding: chunked\r\n" as StaticString)
        }
    }

    mutating func appendVia(_ via: borrowing ViaMember) {
        switch via.receivedProtocol {
        case .http10: append("Via: 1.0 " as StaticString)
        case .http11: append("Via: 1.1 " as StaticString)
        case .http2: append("Via: 2 " as StaticString)
        }
        append(via.pseudonym)
        appendLineEnd()
    }

    /// Appends the lines that `isKept` wants.
    ///
    /// Neighbours that lie in the storage as they are sent go by one copy.
    @inline(__always)
    mutating func appendLines(
        of fields: borrowing FieldSection,
        where isKept: (FieldSection.Line) -> Bool
    ) {
        let storage = fields.storage.span
        let lines = fields.lines.span
        var i = 0
        while i < lines.count {
            let line = lines[i]
            i &+= 1
            guard isKept(line) else { continue }
            guard line.isContiguous else {
                appendBulk(storage.extracting(line.name.range))
                append(": " as StaticString)
                appendBulk(storage.extracting(line.value.range))
                appendLineEnd()
                continue
            }
            var end = line.value.upperBound &+ 2
            while i < lines.count {
                let next = lines[i]
                guard next.isContiguous, next.name.lowerBound == end, isKept(next) else { break }
                end = next.value.upperBound &+ 2
                i &+= 1
            }
            appendBulk(storage.extracting(line.name.lowerBound..<end))
        }
    }
}

extension FieldSection {
    /// The bytes that all lines take on the wire.
    var writtenBytes: Int {
        var count = 0
        for line in lines { count &+= Int(line.name.count) &+ Int(line.value.count) &+ 4 }
        return count
    }
}
