// Writes the parts of heads: single fields, and runs of field lines.
package import LupinCore

/// One member of Via (RFC 9110 §7.6.3).
///
/// A class, so that options of messages hold it as one reference.
@usableFromInline package final class ViaMember: Sendable {
    /// The version in which the message was received.
    package let receivedProtocol: ProtocolVersion
    /// The name of this proxy, such as `lupin-1f2e3d4c`.
    package let pseudonym: String
    /// The whole field line with its CRLF.
    let line: [UInt8]

    package init(_ receivedProtocol: ProtocolVersion, pseudonym: String) {
        self.receivedProtocol = receivedProtocol
        self.pseudonym = pseudonym
        let version =
            switch receivedProtocol {
            case .http10: "1.0"
            case .http11: "1.1"
            case .http2: "2"
            }
        line = Array("Via: \(version) \(pseudonym)\r\n".utf8)
    }
}

/// The members of Via by which one proxy names itself, made once for all messages.
package final class ViaMembers: Sendable {
    /// The name of the proxy, such as `lupin-1f2e3d4c`.
    package let pseudonym: String
    private let http10: ViaMember
    private let http11: ViaMember
    private let http2: ViaMember

    package init(pseudonym: String) {
        self.pseudonym = pseudonym
        http10 = ViaMember(.http10, pseudonym: pseudonym)
        http11 = ViaMember(.http11, pseudonym: pseudonym)
        http2 = ViaMember(.http2, pseudonym: pseudonym)
    }

    /// The member for a message that was received in `version`.
    package func member(_ version: ProtocolVersion) -> ViaMember {
        switch version {
        case .http10: http10
        case .http11: http11
        case .http2: http2
        }
    }
}

extension HeadCursor {
    @inline(__always) mutating func appendLineEnd() { append("\r\n" as StaticString) }

    /// Appends `name: value CRLF`; `name` includes its colon and space.
    @inline(__always) mutating func appendField(_ name: StaticString, _ value: String) {
        append(name)
        append(value)
        appendLineEnd()
    }

    /// Appends the framing field that `framing` needs, if any.
    mutating func appendFraming(_ framing: BodyFraming) {
        switch framing {
        case .none, .untilClose: break
        case .length(let count):
            append("Content-Length: " as StaticString)
            append(decimal: count)
            appendLineEnd()
        case .chunked: append("Transfer-Encoding: chunked\r\n" as StaticString)
        }
    }

    mutating func appendVia(_ via: ViaMember) {
        let line = via.line
        append(line.span)
    }

    /// Appends the lines that are not hop-by-hop and whose names are not in `left`.
    ///
    /// Adjacent lines that are stored in wire form take one copy.
    mutating func appendLines(of fields: borrowing FieldSection, without left: FieldNameSet) {
        let storage = fields.storage.span
        let lines = fields.lines.span
        var i = 0
        while i < lines.count {
            let start = lines[i].name.lowerBound
            guard lines[i].isSent(without: left) else {
                i &+= 1
                continue
            }
            guard lines[i].isContiguous else {
                append(storage.extracting(lines[i].name.range))
                append(": " as StaticString)
                append(storage.extracting(lines[i].value.range))
                appendLineEnd()
                i &+= 1
                continue
            }
            var end = lines[i].value.upperBound &+ 2
            i &+= 1
            while i < lines.count, lines[i].isContiguous, lines[i].name.lowerBound == end,
                lines[i].isSent(without: left)
            {
                end = lines[i].value.upperBound &+ 2
                i &+= 1
            }
            append(storage.extracting(start..<end))
        }
    }
}

extension FieldSection.Line {
    @inline(__always) fileprivate func isSent(without left: FieldNameSet) -> Bool {
        !isHopByHop && !left.contains(known)
    }
}

extension FieldSection {
    /// The number of bytes of all lines on the wire.
    var writtenBytes: Int {
        let lines = lines.span
        var count = 4 &* lines.count
        for i in lines.indices {
            count &+= Int(lines[i].name.count) &+ Int(lines[i].value.count)
        }
        return count
    }
}

extension Array where Element == UInt8 {
    mutating func appendHexadecimal(_ number: UInt64) {
        var shift = number == 0 ? 0 : (63 - number.leadingZeroBitCount) & ~3
        while shift >= 0 {
            let digit = UInt8(truncatingIfNeeded: number &>> UInt64(shift)) & 15
            append(digit < 10 ? digit &+ 0x30 : digit &+ 0x57)
            shift -= 4
        }
    }
}
