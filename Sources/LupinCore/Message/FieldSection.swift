// The field lines of one message: an offset table into the bytes they were parsed from.

/// The fields of a head or of trailers, in order, with duplicates kept (RFC 9110 §5).
///
/// A line is four numbers pointing into `storage`, which holds the bytes as received and, behind
/// them, whatever lupin added. So reading a field allocates nothing and a copy of the section costs
/// two reference counts until somebody changes it.
public struct FieldSection: Sendable {
    /// One field line.
    @usableFromInline package struct Line: Sendable {
        @usableFromInline package var name: ByteRange
        @usableFromInline package var value: ByteRange
        @usableFromInline package var known: FieldName
        /// The line belongs to the connection it came on and goes no further (RFC 9110 §7.6.1).
        @usableFromInline package var isHopByHop = false
        /// In `storage` the line reads `name: value CRLF` exactly, so it can be sent as it lies.
        @usableFromInline package var isContiguous = false

        @inlinable @inline(__always)
        package init(name: ByteRange, value: ByteRange, known: FieldName, isContiguous: Bool) {
            self.name = name
            self.value = value
            self.known = known
            self.isContiguous = isContiguous
        }
    }

    /// The bytes that `lines` point into.
    ///
    /// Offsets stay valid while bytes are only ever appended.
    @usableFromInline package var storage: [UInt8]
    /// The lines; those that are added bring their name into `names`.
    @usableFromInline package var lines: [Line]
    /// The known names of all lines there are, and perhaps of some that were removed: what is not
    /// in here need not be looked for.
    @usableFromInline package var names: FieldNameSet

    /// An empty section.
    @inlinable public init() {
        storage = []
        lines = []
        names = FieldNameSet()
    }

    /// Whether there is no line at all.
    public var isEmpty: Bool { lines.isEmpty }

    /// Forgets everything and keeps the memory for the next message.
    package mutating func removeAll() {
        storage.removeAll(keepingCapacity: true)
        lines.removeAll(keepingCapacity: true)
        names = FieldNameSet()
    }
}

// MARK: Reading

extension FieldSection {
    /// The value of the first line called `name`, or nil.
    public func value(of name: String) -> String? { values(of: name).first }

    /// The values of all lines called `name`, in order; names compare without case.
    public func values(of name: String) -> [String] {
        let wanted = Array(name.utf8)
        return lines.filter { nameEquals($0, wanted.span) }.map { text($0.value) }
    }

    /// Names and values, in order, as text.
    public var pairs: [(name: String, value: String)] {
        lines.map { (name: text($0.name), value: text($0.value)) }
    }

    package func text(_ range: ByteRange) -> String {
        String(copying: storage.span.extracting(range.range))
    }

    package func first(_ known: FieldName) -> Line? {
        guard names.contains(known) else { return nil }
        for line in lines where line.known == known { return line }
        return nil
    }

    package func count(of known: FieldName) -> Int {
        guard names.contains(known) else { return 0 }
        var count = 0
        for line in lines where line.known == known { count += 1 }
        return count
    }

    /// The value of the first line of a known field, as text.
    package func value(of known: FieldName) -> String? {
        first(known).map { text($0.value) }
    }

    /// Whether some line of a known field lists `member`, separated by commas; case is ignored.
    package func lists(_ member: String, in known: FieldName) -> Bool {
        guard names.contains(known) else { return false }
        var found = false
        forEachMember(of: known) { bytes in
            let utf8 = member.utf8
            found = found || bytes.equalsIgnoringCase(utf8.span)
        }
        return found
    }

    /// Calls `body` with each protocol of Upgrade that may be passed on.
    ///
    /// RFC 9113 §3.1 made `h2c` obsolete, of whatever version.
    package func forEachUpgrade(_ body: (Span<UInt8>) -> Void) {
        forEachMember(of: .upgrade) { member in
            var end = 0
            while end < member.count, member[end] != 0x2F { end += 1 }
            let name = member.extracting(..<end)
            if !name.equalsIgnoringCase("h2c".utf8.span) { body(member) }
        }
    }

    /// Calls `body` with each non-empty member of a comma-separated list field (RFC 9110 §5.6.1).
    ///
    /// Commas inside quoted strings do not separate.
    package func forEachMember(of known: FieldName, _ body: (Span<UInt8>) -> Void) {
        guard names.contains(known) else { return }
        for line in lines where line.known == known {
            let value = storage.span.extracting(line.value.range)
            var start = 0
            var i = 0
            var isQuoted = false
            while i <= value.count {
                if i == value.count || (value[i] == 0x2C && !isQuoted) {
                    let member = value.extracting(start..<i)
                    let trimmed = member.trimmedRange
                    if !trimmed.isEmpty { body(member.extracting(trimmed)) }
                    start = i + 1
                } else if value[i] == 0x22 {
                    isQuoted.toggle()
                } else if value[i] == 0x5C, isQuoted, i + 1 < value.count {
                    i += 1
                }
                i += 1
            }
        }
    }

    package func nameEquals(_ line: Line, _ name: Span<UInt8>) -> Bool {
        Int(line.name.count) == name.count
            && storage.span.extracting(line.name.range).equalsIgnoringCase(name)
    }
}

// MARK: Changing

extension FieldSection {
    /// Adds a line behind all others.
    public mutating func add(name: String, value: String) {
        lines.append(makeLine(name: name, value: value))
    }

    /// Replaces every line called `name` by one, at the place of the first.
    public mutating func set(name: String, value: String) {
        let wanted = Array(name.utf8)
        let line = makeLine(name: name, value: value)
        guard let first = lines.firstIndex(where: { nameEquals($0, wanted.span) }) else {
            lines.append(line)
            return
        }
        lines[first] = line
        var i = lines.count - 1
        while i > first {
            if nameEquals(lines[i], wanted.span) { lines.remove(at: i) }
            i -= 1
        }
    }

    /// Removes every line called `name`.
    ///
    /// Returns whether there was one.
    @discardableResult
    public mutating func remove(name: String) -> Bool {
        let wanted = Array(name.utf8)
        let before = lines.count
        let section = self
        lines.removeAll { section.nameEquals($0, wanted.span) }
        return lines.count != before
    }

    /// Puts `bytes` behind the storage and says where they lie.
    package mutating func store(_ text: String) -> ByteRange {
        let start = storage.count
        storage.append(contentsOf: text.utf8)
        return ByteRange(start..<storage.count)
    }

    /// A line at the end of the storage, whose name counts as being there.
    private mutating func makeLine(name: String, value: String) -> Line {
        let nameRange = store(name)
        storage.append(0x3A)
        storage.append(0x20)
        let valueRange = store(value)
        storage.append(0x0D)
        storage.append(0x0A)
        let known = FieldName(storage.span.extracting(nameRange.range))
        names.insert(known)
        return Line(name: nameRange, value: valueRange, known: known, isContiguous: true)
    }
}
