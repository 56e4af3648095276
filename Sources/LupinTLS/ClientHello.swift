// Parses a client's first bytes: whether they are TLS, and which host and protocols it requests.
package import LupinCore

/// The parts of a ClientHello that decide how a connection is handled (RFC 8446 §4.1.2).
package struct ClientHello: Sendable, Hashable {
    /// The host name of SNI (RFC 6066 §3), as it was sent.
    package var serverName: String?
    /// The ALPN offer (RFC 7301) in order of preference, without GREASE values.
    package var protocols: [String]
    /// The offered versions that lupin supports, the newest first.
    package var versions: [TLSVersion]
    /// Whether the hello has the extension encrypted_client_hello (RFC 9849 §5), so that another
    /// name may be inside; without one (GREASE, §6.2) it looks the same.
    package var offersECH: Bool

    package init(
        serverName: String? = nil,
        protocols: [String] = [],
        versions: [TLSVersion] = [],
        offersECH: Bool = false
    ) {
        self.serverName = serverName
        self.protocols = protocols
        self.versions = versions
        self.offersECH = offersECH
    }

    /// The result of parsing the first bytes of a connection.
    package enum Reading: Sendable, Hashable {
        /// A valid prefix of a ClientHello; more bytes are needed.
        case needsMore
        case notTLS
        /// TLS, or what a lenient server may take for it, but not a usable ClientHello: malformed,
        /// longer than ``countMax``, or behind another record.
        case unreadable
        case hello(ClientHello)
    }

    /// The longest ClientHello that is parsed: real ones have less than 4 KiB.
    package static let countMax = 64 << 10
    /// How many bytes a ClientHello may take on the wire, in however small records.
    package static let wireBytesMax = 80 << 10
    private static let recordHeaderCount = 5
    private static let messageHeaderCount = 4
    /// RFC 8446 §5.1: a record's plaintext has at most 2^14 bytes.
    private static let fragmentMax = 1 << 14

    /// Parses the first bytes of a connection that have arrived so far.
    package static func parse(_ bytes: Span<UInt8>) -> Reading {
        switch firstRecord(bytes) {
        case .needsMore: return .needsMore
        case .notTLS: return .notTLS
        case .unreadable: return .unreadable
        case .fragment(let range):
            let fragment = bytes.extracting(range)
            guard fragment.count >= messageHeaderCount else { return joined(bytes) }
            let end = messageHeaderCount + messageCount(fragment)
            guard end <= countMax else { return .unreadable }
            // Usually the first record contains it all, and nothing needs to be copied.
            guard fragment.count < end else {
                return body(fragment.extracting(messageHeaderCount..<end))
            }
            return joined(bytes)
        }
    }

    private enum FirstRecord {
        case needsMore, notTLS, unreadable
        /// The part of the fragment that has arrived, at least one byte.
        case fragment(Range<Int>)
    }

    /// Parses the first record's header, and the first byte of the message in it.
    ///
    /// Servers take more than RFC 8446 §5.1 has clients send: OpenSSL any minor version, and
    /// records with nothing in them or warnings before the hello, Go any major version below 16.
    /// None of that is another protocol.
    private static func firstRecord(_ bytes: Span<UInt8>) -> FirstRecord {
        guard !bytes.isEmpty else { return .needsMore }
        let isHandshake = bytes[0] == 22
        guard contentTypes.contains(bytes[0]) else { return .notTLS }
        guard bytes.count > 1 else { return .needsMore }
        guard bytes[1] == 3 || (isHandshake && bytes[1] < 16) else { return .notTLS }
        guard isHandshake, bytes[1] == 3 else { return .unreadable }
        guard bytes.count >= recordHeaderCount else { return .needsMore }
        let count = fragmentCount(bytes, at: 0)
        guard isFragmentCount(count) else { return .unreadable }
        guard bytes.count > recordHeaderCount else { return .needsMore }
        guard bytes[recordHeaderCount] == 1 else { return .unreadable }
        return .fragment(recordHeaderCount..<min(bytes.count, recordHeaderCount + count))
    }

    /// The content types of records (RFC 8446 §5.1, RFC 6520 §3).
    private static let contentTypes: ClosedRange<UInt8> = 20...24

    /// Joins the fragments of several records, and parses them once they are a message.
    private static func joined(_ bytes: Span<UInt8>) -> Reading {
        var message: [UInt8] = []
        var start = 0
        // Each iteration takes one record with at least one byte, and `countMax` bounds the loop.
        while start + recordHeaderCount <= bytes.count {
            let count = fragmentCount(bytes, at: start)
            guard bytes[start] == 22, bytes[start + 1] == 3, isFragmentCount(count) else {
                return .unreadable
            }
            let first = start + recordHeaderCount
            let end = first + count
            message.append(copying: bytes.extracting(first..<min(end, bytes.count)))
            if message.count >= messageHeaderCount {
                let whole = messageHeaderCount + messageCount(message.span)
                guard whole <= countMax else { return .unreadable }
                if message.count >= whole {
                    return body(message.span.extracting(messageHeaderCount..<whole))
                }
            }
            start = end
        }
        if start < bytes.count, bytes[start] != 22 { return .unreadable }
        return .needsMore
    }

    private static func fragmentCount(_ bytes: Span<UInt8>, at start: Int) -> Int {
        Int(bytes[start + 3]) << 8 | Int(bytes[start + 4])
    }

    private static func isFragmentCount(_ count: Int) -> Bool { count > 0 && count <= fragmentMax }

    private static func messageCount(_ bytes: Span<UInt8>) -> Int {
        Int(bytes[1]) << 16 | Int(bytes[2]) << 8 | Int(bytes[3])
    }
}

// MARK: The message

