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
    @inline(__always) mutating func append(_ text: String) {
        append(contentsOf: text.utf8)
    }

    mutating func appendLineEnd() {
        append(0x0D)
        append(0x0A)
    }

    /// Appends `name: value CRLF`.
    mutating func appendField(_ name: String, _ value: String) {
        append(name)
        append(": ")
        append(value)
        appendLineEnd()
    }

    mutating func appendDecimal(_ number: UInt64) {
        guard number > 9 else {
            append(UInt8(truncatingIfNeeded: number) &+ 0x30)
            return
        }
        var divisor: UInt64 = 1
        while number / divisor > 9 { divisor *= 10 }
        while divisor > 0 {
            append(UInt8(truncatingIfNeeded: number / divisor % 10) &+ 0x30)
            divisor /= 10
        }
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
            append("Content-Length: ")
            appendDecimal(count)
            appendLineEnd()
        case .chunked: append("Transfer-Encoding: chunked\r\n")
        }
    }

    mutating func appendVia(_ via: ViaMember) {
        switch via.receivedProtocol {
        case .http10: append("Via: 1.0 ")
        case .http11: append("Via: 1.1 ")
        case .http2: append("Via: 2 ")
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
                append(0x3A)
                append(0x20)
                appendBulk(storage.extracting(line.value.range))
                appendLineEnd()
                continue
            }
            var end = line.value.upperBound + 2
            while i < lines.count {
                let next = lines[i]
                guard next.isContiguous, next.name.lowerBound == end, isKept(next) else { break }
                end = next.value.upperBound + 2
                i &+= 1
            }
            appendBulk(storage.extracting(line.name.lowerBound..<end))
        }
    }
}
