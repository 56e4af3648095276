// Decodes the chunked transfer coding in place (RFC 9112 §7.1), with limits.
package import LupinCore

/// Removes the chunk framing from a body and keeps the trailers.
///
/// Stricter than the grammar where leniency enables request smuggling: in requests no whitespace
/// before `;` or CR (§7.1.1 has it, and no sender of today), and no bare LF. Responses of old
/// servers have padded sizes; what else is read over in them is a flaw, as in heads. Leading zeros
/// beyond the first count like an extension.
///
///     size → padding → extension → sizeLineFeed → data → dataCarriageReturn → dataLineFeed → …
///                                       └→ (size 0) trailers → complete
package final class ChunkedDecoder {
    /// The most extension bytes on one chunk line.
    package static let extensionBytesMax = 4096
    /// The most extension bytes in a whole body beyond the number of its payload bytes.
    package static let extensionSurplusMax: UInt64 = 16384

    private enum Phase: UInt8 {
        case size, padding, chunkExtension, sizeLineFeed, data, dataCarriageReturn, dataLineFeed
        case trailers, complete
    }

    private let side: MessageSide
    /// Whether flaws of a response are read over.
    private let isLenient: Bool
    private var phase = Phase.size
    private var hasDigits = false
    private var size: UInt64 = 0
    private var extensionBytes = 0
    private var extensionTotal: UInt64 = 0
    private var payloadTotal: UInt64 = 0
    private var scanner: HeadScanner
    /// What is wrong behind the payload that was decoded last.
    private var failure: MessageProblem?
    /// What was read over in this body so far.
    package private(set) var flaws = ResponseFlaws()
    /// The fields after the last chunk; empty until the body is complete.
    package private(set) var trailers = FieldSection()

    package init(side: MessageSide, limits: HTTP1Limits) {
        self.side = side
        isLenient = side == .response && !limits.isStrict
        scanner = HeadScanner(side: side, limits: limits, isTrailers: true)
    }

    package var isComplete: Bool { phase == .complete }

    /// Prepares for another body after a complete one.
    func restart() {
        precondition(isComplete, "a decoder is used again only after a complete body")
        phase = .size
        extensionTotal = 0
        payloadTotal = 0
        trailers = FieldSection()
        flaws = ResponseFlaws()
    }

    /// Decodes all available bytes and moves the payload to the front of `bytes`.
    ///
    /// - Returns: How many bytes were consumed (all of them unless the body ended before), and how
    ///   many bytes of payload are now at the front.
    /// - Throws: What is wrong; behind payload of a response, the next call does.
    package func decode(
        _ bytes: inout MutableSpan<UInt8>
    ) throws(MessageProblem) -> (consumed: Int, produced: Int) {
        if let failure { throw failure }
        var i = 0
        var produced = 0
        do throws(MessageProblem) {
            while i < bytes.count, phase != .complete { try decode(&bytes, &i, &produced) }
        } catch {
            // A client gets what came of its response; of a request nothing more goes on.
            guard produced > 0, side == .response else { throw error }
            failure = error
        }
        return (i, produced)
    }

    private func decode(
        _ bytes: inout MutableSpan<UInt8>,
        _ i: inout Int,
        _ produced: inout Int
    ) throws(MessageProblem) {
        switch phase {
        case .data:
            let count = Int(min(size, UInt64(bytes.count - i)))
            bytes.moveBytes(from: i, to: produced, count: count)
            i += count
            produced += count
            size -= UInt64(count)
            if size == 0 { phase = .dataCarriageReturn }
        case .trailers:
            let (taken, isRead) = try scanner.feed(bytes.span.extracting(i...))
            i += taken
            guard isRead else { break }
            flaws.formUnion(scanner.flaws)
            trailers = scanner.takeFields()
            phase = .complete
        default:
            try readFraming(bytes[i])
            i += 1
        }
    }

    /// Parses one byte of the framing around the data.
    private func readFraming(_ byte: UInt8) throws(MessageProblem) {
        switch phase {
        case .size: try readSize(byte)
        case .padding: try readSizeEnd(byte)
        case .chunkExtension:
            if byte == 0x0D {
                phase = .sizeLineFeed
                return
            }
            if endsLine(byte) { return beginChunk() }
            guard byte.isFieldValueByte else {
                throw problem(byte == 0x0A ? .bareLineFeed : .controlByte)
            }
            try countExtension()
        case .sizeLineFeed:
            guard byte == 0x0A else { throw problem(.bareCarriageReturn) }
            beginChunk()
        case .dataCarriageReturn:
            if endsLine(byte) {
                phase = .size
                return
            }
            guard byte == 0x0D else { throw problem(.missingChunkEnd) }
            phase = .dataLineFeed
        case .dataLineFeed:
            guard byte == 0x0A else { throw problem(.missingChunkEnd) }
            phase = .size
        case .data, .trailers, .complete: break
        }
    }

    private func readSize(_ byte: UInt8) throws(MessageProblem) {
        let digit = byte.hexadecimalDigit
        if digit < 16 {
            if hasDigits, size == 0 { try countExtension() }
            let larger = NumberReader.adding(
                digit,
                to: size,
                radix: 16,
                max: FramingFields.lengthMax
            )
            guard let larger else { throw problem(.chunkTooLarge) }
            hasDigits = true
            size = larger
            return
        }
        guard hasDigits else {
            throw problem(byte == 0x0A ? .bareLineFeed : .invalidChunkSize)
        }
        try readSizeEnd(byte)
    }

    /// Parses what may follow the digits.
    private func readSizeEnd(_ byte: UInt8) throws(MessageProblem) {
        switch byte {
        case 0x0D: phase = .sizeLineFeed
        case 0x3B:
            phase = .chunkExtension
            try countExtension()
        case 0x0A:
            guard endsLine(byte) else { throw problem(.bareLineFeed) }
            beginChunk()
        case 0x20, 0x09:
            guard side == .response else { throw problem(.invalidChunkSize) }
            phase = .padding
            try countExtension()
        default: throw problem(.invalidChunkSize)
        }
    }

    /// Whether a byte ends a line although no CR precedes it; notes the flaw.
    private func endsLine(_ byte: UInt8) -> Bool {
        guard isLenient, byte == 0x0A else { return false }
        flaws.insert(.lineFeed)
        return true
    }

    /// Extensions are dropped; the limit keeps a flood of them from being cheaper than a body.
    private func countExtension() throws(MessageProblem) {
        extensionBytes += 1
        extensionTotal += 1
        guard extensionBytes <= ChunkedDecoder.extensionBytesMax,
            extensionTotal <= payloadTotal.addingClamped(ChunkedDecoder.extensionSurplusMax)
        else { throw problem(.chunkExtensionTooLong) }
    }

    private func beginChunk() {
        phase = size == 0 ? .trailers : .data
        payloadTotal = payloadTotal.addingClamped(size)
        hasDigits = false
        extensionBytes = 0
    }

    private func problem(_ reason: MessageProblem.Reason) -> MessageProblem {
        MessageProblem(side, reason)
    }
}

extension UInt64 {
    /// The sum, or the greatest number on overflow.
    fileprivate func addingClamped(_ other: UInt64) -> UInt64 {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? .max : sum
    }
}
