// Parses request targets: the four forms of RFC 9112 §3.2, and the method that each requires.
import LupinCore

/// The parts of a request target whose bytes are known to be 0x21 to 0x7E.
struct RequestTarget {
    private(set) var form = RequestHead.TargetForm.origin
    private(set) var scheme: Scheme?
    /// Offsets are relative to the start of the target.
    private(set) var authority = 0..<0
    private(set) var path = 0..<0

    /// Parses `target` in a form that `method` allows.
    init(_ target: Span<UInt8>, method: Method) throws(MessageProblem) {
        if target.firstIndex(of: 0x23) != nil {
            throw MessageProblem(.request, .fragmentInTarget)
        }
        if case .connect = method {
            try readAuthorityForm(target)
        } else if target[0] == 0x2F {
            path = 0..<target.count
        } else if target.count == 1, target[0] == 0x2A {
            guard method == .options else {
                throw MessageProblem(.request, .targetDoesNotFitMethod)
            }
            form = .asterisk
            path = 0..<0
        } else {
            try readAbsoluteForm(target)
        }
    }

    private mutating func readAuthorityForm(_ target: Span<UInt8>) throws(MessageProblem) {
        if target.firstIndex(of: 0x40) != nil {
            throw MessageProblem(.request, .userinfoInTarget)
        }
        guard let shape = AuthorityShape(target), let port = shape.port, port > 0,
            !shape.isHostEmpty
        else { throw MessageProblem(.request, .invalidConnectTarget) }
        form = .authority
        authority = 0..<target.count
    }

    private mutating func readAbsoluteForm(_ target: Span<UInt8>) throws(MessageProblem) {
        guard let colon = target.firstIndex(of: 0x3A), colon > 0,
            target.count > colon + 2, target[colon + 1] == 0x2F, target[colon + 2] == 0x2F
        else { throw MessageProblem(.request, .targetDoesNotFitMethod) }
        let name = target.extracting(0..<colon)
        if name.spells("http") {
            scheme = .http
        } else if name.spells("https") {
            scheme = .https
        } else {
            throw MessageProblem(.request, .unsupportedScheme)
        }
        let start = colon + 3
        var end = target.endOfPlainHost(from: start, to: target.count)
        while end < target.count, target[end] != 0x2F, target[end] != 0x3F { end += 1 }
        let bytes = target.extracting(start..<end)
        // RFC 9110 §4.2.4: userinfo in an http URI is to be treated as an error.
        if bytes.firstIndex(of: 0x40) != nil {
            throw MessageProblem(.request, .userinfoInTarget)
        }
        guard let shape = AuthorityShape(bytes), !shape.isHostEmpty, shape.port != 0 else {
            throw MessageProblem(.request, .invalidTargetAuthority)
        }
        form = .absolute
        authority = start..<end
        path = end..<target.count
    }
}

/// `uri-host [ ":" port ]` (RFC 9110 §7.2, RFC 3986 §3.2), checked but not canonicalised.
struct AuthorityShape {
    /// nil where there is no port or an empty one.
    let port: UInt16?
    let isHostEmpty: Bool

    /// Returns nil if a byte is invalid at its place, or the port exceeds 65535.
    init?(_ bytes: Span<UInt8>) {
        var i = 0
        if bytes.count > 0, bytes[0] == 0x5B {
            i = 1
            while i < bytes.count, bytes[i].isBracketedHostByte { i += 1 }
            guard i > 2, i < bytes.count, bytes[i] == 0x5D else { return nil }
            i += 1
        } else {
            i = bytes.endOfPlainHost(from: 0, to: bytes.count)
            while i < bytes.count, bytes[i].isHostByte {
                if bytes[i] == 0x25 {
                    guard bytes.count - i > 2, bytes[i + 1].hexadecimalDigit < 16,
                        bytes[i + 2].hexadecimalDigit < 16
                    else { return nil }
                }
                i += 1
            }
        }
        isHostEmpty = i == 0
        guard i < bytes.count else {
            port = nil
            return
        }
        guard bytes[i] == 0x3A else { return nil }
        let digits = bytes.extracting((i + 1)..<bytes.count)
        guard !digits.isEmpty else {
            port = nil
            return
        }
        guard let value = NumberReader.unsigned(digits, max: 65535) else { return nil }
        port = UInt16(truncatingIfNeeded: value)
    }
}

extension UInt8 {
    /// unreserved, sub-delims or `%` (RFC 3986 §3.2.2).
    @inline(__always) fileprivate var isHostByte: Bool {
        if (self | 0x20) &- 0x61 < 26 { return true }
        // One bit per byte: letters, digits and !$%&'()*+,-.;=_~
        let low: UInt64 = 0x2BFF_7FF2_0000_0000
        let high: UInt64 = 0x47FF_FFFE_87FF_FFFE
        if self < 64 { return low &>> UInt64(self) & 1 == 1 }
        return self < 128 && high &>> UInt64(self & 63) & 1 == 1
    }

    /// A byte allowed between brackets: of an IPv6 address, perhaps with a zone (`%25…`).
    fileprivate var isBracketedHostByte: Bool { self == 0x3A || isHostByte }

    /// The value of a hexadecimal digit; 16 and more for other bytes.
    @inline(__always) var hexadecimalDigit: UInt8 {
        if isASCIIDigit { return self &- 0x30 }
        let letter = (self | 0x20) &- 0x61
        return letter < 6 ? letter &+ 10 : 0xFF
    }
}
