// What a client sends in clear once it has begun TLS: every further ClientHello in it.
import LupinCore

/// Follows the records of a TLS client (RFC 8446 §5.1), whatever pieces they come in.
///
/// A client sends a second ClientHello when the server wants another key share (RFC 8446 §4.1.4).
/// Servers that begin again after an alert, or skip early data that they don't want, would take
/// one, too.
package struct ClientRecords {
    package enum Finding: Equatable, Sendable {
        /// The first one of the connection, too.
        case hello(ClientHello)
        /// A ClientHello that can't be read.
        case unreadable
        /// What no TLS client sends.
        case notTLS
    }

    /// Behind so many bytes nothing is looked at: a session that goes so far is encrypted.
    package static let countMax = 256 << 10
    /// RFC 5246 §6.2.3: the longest encrypted fragment.
    private static let fragmentMax = (16 << 10) + 2048
    private static let headerCount = 4

    /// The header of a record that has not come as a whole.
    private var header: [UInt8] = []
    /// The bytes left of the record.
    private var left = 0
    private var isHandshake = false
    /// The header of a handshake message, and all of a ClientHello so far.
    private var message: [UInt8] = []
    /// The bytes left of another message.
    private var skipped = 0
    /// Whether handshake records may be encrypted.
    private var mayBeEncrypted = false
    private var count = 0

    package init() {}

    /// Whether nothing more is found.
    package var isDone: Bool { count >= Self.countMax }

    /// Takes the next bytes.
    package mutating func follow(_ bytes: Span<UInt8>) -> [Finding] {
        var findings: [Finding] = []
        var i = 0
        while i < bytes.count, !isDone {
            let start = i
            if left > 0 {
                i = min(bytes.count, i + left)
                left -= i - start
                if isHandshake { read(bytes.extracting(start..<i), &findings) }
            } else {
                header.append(bytes[i])
                i += 1
                if !begin() { findings.append(.notTLS) }
            }
            count += i - start
        }
        return findings
    }

    /// Begins a record when its header is whole; returns false when it is no record of TLS.
    private mutating func begin() -> Bool {
        let isTLS = 20...24 ~= header[0] && (header.count < 2 || header[1] == 3)
        guard isTLS else { return end() }
        guard header.count == 5 else { return true }
        left = Int(header[3]) << 8 | Int(header[4])
        guard left <= Self.fragmentMax else { return end() }
        isHandshake = header[0] == 22
        // ChangeCipherSpec, and application data. A ClientHello may go on all the same.
        if header[0] == 20 || header[0] == 23 { mayBeEncrypted = true }
        if mayBeEncrypted, message.first != 1 {
            message = []
            skipped = 0
        }
        header = []
        return true
    }

    private mutating func end() -> Bool {
        count = Self.countMax
        return false
    }

    /// Reads a part of a handshake record.
    private mutating func read(_ fragment: Span<UInt8>, _ findings: inout [Finding]) {
        var i = 0
        while i < fragment.count {
            if skipped > 0 {
                let count = min(skipped, fragment.count - i)
                skipped -= count
                i += count
                continue
            }
            let whole =
                message.count < Self.headerCount ? Self.headerCount : Self.headerCount + length
            let next = min(fragment.count, i + whole - message.count)
            message.append(copying: fragment.extracting(i..<next))
            i = next
            guard message.count >= Self.headerCount else { return }
            if message[0] != 1 {
                skipped = length
                message = []
                // What is encrypted is no message.
                if mayBeEncrypted { return leaveRecord() }
            } else if length > ClientHello.countMax {
                findMessage(.unreadable, &findings)
                return leaveRecord()
            } else if message.count == Self.headerCount + length {
                findMessage(
                    ClientHello.body(message.span.extracting(Self.headerCount..<message.count)),
                    &findings
                )
            }
        }
    }

    /// Reads no more of the record.
    private mutating func leaveRecord() {
        skipped = 0
        isHandshake = false
    }

    /// The length of the message.
    private var length: Int { Int(message[1]) << 16 | Int(message[2]) << 8 | Int(message[3]) }

    private mutating func findMessage(
        _ reading: ClientHello.Reading,
        _ findings: inout [Finding]
    ) {
        message = []
        switch reading {
        case .hello(let hello): findings.append(.hello(hello))
        case .unreadable, .needsMore, .notTLS: if !mayBeEncrypted { findings.append(.unreadable) }
        }
    }
}
