// Parses the request line and the status line (RFC 9112 §3, §4).
import LupinCore

/// A request line whose bytes and spaces the scanner has already checked.
enum RequestLine {
    /// Rejects a line that is not `token SP target SP HTTP/1.x`.
    static func check(
        _ line: Span<UInt8>,
        _ found: HeadScanner.StartLine
    ) throws(MessageProblem) {
        guard found.spaces == 2, found.firstSpace > 0, found.lastSpace > found.firstSpace + 1
        else { throw MessageProblem(.request, .malformedRequestLine) }
        var i = 0
        while i < found.firstSpace {
            guard line[i].isTokenByte else { throw MessageProblem(.request, .invalidMethod) }
            i &+= 1
        }
        let version = line.extracting((found.lastSpace + 1)...)
        guard version.count == 8, version.isHTTPVersion else {
            throw MessageProblem(.request, .malformedVersion)
        }
        guard version[5] == 0x31 else {
            let isPreface = version[5] == 0x32 && line.extracting(first: 5).spells("PRI *")
            throw MessageProblem(.request, isPreface ? .http2Preface : .unsupportedVersion)
        }
    }

    /// The method named `token`; methods are case-sensitive (RFC 9110 §9.1).
    static func method(_ token: Span<UInt8>) -> Method {
        switch token.count {
        case 3:
            if token[0] == 0x47, token[1] == 0x45, token[2] == 0x54 { return .get }
        case 4:
            if token[0] == 0x50, token[1] == 0x4F, token[2] == 0x53, token[3] == 0x54 {
                return .post
            }
        default: break
        }
        return Method(String(copying: token))
    }
}

/// A status line whose bytes the scanner has already checked.
enum StatusLine {
    /// Rejects a line that is not `HTTP/1.x SP 3DIGIT [SP reason]`.
    ///
    /// The space before an absent reason phrase is often omitted; this is accepted. So are several
    /// before the status, if `flaws` may say so.
    static func check(
        _ line: Span<UInt8>,
        _ flaws: inout ResponseFlaws,
        isLenient: Bool
    ) throws(MessageProblem) {
        guard line.count >= 12, line.isHTTPVersion, line[8] == 0x20 else {
            throw MessageProblem(.response, .malformedStatusLine)
        }
        let start = begin(line)
        guard start == 9 || isLenient, start + 3 <= line.count,
            line[start].isASCIIDigit, line[start + 1].isASCIIDigit, line[start + 2].isASCIIDigit,
            start + 3 == line.count || line[start + 3] == 0x20
        else { throw MessageProblem(.response, .malformedStatusLine) }
        guard line[5] == 0x31 else { throw MessageProblem(.response, .unsupportedVersion) }
        // RFC 9110 §15 ends at 599, but some sites answer 999, and clients must handle it anyway. A
        // response that can be framed is forwarded.
        guard status(line, at: start) >= 100 else {
            throw MessageProblem(.response, .statusOutOfRange)
        }
        if start > 9 { flaws.insert(.spaces) }
    }

    /// Where the status of a line begins; it may be the line's end.
    static func begin(_ line: Span<UInt8>) -> Int {
        var start = 9
        while start < line.count, line[start] == 0x20 { start &+= 1 }
        return start
    }

    /// The status code of a checked line, which begins at `start`.
    static func status(_ line: Span<UInt8>, at start: Int) -> UInt16 {
        UInt16(line[start] &- 0x30) * 100 + UInt16(line[start + 1] &- 0x30) * 10
            + UInt16(line[start + 2] &- 0x30)
    }

    /// The range of a checked line's reason phrase, behind the status at `start`.
    static func reason(behind start: Int, lineEnd: Int) -> ByteRange {
        lineEnd > start + 4 ? ByteRange((start + 4)..<lineEnd) : .empty
    }
}

extension Span where Element == UInt8 {
    /// Whether the first 8 bytes are `HTTP/d.d`; the name is case-sensitive (RFC 9112 §2.3).
    var isHTTPVersion: Bool {
        // `HTTP/` and `.`, read as a number, with zeros for the digits.
        count >= 8 && word(at: 0) & 0x00FF_00FF_FFFF_FFFF == 0x002E_002F_5054_5448
            && self[5].isASCIIDigit && self[7].isASCIIDigit
    }
}
