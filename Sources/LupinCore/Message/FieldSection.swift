// The field lines of one message: a table of offsets into the bytes they were parsed from.

/// The fields of a head or of trailers, in order, with duplicates kept (RFC 9110 §5).
///
/// A line is four numbers that refer to `storage`, which holds the bytes as received, followed by
/// the bytes that lupin added. So reading a field allocates nothing, and a copy of the section
/// costs two retains until it is changed.
public struct FieldSection: Sendable {
    /// One field line.
    @usableFromInline package struct Line: Sendable {
        @usableFromInline package var name: ByteRange
        @usableFromInline package var value: ByteRange
        @usableFromInline package var known: FieldName
        /// Whether the line belongs to its connection and must not be forwarded (RFC 9110 §7.6.1).
        @usableFromInline package var isHopByHop = false
        /// Whether the line in `storage` is `name: value CRLF` exactly, so it can be sent
        /// unchanged.
        @usableFromInline package var isContiguous = false
        /// Whether no table of HTTP/2 may keep the line on its way (RFC 7541 §7.1.3).
        @usableFromInline package var isNeverIndexed = false

        @inlinable @inline(__always)
        package init(name: ByteRange, value: ByteRange, known: FieldName, isContiguous: Bool) {
            self.name = name
            self.value = value
            self.known = known
            self.isContiguous = isContiguous
        }
    }

    /// The bytes that `lines` refer to.
    ///
    /// Offsets stay valid as long as bytes are only appended.
    @usableFromInline package var storage: [UInt8]
    /// The lines; code that adds one must add its name to `names`.
    @usableFromInline package var lines: [Line]
    /// A superset of the known names of all lines: removed lines may remain in it.
    ///
    /// A name that is not in it need not be searched for.
    @usableFromInline package var names: FieldNameSet

    /// An empty section.
    @inlinable public init() {
        storage = []
        lines = []
        names = FieldNameSet()
    }

    /// Whether there are no lines.
    public var isEmpty: Bool { lines.isEmpty }

    /// Removes all lines and keeps the memory for the next message.
    package mutating func removeAll() {
        storage.removeAll(keepingCapacity: true)
        lines.removeAll(keepingCapacity: true)
        names = FieldNameSet()
    }
}

// MARK: Reading

extension FieldSection {
    /// The value of the first line called `name`; nil if there is none.
    public func value(of name: String) -> String? { values(of: name).first }

    /// The values of all lines called `name`, in order; case is ignored.
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

    /// The first line of a known field; nil if there is none, which costs a look at `names`.
    @inlinable @inline(__always) package func first(_ known: FieldName) -> Line? {
        names.contains(known) ? find(known) : nil
    }

    @usableFromInline func find(_ known: FieldName) -> Line? {
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

    package func nameEquals(_ line: Line, _ name: Span<UInt8>) -> Bool {
        Int(line.name.count) == name.count
            && storage.span.extracting(line.name.range).equalsIgnoringCase(name)
    }
}

// MARK: Changing

extension FieldSection {
    /// Appends a line.
    public mutating func add(name: String, value: String) {
        lines.append(makeLine(name: name, value: value))
    }

    /// Appends a line of a known field with a number.
    package mutating func add(_ name: FieldName, decimal: UInt64) {
        lines.append(makeLine(name, decimal: decimal))
    }

    /// A copy with room for more lines and their bytes: without that, adding them copies it again.
    package func copy(linesToAdd: Int, bytesToAdd: Int) -> FieldSection {
        var copy = FieldSection()
        copy.storage = Array(capacity: storage.count + bytesToAdd) { output in
            output.append(copying: storage.span)
        }
        copy.lines = Array(capacity: lines.count + linesToAdd) { output in
            for line in lines { output.append(line) }
        }
        copy.names = names
        return copy
    }

    /// Replaces all lines called `name` with one line, at the position of the first.
    public mutating func set(name: String, value: String) {
        set(makeLine(name: name, value: value), name)
    }

    /// The same with an ``OctetText``.
    package mutating func set(name: String, octets: String) {
        let bytes = OctetText.bytes(octets)
        let known = FieldName(name.utf8Span.span)
        set(makeLine(name: name.utf8Span.span, value: bytes.span, known: known), name)
    }

    private mutating func set(_ line: Line, _ name: String) {
        let wanted = Array(name.utf8)
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

    /// Removes all lines called `name`.
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

    /// Appends `text` to the storage and returns its range.
    package mutating func store(_ text: String) -> ByteRange {
        let start = storage.count
        storage.append(contentsOf: text.utf8)
        return ByteRange(start..<storage.count)
    }

    /// Makes a line at the end of the storage, and adds its name to `names`.
    package mutating func makeLine(name: String, value: String) -> Line {
        let name = name.utf8Span.span
        let known = FieldName(name)
        return makeLine(name: name, value: value.utf8Span.span, known: known)
    }

    /// The same for a known field with a number.
    package mutating func makeLine(_ name: FieldName, decimal: UInt64) -> Line {
        var digits: [UInt8] = []
        digits.append(decimal: decimal)
        let spelling = name.spelling
        return makeLine(name: spelling.utf8Span.span, value: digits.span, known: name)
    }

    /// The same for a name that is known already.
    package mutating func makeLine(
        name: Span<UInt8>,
        value: Span<UInt8>,
        known: FieldName
    ) -> Line {
        let start = storage.count
        // At once: the array is looked at once for all that is added.
        storage.append(addingCapacity: name.count + value.count + 4) { output in
            output.append(copying: name)
            output.append(0x3A)
            output.append(0x20)
            output.append(copying: value)
            output.append(0x0D)
            output.append(0x0A)
        }
        names.insert(known)
        let valueStart = start + name.count + 2
        return Line(
            name: ByteRange(start: start, count: name.count),
            value: ByteRange(start: valueStart, count: value.count),
            known: known,
            isContiguous: true
        )
    }
}
