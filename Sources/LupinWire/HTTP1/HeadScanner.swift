// Finds the lines of a head or of trailers, in bytes that arrive in arbitrary pieces.
import LupinCore

/// Splits a head into its start line and field lines; does not interpret fields.
///
/// The result for the first n bytes depends on those bytes alone, not on how they were split: each
/// byte is scanned once, and a limit is hit at the same byte whether or not more bytes are there.
///
///     startLine → startLineFeed → lineStart → name → colon → beforeValue → value → lineFeed
///                                     ↑  └→ lastLineFeed → complete                    │
///                                     └────────────────────────────────────────────────┘
struct HeadScanner {
    private enum Phase: UInt8 {
        case startLine, startLineFeed, lineStart, name, colon, beforeValue, value, lineFeed
        case lastLineFeed, complete
    }

    /// The end and the spaces of the start line.
    struct StartLine: Sendable {
        var end = 0
        var spaces = 0
        var firstSpace = 0
        var lastSpace = 0
        /// The target has bytes beyond ASCII.
        var isEncodingDue = false
    }

    /// The field line being scanned.
    private struct OpenLine: Sendable {
        var nameStart = 0
        var nameEnd = 0
        var valueStart = 0
        /// The end of the value before a fold, and where to stop trimming.
        var foldedEnd = 0
        var trimFloor = 0
        /// Where its CRLF begins, or the LF that stands for it.
        var valueEnd = 0
        var isFolded = false
    }

    let side: MessageSide
    private let isTrailers: Bool
    private let startLineBytes: Int
    private let sectionBytes: Int
    private let fieldsMax: Int
    /// Field lines beyond this number are a flaw.
    private let regularFields: Int
    /// Whether flaws of a response are read over.
    private let isLenient: Bool
    private let table = FieldName.table

    /// Bytes and lines so far; ranges are relative to the first byte of the head.
    private(set) var fields = FieldSection()
    private(set) var startLine = StartLine()
    private var phase: Phase
    private var position = 0
    private var sectionStart = 0
    private var open = OpenLine()
    private var hasFolds = false
    /// What is wrong with the head so far.
    private(set) var flaws = ResponseFlaws()

    init(side: MessageSide, limits: HTTP1Limits, isTrailers: Bool = false) {
        self.side = side
        self.isTrailers = isTrailers
        startLineBytes = isTrailers ? 0 : limits.requestLineBytes
        sectionBytes = isTrailers ? limits.trailerBytes : limits.headerBytes
        isLenient = side == .response && !limits.isStrict
        regularFields = limits.headerFields
        fieldsMax = isLenient ? limits.responseFields : limits.headerFields
        phase = isTrailers ? .lineStart : .startLine
    }

    private var isComplete: Bool { phase == .complete }

    /// Scans to the end of the head at most, and returns how many bytes were consumed.
    ///
    /// Returns both results at once: a query of a scanner inside a class would copy the scanner.
    mutating func feed(
        _ bytes: Span<UInt8>
    ) throws(MessageProblem) -> (taken: Int, isComplete: Bool) {
        guard !isComplete else { return (0, true) }
        let taken = try take(bytes)
        guard isComplete else { return (taken, false) }
        if hasFolds || flaws.contains(.control) { blank() }
        if fields.lines.count > regularFields { flaws.insert(.fields) }
        return (taken, true)
    }

    private mutating func take(_ bytes: Span<UInt8>) throws(MessageProblem) -> Int {
        let before = fields.storage.count
        if before == 0 {
            do throws(MessageProblem) {
                try scan(bytes)
            } catch {
                // Kept although they are refused: the method is among them.
                fields.storage.appendBulk(bytes)
                throw error
            }
            let taken = isComplete ? position : bytes.count
            fields.storage.appendBulk(bytes.extracting(first: taken))
            return taken
        }
        // One byte more than all limits together: then a limit is exceeded, or the head is
        // complete.
        let room = startLineBytes &+ sectionBytes &+ 1 &- before
        var storage: [UInt8] = []
        swap(&storage, &fields.storage)
        storage.appendBulk(bytes.extracting(first: room))
        // Without `defer`, and a question to a method: either would copy the scanner.
        do throws(MessageProblem) {
            try scan(storage.span)
        } catch {
            swap(&storage, &fields.storage)
            throw error
        }
        let surplus = isComplete ? storage.count - position : 0
        let taken = storage.count - before - surplus
        storage.removeLast(surplus)
        swap(&storage, &fields.storage)
        return taken
    }

