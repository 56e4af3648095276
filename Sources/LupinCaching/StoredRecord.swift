// The serialized facts of a stored response on disk; derived values are not stored.

import LupinCore
package import LupinPolicy

extension StoredResponse {
    /// The version mark at the start of `encoded`; other versions are not read.
    private static let form = "lupin-1"

    /// The facts as bytes, for a store that outlives the process.
    ///
    /// Lines that end with CR LF, which no part contains: version, status and both times in
    /// microseconds since 1970; the names of Vary; their values; then the field lines.
    package var encoded: [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(fields.storage.count + 128)
        let numbers = "\(status) \(requestTimeUs) \(freshness.responseTimeUs)"
        bytes += "\(Self.form) \(numbers)\r\n".utf8
        bytes += vary.names.joined(separator: ",").utf8
        bytes += Self.lineEnd
        bytes += vary.encodedValues
        bytes += Self.lineEnd
        for line in fields.lines {
            bytes.append(copying: fields.storage.span.extracting(line.name.range))
            bytes += ": ".utf8
            bytes.append(copying: fields.storage.span.extracting(line.value.range))
            bytes += Self.lineEnd
        }
        return bytes
    }

    /// Parses the result of `encoded`; nil when it is invalid.
    ///
    /// - Parameters:
    ///   - encoded: The bytes from the store.
    ///   - length: The length of the body, which is complete.
    ///   - policy: The policy of the cache.
    package init?(encoded: Span<UInt8>, length: UInt64, policy: CachePolicy) {
        var lines = LineReader(encoded)
        guard let first = lines.next(), let names = lines.next(), let values = lines.next() else {
            return nil
        }
        var line = WordReader(encoded.extracting(first))
        guard line.skip(Self.form), let status = line.number(), (200...999).contains(status),
            let requestTimeUs = line.number(), let responseTimeUs = line.number(), line.isAtEnd,
            let vary = VaryKey(encoded.extracting(names), encoded.extracting(values)),
            // Never stored now; earlier versions did.
            status != 407
        else { return nil }
        var head = ResponseHead(status: UInt16(truncatingIfNeeded: status))
        guard let fields = FieldSection(lines: encoded.extracting(lines.rest)) else { return nil }
        head.fields = fields
        self.init(
            head,
            vary: vary,
            content: HeldContent(complete: length),
            policy: policy,
            requestTimeUs: requestTimeUs,
            responseTimeUs: responseTimeUs,
            isApart: true
        )
    }

    /// Why a response with secrets must not be stored in a file; nil when it may be.
    ///
    /// A response selected by credentials has them in its Vary values, and one that sets cookies
    /// has them in its fields. The names are those whose values no record shows.
    package var diskRefusal: NoStoreReason? {
        for line in fields.lines
        where Self.secretFields.contains(fields.storage.span.extracting(line.name.range)) {
            return line.known == .setCookie ? .setCookie : .authorization
        }
        let isSelected = vary.names.contains { Self.secretSelectors.contains($0.utf8.span) }
        return isSelected ? .authorization : nil
    }

    /// Of response fields only exact names: `Surrogate-Key` is no secret.
    private static let secretFields = NameSet(SecretNames.everywhere.filter { !$0.contains("*") })
    private static let secretSelectors = SecretNames.set()

    private static let lineEnd: [UInt8] = [0x0D, 0x0A]
}

extension VaryKey {
    /// Parses the names, which commas separate, and the values of `encoded`.
    fileprivate init?(_ names: Span<UInt8>, _ values: Span<UInt8>) {
        // Most responses have none.
        if names.isEmpty, values.isEmpty {
            self = .empty
            return
        }
        let listed = String(copying: names).split(separator: ",")
        self.init(names: listed.map(String.init), encodedValues: [UInt8](copying: values))
    }
}

extension FieldSection {
    /// Parses field lines of `encoded`; nil when they are invalid.
    fileprivate init?(lines text: Span<UInt8>) {
        self.init()
        // With room for the Content-Length that `whole` adds.
        storage.reserveCapacity(text.count + 40)
        storage.append(copying: text)
        // Most lines are longer.
        lines.reserveCapacity(text.count / 24 + 1)
        var reader = LineReader(text)
        while let range = reader.next() {
            let line = text.extracting(range)
            let colon = line.offset(of: 0x3A)
            guard colon > 0, colon + 1 < line.count, line[colon + 1] == 0x20 else { return nil }
            let start = range.lowerBound
            let known = FieldName(line.extracting(0..<colon))
            lines.append(
                Line(
                    name: ByteRange(start..<(start + colon)),
                    value: ByteRange((start + colon + 2)..<range.upperBound),
                    known: known,
                    isContiguous: true
                )
            )
            names.insert(known)
        }
        guard reader.rest.isEmpty else { return nil }
    }
}

/// Reads words with one space between them.
private struct WordReader: ~Escapable {
    private let bytes: Span<UInt8>
    private var position = 0

    @_lifetime(copy bytes)
    init(_ bytes: Span<UInt8>) { self.bytes = bytes }

    /// Whether there is no further word.
    var isAtEnd: Bool { position > bytes.count }

    /// The next word, read as a number; nil when it is none.
    mutating func number() -> Int64? { NumberReader.signed(bytes.extracting(next())) }

    /// Passes the next word; false when it is another one.
    mutating func skip(_ word: String) -> Bool {
        bytes.extracting(next()).equals(word.utf8.span)
    }

    private mutating func next() -> Range<Int> {
        let start = min(position, bytes.count)
        var end = start
        while end < bytes.count, bytes[end] != 0x20 { end += 1 }
        position = end + 1
        return start..<end
    }
}

/// Reads lines that end with CR LF.
private struct LineReader: ~Escapable {
    private let bytes: Span<UInt8>
    private var position = 0

    @_lifetime(copy bytes)
    init(_ bytes: Span<UInt8>) { self.bytes = bytes }

    /// The bytes behind the lines read so far.
    var rest: Range<Int> { position..<bytes.count }

    /// The next line without its end; nil when there is none.
    mutating func next() -> Range<Int>? {
        let start = position
        var end = start
        while end < bytes.count {
            end += bytes.extracting(end...).offset(of: 0x0D)
            if end + 1 < bytes.count, bytes[end + 1] == 0x0A {
                position = end + 2
                return start..<end
            }
            end += 1
        }
        return nil
    }
}