extension ClientHello {
    /// Parses the message behind its header.
    static func body(_ bytes: Span<UInt8>) -> Reading {
        var cursor = Cursor(end: bytes.count)
        // Version, random, session id, cipher suites, compression methods, extensions.
        guard let version = cursor.number(2, in: bytes), cursor.skip(32),
            let sessionID = cursor.vector(1, in: bytes), sessionID.count <= 32,
            let suites = cursor.vector(2, in: bytes), !suites.isEmpty, suites.count % 2 == 0,
            let compressions = cursor.vector(1, in: bytes), !compressions.isEmpty
        else { return .unreadable }
        var hello = ClientHello()
        if version >= TLSVersion.tls12.number { hello.versions = [.tls12] }
        // Before TLS 1.3 a hello could end here.
        if cursor.isAtEnd { return .hello(hello) }
        guard let all = cursor.vector(2, in: bytes), cursor.isAtEnd else { return .unreadable }
        var extensions = Cursor(all)
        var seen = SeenExtensions()
        while !extensions.isAtEnd {
            guard let type = extensions.number(2, in: bytes),
                let content = extensions.vector(2, in: bytes), seen.isNew(type),
                hello.read(extension: type, at: content, of: bytes)
            else { return .unreadable }
        }
        return .hello(hello)
    }

    /// The types of extensions so far, a bit each: a set would hash every one of them, which is
    /// two fifths of the price of a hello.
    private struct SeenExtensions {
        private var words = [UInt64](repeating: 0, count: 1 << 10)

        /// Whether a type of 16 bits comes for the first time.
        mutating func isNew(_ type: Int) -> Bool {
            let bit = UInt64(1) << UInt64(type & 63)
            if words[type >> 6] & bit != 0 { return false }
            words[type >> 6] |= bit
            return true
        }
    }

    /// Parses an extension; returns false if it is one that matters and is malformed.
    private mutating func read(
        extension type: Int,
        at content: Range<Int>,
        of bytes: Span<UInt8>
    ) -> Bool {
        switch type {
        case 0: readServerName(at: content, of: bytes)
        case 16: readProtocols(at: content, of: bytes)
        case 43: readVersions(at: content, of: bytes)
        case 0xFE0D: noteECH()
        default: true
        }
    }

    private mutating func noteECH() -> Bool {
        offersECH = true
        return true
    }

    private mutating func readServerName(at content: Range<Int>, of bytes: Span<UInt8>) -> Bool {
        var outer = Cursor(content)
        guard let list = outer.vector(2, in: bytes), outer.isAtEnd else { return false }
        var cursor = Cursor(list)
        // Exactly one name, of type host_name: no other type was ever defined.
        guard cursor.number(1, in: bytes) == 0, let range = cursor.vector(2, in: bytes),
            cursor.isAtEnd, (1...255).contains(range.count)
        else { return false }
        let name = bytes.extracting(range)
        // Names are A-labels (RFC 6066 §3); any other bytes must not reach a log.
        for i in name.indices where name[i] <= 0x20 || name[i] >= 0x7F { return false }
        serverName = String(copying: name)
        return true
    }

    private mutating func readProtocols(at content: Range<Int>, of bytes: Span<UInt8>) -> Bool {
        var outer = Cursor(content)
        guard let list = outer.vector(2, in: bytes), outer.isAtEnd, !list.isEmpty else {
            return false
        }
        var cursor = Cursor(list)
        while !cursor.isAtEnd {
            guard let range = cursor.vector(1, in: bytes), !range.isEmpty else { return false }
            let name = bytes.extracting(range)
            if !isGREASE(name) { protocols.append(String(copying: name)) }
        }
        return true
    }

    private mutating func readVersions(at content: Range<Int>, of bytes: Span<UInt8>) -> Bool {
        var outer = Cursor(content)
        guard let list = outer.vector(1, in: bytes), outer.isAtEnd, !list.isEmpty else {
            return false
        }
        var offered: Set<Int> = []
        var cursor = Cursor(list)
        while !cursor.isAtEnd {
            guard let version = cursor.number(2, in: bytes) else { return false }
            offered.insert(version)
        }
        // RFC 8446 §4.2.1: this list overrides the hello's own version.
        versions = [TLSVersion.tls13, .tls12].filter { offered.contains($0.number) }
        return true
    }

    /// Whether the value is a GREASE value, which servers must ignore.
    private func isGREASE(_ name: Span<UInt8>) -> Bool {
        name.count == 2 && name[0] == name[1] && name[0] & 0x0F == 0x0A
    }
}

extension TLSVersion {
    /// The version's number on the wire.
    fileprivate var number: Int {
        switch self {
        case .tls12: 0x0303
        case .tls13: 0x0304
        }
    }
}

/// A position in bytes and the end of what may be read.
private struct Cursor {
    private var position: Int
    private let end: Int

    init(end: Int) {
        position = 0
        self.end = end
    }

    init(_ range: Range<Int>) {
        position = range.lowerBound
        end = range.upperBound
    }

    var isAtEnd: Bool { position == end }

    mutating func skip(_ count: Int) -> Bool {
        guard end - position >= count else { return false }
        position += count
        return true
    }

    /// A big-endian number of `width` bytes.
    mutating func number(_ width: Int, in bytes: Span<UInt8>) -> Int? {
        let start = position
        guard skip(width) else { return nil }
        var value = 0
        for i in start..<position { value = value << 8 | Int(bytes[i]) }
        return value
    }

    /// The range of a vector's content; the vector's length is a number of `width` bytes.
    mutating func vector(_ width: Int, in bytes: Span<UInt8>) -> Range<Int>? {
        guard let count = number(width, in: bytes) else { return nil }
        let start = position
        return skip(count) ? start..<position : nil
    }
}