    /// Whether the start line under way is none of HTTP/1, whatever else comes.
    var isForeign: Bool {
        guard phase == .startLine else { return false }
        return !zip(fields.storage, "HTTP/".utf8).allSatisfy { $0 == $1 }
    }

    /// The method of the request under way or refused; nil until the space behind it has come.
    var method: Method? {
        guard startLine.spaces > 0 else { return nil }
        return RequestLine.method(fields.storage.span.extracting(0..<startLine.firstSpace))
    }

    /// Moves the section out and prepares for the next head.
    mutating func takeFields() -> FieldSection {
        var taken = FieldSection()
        swap(&taken, &fields)
        startLine = StartLine()
        phase = isTrailers ? .lineStart : .startLine
        position = 0
        sectionStart = 0
        hasFolds = false
        flaws = ResponseFlaws()
        return taken
    }
}

// MARK: Memory

extension HeadScanner {
    /// Keeps the memory of `used` for the next head, unless a head is in progress or it is large.
    ///
    /// This keeps idle connections cheap.
    mutating func recycle(_ used: consuming FieldSection) {
        guard fields.storage.capacity == 0, used.storage.capacity <= 2048,
            used.lines.capacity <= 64
        else { return }
        used.removeAll()
        swap(&fields, &used)
    }

    /// Releases the memory kept for the next head, unless that has begun.
    mutating func rest() {
        if fields.storage.isEmpty { fields = FieldSection() }
    }
}

// MARK: Scanning

extension HeadScanner {
    private mutating func scan(_ bytes: Span<UInt8>) throws(MessageProblem) {
        if phase == .startLine || phase == .startLineFeed {
            guard try scanStartLine(bytes) else { return }
        }
        while phase != .complete {
            if phase == .lineStart { scanPlainLines(bytes) }
            guard try scanLine(bytes) else { return }
        }
    }

    private mutating func scanStartLine(_ bytes: Span<UInt8>) throws(MessageProblem) -> Bool {
        let end = min(bytes.count, startLineBytes)
        var i = position
        if phase == .startLine {
            while true {
                i = bytes.endOfVisible(from: i, to: end)
                guard i < end else { return try pause(.startLine, at: i, of: bytes) }
                if bytes[i] == 0x0D || endsLine(bytes[i]) { break }
                try noteStartLine(bytes[i], at: i)
                i &+= 1
            }
            startLine.end = i
            if bytes[i] == 0x0D { i &+= 1 }
        }
        guard i < end else { return try pause(.startLineFeed, at: i, of: bytes) }
        guard bytes[i] == 0x0A else { throw problem(.bareCarriageReturn) }
        position = i &+ 1
        sectionStart = position
        phase = .lineStart
        try checkStartLine(bytes)
        return true
    }

    /// Handles a byte of the start line that is not visible ASCII.
    private mutating func noteStartLine(_ byte: UInt8, at i: Int) throws(MessageProblem) {
        if byte == 0x20 {
            if startLine.spaces == 0 { startLine.firstSpace = i }
            startLine.lastSpace = i
            startLine.spaces &+= 1
            return
        }
        switch side {
        // A reason phrase may contain HTAB and obs-text (RFC 9112 §4).
        case .response where byte >= 0x80 || byte == 0x09: break
        case .response where isReadOver(byte) && i > 0: flaws.insert(.control)
        // Many clients send URLs as people type them; see `RequestHead.encodePath`.
        case .request where byte >= 0x80 && startLine.spaces == 1: startLine.isEncodingDue = true
        case .request, .response: throw startLineProblem(byte, at: i)
        }
    }

