// Matches requests against the fields that a stored response's Vary names (RFC 9111 §4.1).

package import LupinCore
package import LupinPolicy

/// The nominated fields of one request, normalised, for comparison with another request.
///
/// §4.1 lets caches normalise as far as the meaning is kept: lines of one field are joined, and
/// spaces around commas and at both ends are dropped. Members are not sorted, because their order
/// matters when weights are equal.
package struct VaryKey: Sendable, Hashable {
    /// The maximum number of names; more make the response match nothing, as `*` does.
    package static let namesMax = 32

    /// The separator between values; no field value may hold it.
    private static let end: UInt8 = 0

    /// Names in lower case, sorted, without duplicates.
    package let names: [String]
    private let known: [FieldName]
    /// For each name: 1 and the normalised value, or 0 when the request had no such line; then
    /// `end`.
    private let values: [UInt8]

    /// For a response without Vary, which matches all requests.
    package static let empty = VaryKey(names: [], request: FieldSection())

    /// The key of a response and its request; nil when no request may have the response.
    package init?(of response: FieldSection, request: FieldSection, policy: CachePolicy) {
        guard !policy.ignored.contains(.vary), response.names.contains(.vary) else {
            self = VaryKey.empty
            return
        }
        var names: [String] = []
        response.forEachMember(of: .vary) { names.append(String(copying: $0).lowercased()) }
        names = Set(names).sorted()
        // An invalid name has no value in a request: it may have meant any (RFC 9110 §12.5.5).
        guard !names.contains("*"), names.count <= VaryKey.namesMax,
            names.allSatisfy({ $0.utf8.allSatisfy(\.isTokenByte) })
        else { return nil }
        self.init(names: names, request: request)
    }

    /// The values of `request` for `names`, which are in lower case.
    package init(names: [String], request: FieldSection) {
        self.names = names
        known = names.map { FieldName($0.utf8.span) }
        var values: [UInt8] = []
        for (name, known) in zip(names, known) {
            if request.hasLine(name, known) { values.append(1) } else { values.append(0) }
            var reader = NormalValueReader(name, known)
            while let byte = reader.next(in: request) { values.append(byte) }
            values.append(VaryKey.end)
        }
        self.values = values
    }

    /// The argument of `init(names:encodedValues:)`.
    package var encodedValues: [UInt8] { values }

    /// The key with values as read from a store; nil when they don't fit the names.
    package init?(names: [String], encodedValues: [UInt8]) {
        var rest = encodedValues[...]
        for _ in names {
            guard let isThere = rest.popFirst(), isThere <= 1,
                let end = rest.firstIndex(of: VaryKey.end), isThere == 1 || end == rest.startIndex
            else { return nil }
            rest = rest[(end + 1)...]
        }
        guard rest.isEmpty else { return nil }
        self.names = names
        known = names.map { FieldName($0.utf8.span) }
        values = encodedValues
    }

    /// Whether Vary contains `*`, alone or among names.
    package static func isAny(_ response: FieldSection) -> Bool { response.lists("*", in: .vary) }

    /// Whether a request has the same values; makes no allocation.
    package func matches(_ request: FieldSection) -> Bool {
        if names.isEmpty { return true }
        var position = 0
        for i in names.indices {
            let isThere = request.hasLine(names[i], known[i])
            guard (values[position] == 1) == isThere else { return false }
            position += 1
            if isThere {
                var reader = NormalValueReader(names[i], known[i])
                while let byte = reader.next(in: request) {
                    // A value without an end differs at the latest where the stored one ends.
                    guard byte == values[position], byte != VaryKey.end else { return false }
                    position += 1
                }
            }
            guard values[position] == VaryKey.end else { return false }
            position += 1
        }
        return true
    }

    /// Whether it is the key that a response gets here for a request, and so matches it.
    func isKey(
        of response: FieldSection,
        request: FieldSection,
        policy: CachePolicy
    ) -> Bool {
        if names.isEmpty, !response.names.contains(.vary) { return true }
        return matches(request)
            && self == VaryKey(of: response, request: request, policy: policy)
    }

    package static func == (a: Self, b: Self) -> Bool {
        a.values == b.values && a.names == b.names
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(names)
        hasher.combine(values)
    }
}

extension VaryKey {
    /// The names with their normalised values; nil for a field that the request did not have.
    package var selectors: [(name: String, value: [UInt8]?)] {
        var rest = values[...]
        return names.map { name in
            let isThere = rest.popFirst() == 1
            let value = rest.prefix { $0 != VaryKey.end }
            rest = rest.dropFirst(value.count + 1)
            return (name, isThere ? Array(value) : nil)
        }
    }
}

extension VaryKey: CustomStringConvertible {
    /// Names only: a value may be a credential.
    package var description: String { names.joined(separator: ", ") }
}

extension FieldSection {
    fileprivate func hasLine(_ name: String, _ known: FieldName) -> Bool {
        if known != .other { return first(known) != nil }
        for line in lines where line.known == .other && nameEquals(line, name.utf8.span) {
            return true
        }
        return false
    }
}

/// Reads the bytes of a field's normalised value one by one, without allocating it.
private struct NormalValueReader {
    private let name: String
    private let known: FieldName
    /// Language tags (RFC 5646 §2.1.1), codings and charsets are case-insensitive.
    private let foldsCase: Bool
    private var line = -1
    private var position = 0
    private var isQuoted = false
    private var isEscaped = false
    /// A comma between two lines is due.
    private var isBetween = false
    /// Skipped spaces, which count unless a comma or the end follows.
    private var spaces = 0

    init(_ name: String, _ known: FieldName) {
        self.name = name
        self.known = known
        foldsCase =
            known == .acceptEncoding || name == "accept-language" || name == "accept-charset"
    }

    mutating func next(in fields: FieldSection) -> UInt8? {
        if line < 0, !advance(in: fields) { return nil }
        while true {
            let value = fields.storage.span.extracting(fields.lines[line].value.range)
            if isBetween {
                isBetween = false
                isQuoted = false
                isEscaped = false
                skipSpaces(in: value)
                return 0x2C
            }
            if spaces > 0 {
                spaces -= 1
                return 0x20
            }
            guard position < value.count else {
                guard advance(in: fields) else {
                    line = fields.lines.count
                    return nil
                }
                isBetween = true
                continue
            }
            let byte = value[position]
            position += 1
            if isQuoted {
                if isEscaped {
                    isEscaped = false
                } else if byte == 0x5C {
                    isEscaped = true
                } else if byte == 0x22 {
                    isQuoted = false
                }
                return byte
            }
            switch byte {
            case 0x22:
                isQuoted = true
                return byte
            case 0x2C:
                skipSpaces(in: value)
                return byte
            case 0x20, 0x09:
                // Kept unless a comma or the end follows.
                let start = position - 1
                skipSpaces(in: value)
                if position < value.count, value[position] != 0x2C { spaces = position - start }
            default: return foldsCase ? byte.asciiLowercased : byte
            }
        }
    }

    private mutating func skipSpaces(in value: Span<UInt8>) {
        while position < value.count, value[position] == 0x20 || value[position] == 0x09 {
            position += 1
        }
    }

    /// Moves to the next line of the field, behind leading spaces.
    private mutating func advance(in fields: FieldSection) -> Bool {
        var i = max(line, -1) + 1
        while i < fields.lines.count {
            let candidate = fields.lines[i]
            if candidate.known == known,
                known != .other || fields.nameEquals(candidate, name.utf8.span)
            {
                line = i
                position = 0
                skipSpaces(in: fields.storage.span.extracting(candidate.value.range))
                return true
            }
            i += 1
        }
        return false
    }
}
