// A stored response as an untrusted server keeps it: signed, with its time and lifetime.

import LupinCore

/// The value of a key in the shared store.
///
/// A client that can write to the server can neither forge an entry nor move one to another key:
/// the signature covers the key. It can put an old entry back under its key, so the age is what the
/// server's clock or `writtenAtUs` says, whichever is more.
package struct SharedEntry: Sendable, Equatable {
    /// What the key holds.
    package enum Content: Sendable, Equatable {
        /// A response: its facts (`StoredResponse.encoded`), which are read once, and its body.
        case response(facts: ArraySlice<UInt8>, body: [UInt8])
        /// The URL has several responses, chosen by these fields of the request; `series` is a part
        /// of their keys.
        case variants(names: [String], series: [UInt8])
    }

    package var content: Content
    /// When it was written, by the clock of the writer, in microseconds since 1970.
    package var writtenAtUs: Int64
    /// How long the server was told to keep it, in milliseconds.
    package var lifetimeMs: Int64

    package init(_ content: Content, writtenAtUs: Int64, lifetimeMs: Int64) {
        self.content = content
        self.writtenAtUs = writtenAtUs
        self.lifetimeMs = lifetimeMs
    }

    /// 32 bytes that can be made only with the team's key.
    package typealias Signature = [32 of UInt8]
    /// Signs a value under a key; nil where that can't be done.
    package typealias Signing = (_ key: [UInt8], _ signed: Span<UInt8>) -> Signature?

    private static let mark = Array("lupin-s1".utf8)
    private static let signatureBytes = 32
    private static let blankSignature = [UInt8](repeating: 0, count: signatureBytes)
    /// Where that begins which the signature covers.
    private static let covered = mark.count + signatureBytes
    private static let headBytes = mark.count + signatureBytes + 1 + 8 + 8 + 4

    /// The bytes that a response needs besides facts and body.
    package static let overheadBytes = headBytes

    /// Every clock of the team is right to this much, in microseconds: 5 minutes.
    package static let clockErrorMaxUs: Int64 = 300_000_000

    // MARK: Bytes

    /// The value to store under `key`.
    ///
    /// `lupin-s1`, the signature, then what it covers besides the key: a kind, two numbers of 64
    /// bits and the count of the first part in 32 bits, all with the least byte first, and the
    /// parts.
    package func encoded(under key: [UInt8], _ sign: Signing) -> [UInt8] {
        let (kind, first, second): (UInt8, ArraySlice<UInt8>, [UInt8]) =
            switch content {
            case .response(let facts, let body): (0x72, facts, body)
            case .variants(let names, let series):
                (0x76, Array(names.joined(separator: ",").utf8)[...], series)
            }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(Self.headBytes + first.count + second.count)
        bytes += Self.mark
        bytes += Self.blankSignature
        bytes.append(kind)
        bytes.append(littleEndian: UInt64(bitPattern: writtenAtUs), bytes: 8)
        bytes.append(littleEndian: UInt64(bitPattern: lifetimeMs), bytes: 8)
        bytes.append(littleEndian: UInt64(first.count), bytes: 4)
        bytes += first
        bytes += second
        if let signature = sign(key, bytes.span.extracting(Self.covered...)) {
            for i in signature.indices { bytes[Self.mark.count + i] = signature[i] }
        }
        return bytes
    }

    /// Reads a value; nil where it is none of the team's, or of another key.
    package init?(_ bytes: [UInt8], under key: [UInt8], _ sign: Signing) {
        guard bytes.count >= Self.headBytes, bytes.starts(with: Self.mark) else { return nil }
        let signature = sign(key, bytes.span.extracting(Self.covered...))
        let claimed = bytes.span.extracting(Self.mark.count..<Self.covered)
        guard let signature, Self.isEqual(signature, claimed) else { return nil }
        let written = bytes.span.word(at: Self.covered + 1)
        let lifetime = bytes.span.word(at: Self.covered + 9)
        // The word before it ends with the same four bytes.
        let firstCount = Int(bytes.span.word(at: Self.covered + 13) &>> 32)
        guard firstCount <= bytes.count - Self.headBytes else { return nil }
        let first = bytes[Self.headBytes..<(Self.headBytes + firstCount)]
        let second = Array(bytes[first.endIndex...])
        switch bytes[Self.covered] {
        case 0x72: content = .response(facts: first, body: second)
        case 0x76:
            let names = String(decoding: first, as: UTF8.self).split(separator: ",")
            content = .variants(names: names.map(String.init), series: second)
        default: return nil
        }
        writtenAtUs = Int64(bitPattern: written)
        lifetimeMs = Int64(bitPattern: lifetime)
    }

    /// Takes as long whatever the difference is.
    private static func isEqual(_ one: Signature, _ other: Span<UInt8>) -> Bool {
        guard other.count == signatureBytes else { return false }
        var difference: UInt8 = 0
        for i in 0..<signatureBytes { difference |= one[i] ^ other[i] }
        return difference == 0
    }

    // MARK: Age

    /// How long ago it was written.
    ///
    /// The server counts the time down, so that machines need not agree about the time of day. A
    /// server that lies about it is caught by the clocks, as far as they can be trusted.
    /// - Parameters:
    ///   - remainingMs: The answer to PTTL.
    ///   - nowUs: The time of day here, in microseconds since 1970.
    /// - Returns: Milliseconds; nil where its time is over.
    package func elapsedMs(remainingMs: Int64, nowUs: Int64) -> Int64? {
        guard remainingMs > 0, lifetimeMs > 0 else { return nil }
        let byServer = max(0, lifetimeMs.subtractingSaturated(remainingMs))
        let byClock = nowUs.subtractingSaturated(writtenAtUs)
            .subtractingSaturated(Self.clockErrorMaxUs)
        let elapsed = max(byServer, byClock / 1000)
        return elapsed < lifetimeMs ? elapsed : nil
    }
}

extension [UInt8] {
    fileprivate mutating func append(littleEndian value: UInt64, bytes: Int) {
        for i in 0..<bytes { append(UInt8(truncatingIfNeeded: value >> UInt64(8 * i))) }
    }
}