    /// Scans one field line, or the empty line at the end; returns false when bytes are missing.
    private mutating func scanLine(_ bytes: Span<UInt8>) throws(MessageProblem) -> Bool {
        let end = min(bytes.count, sectionStart &+ sectionBytes)
        var i = position
        switch phase {
        case .lineStart:
            guard i < end else { return try pause(.lineStart, at: i, of: bytes) }
            let byte = bytes[i]
            if byte == 0x0D || endsLine(byte) {
                return try finish(bytes, at: byte == 0x0D ? i &+ 1 : i, end: end)
            }
            if byte == 0x20 || byte == 0x09 {
                try reopenLine(at: i)
                return true
            }
            guard fields.lines.count < fieldsMax else { throw problem(.tooManyFields) }
            open.nameStart = i
            open.isFolded = false
            fallthrough
        case .name:
            while i < end, bytes[i].isTokenByte || isReadOver(inName: bytes[i]) { i &+= 1 }
            guard i < end else { return try pause(.name, at: i, of: bytes) }
            open.nameEnd = i
            fallthrough
        case .colon:
            // A space before the colon MUST be removed from a response (RFC 9112 §5.1).
            if side == .response { while i < end, bytes[i].isBlank { i &+= 1 } }
            guard i < end else { return try pause(.colon, at: i, of: bytes) }
            guard bytes[i] == 0x3A, open.nameEnd > open.nameStart else {
                throw nameProblem(bytes[i])
            }
            i &+= 1
            fallthrough
        case .beforeValue:
            while i < end, isBlank(bytes[i]) {
                if !bytes[i].isBlank { flaws.insert(.control) }
                i &+= 1
            }
            guard i < end else { return try pause(.beforeValue, at: i, of: bytes) }
            open.valueStart = i
            open.trimFloor = i
            open.foldedEnd = i
            fallthrough
        case .value:
            i = bytes.endOfFieldValue(from: i, to: end)
            while i < end, isReadOver(bytes[i]) {
                flaws.insert(.control)
                i = bytes.endOfFieldValue(from: i &+ 1, to: end)
            }
            guard i < end else { return try pause(.value, at: i, of: bytes) }
            open.valueEnd = i
            if bytes[i] == 0x0D {
                i &+= 1
            } else if !endsLine(bytes[i]) {
                throw problem(bytes[i] == 0x0A ? .bareLineFeed : .controlByte)
            }
            fallthrough
        case .lineFeed:
            guard i < end else { return try pause(.lineFeed, at: i, of: bytes) }
            guard bytes[i] == 0x0A else { throw problem(.bareCarriageReturn) }
            closeLine(bytes)
            position = i &+ 1
            phase = .lineStart
            return true
        case .lastLineFeed:
            return try finish(bytes, at: i, end: end)
        case .startLine, .startLineFeed, .complete:
            return false
        }
    }

    /// Saves the position for the next call, unless the bytes already exceed a limit.
    private mutating func pause(
        _ phase: Phase,
        at i: Int,
        of bytes: Span<UInt8>
    ) throws(MessageProblem) -> Bool {
        guard i == bytes.count else {
            switch phase {
            case .startLine, .startLineFeed: throw problem(.startLineTooLong)
            default: throw problem(isTrailers ? .trailersTooLarge : .headerTooLarge)
            }
        }
        self.phase = phase
        position = i
        return false
    }

    private mutating func finish(
        _ bytes: Span<UInt8>,
        at i: Int,
        end: Int
    ) throws(MessageProblem) -> Bool {
        guard i < end else { return try pause(.lastLineFeed, at: i, of: bytes) }
        guard bytes[i] == 0x0A else { throw problem(.bareCarriageReturn) }
        position = i &+ 1
        phase = .complete
        return true
    }

    /// Scans complete and plain lines, as nearly all are, and stops before any other.
    ///
    /// It rejects nothing: `scanLine` handles the lines that it leaves, with all cases.
    private mutating func scanPlainLines(_ bytes: Span<UInt8>) {
        let end = min(bytes.count, sectionStart &+ sectionBytes)
        // Moved out and back, since the scanner also lends the table for name look-ups.
        var lines: [FieldSection.Line] = []
        var names = fields.names
        swap(&lines, &fields.lines)
        if lines.count == lines.capacity { lines.reserveCapacity(max(24, 2 * lines.count)) }
        let room = max(min(lines.capacity, fieldsMax) - lines.count, 0)
        position = HeadScanner.readPlainLines(
            bytes.extracting(first: end),
            from: position,
            atMost: room,
            into: &lines,
            &names,
            table.lookup
        )
        swap(&lines, &fields.lines)
        fields.names = names
    }

    /// Appends the plain lines of `bytes` and returns the start of the first other one.
    @inline(__always)
    private static func readPlainLines(
        _ bytes: Span<UInt8>,
        from start: Int,
        atMost room: Int,
        into lines: inout [FieldSection.Line],
        _ names: inout FieldNameSet,
        _ known: borrowing FieldNameTable.Lookup
    ) -> Int {
        var i = start
        var found = names
        lines.append(addingCapacity: room) { output in
            while output.freeCapacity > 0, let plain = PlainLine(bytes, from: i, known) {
                output.append(plain.line)
                found.insert(plain.line.known)
                i = plain.end
            }
        }
        names = found
        return i
    }

    private mutating func closeLine(_ bytes: Span<UInt8>) {
        var valueEnd = open.valueEnd
        while valueEnd > open.trimFloor, isBlank(bytes[valueEnd &- 1]) { valueEnd &-= 1 }
        if valueEnd == open.trimFloor { valueEnd = open.foldedEnd }
        let isContiguous =
            open.valueStart == open.nameEnd &+ 2 && bytes[open.nameEnd] == 0x3A
            && bytes[open.nameEnd &+ 1] == 0x20 && valueEnd == open.valueEnd
            && bytes[valueEnd] == 0x0D
        let value = ByteRange(open.valueStart..<valueEnd)
        if open.isFolded {
            let last = fields.lines.count - 1
            fields.lines[last].value = value
            fields.lines[last].isContiguous = isContiguous
            return
        }
        let name = open.nameStart..<open.nameEnd
        let known = table.lookup.name(spelledBy: bytes.extracting(name))
        if isLenient, known == .other, !bytes.extracting(name).isToken { flaws.insert(.name) }
        fields.names.insert(known)
        fields.lines.append(
            FieldSection.Line(
                name: ByteRange(name),
                value: value,
                known: known,
                isContiguous: isContiguous
            )
        )
    }

    /// Continues the previous line: this one begins with a blank (obs-fold, RFC 9112 §5.2).
    private mutating func reopenLine(at i: Int) throws(MessageProblem) {
        guard let line = fields.lines.last else { throw problem(.whitespaceBeforeFirstField) }
        guard side == .response else { throw problem(.obsoleteFold) }
        hasFolds = true
        open.isFolded = true
        open.nameEnd = line.name.upperBound
        open.valueStart = line.value.lowerBound
        open.trimFloor = i
        open.foldedEnd = line.value.upperBound
        // An empty value begins only after the fold.
        phase = line.value.isEmpty ? .beforeValue : .value
        position = i
    }

    /// Replaces every fold inside a value with spaces (RFC 9112 §5.2: “one or more SP octets”), and
    /// every control byte (RFC 9110 §5.5).
    private mutating func blank() {
        for line in fields.lines {
            for i in line.value.range where fields.storage[i].isControlByte {
                fields.storage[i] = 0x20
            }
        }
        for i in 0..<startLine.end where fields.storage[i].isControlByte {
            fields.storage[i] = 0x20
        }
    }
}

// MARK: Flaws

extension HeadScanner {
    /// Whether a byte ends a line although no CR precedes it; notes the flaw.
    private mutating func endsLine(_ byte: UInt8) -> Bool {
        guard isLenient, byte == 0x0A else { return false }
        flaws.insert(.lineFeed)
        return true
    }

    /// Whether a control byte may stand in a value or a reason.
    private func isReadOver(_ byte: UInt8) -> Bool {
        isLenient && byte.isControlByte && byte != 0 && byte != 0x0A && byte != 0x0D
    }

    /// Whether a byte may stand in a name although it is none of a token.
    private func isReadOver(inName byte: UInt8) -> Bool {
        isLenient && byte > 0x20 && byte != 0x7F && byte != 0x3A
    }

    /// Whether a byte at the end of a value is or becomes blank.
    private func isBlank(_ byte: UInt8) -> Bool { byte.isBlank || isReadOver(byte) }
}

extension UInt8 {
    /// Whether it is a control byte other than HTAB.
    fileprivate var isControlByte: Bool { (self < 0x20 && self != 0x09) || self == 0x7F }
}

// MARK: Problems

extension HeadScanner {
    private func problem(_ reason: MessageProblem.Reason) -> MessageProblem {
        MessageProblem(side, reason)
    }

    private func nameProblem(_ byte: UInt8) -> MessageProblem {
        switch byte {
        case 0x0A where !isLenient: problem(.bareLineFeed)
        case 0x0A, 0x0D: problem(.missingColon)
        case 0x20, 0x09: problem(.whitespaceBeforeColon)
        case 0..<0x20, 0x7F: problem(.controlByte)
        default: problem(.invalidFieldName)
        }
    }

    private func startLineProblem(_ byte: UInt8, at i: Int) -> MessageProblem {
        switch byte {
        case 0x0A: problem(.bareLineFeed)
        case 0x16 where i == 0 && side == .request: problem(.tlsInsteadOfHTTP)
        // An alert: what came in clear was no ClientHello to that server.
        case 0x15 where i == 0 && side == .response: problem(.tlsInsteadOfHTTP)
        case 0..<0x20, 0x7F: problem(.controlByte)
        default: problem(startLine.spaces == 0 ? .invalidMethod : .malformedRequestLine)
        }
    }

    private mutating func checkStartLine(_ bytes: Span<UInt8>) throws(MessageProblem) {
        let line = bytes.extracting(0..<startLine.end)
        switch side {
        case .request: try RequestLine.check(line, startLine)
        case .response: try StatusLine.check(line, &flaws, isLenient: isLenient)
        }
    }
}
