// Finds the values of pointers in a JSON text, in a single pass and without building a tree,
// because the bytes are a peer's.

import LupinCore

/// The value that a pointer refers to.
package enum JSONFinding: Sendable, Equatable {
    case missing
    case object
    case list
    /// The bytes between the quotes, including escapes.
    case string(Range<Int>)
    case number(Range<Int>)
    case bool(Bool)
    case null

    /// The kind of value, for messages that must not show a body.
    package var kindText: String {
        switch self {
        case .missing: "missing"
        case .object: "an object"
        case .list: "a list"
        case .string: "a string"
        case .number: "a number"
        case .bool(let value): "\(value)"
        case .null: "null"
        }
    }

    /// Whether it equals `scalar`; `bytes` are the scanned text.
    package func equals(_ scalar: JSONScalar, in bytes: Span<UInt8>) -> Bool {
        switch (self, scalar) {
        case (.string(let range), .string(let text)):
            JSONText.spells(bytes.extracting(range), text.utf8.span)
        case (.number(let range), .number(let number)):
            JSONNumber(scanned: bytes.extracting(range)) == number
        case (.bool(let value), .bool(let expected)): value == expected
        case (.null, .null): true
        default: false
        }
    }
}

/// Scans one JSON text and records the values of pointers.
package struct JSONScanner {
    /// The number of pointers per scan: one for each bit of a word.
    private static let pointersMax = 64

    private var reader: JSONReader
    private let pointers: ArraySlice<JSONPointer>
    private var findings: [JSONFinding]

    private init(_ pointers: ArraySlice<JSONPointer>, in bytes: Span<UInt8>) {
        reader = JSONReader(bytes)
        self.pointers = pointers
        findings = Array(repeating: .missing, count: pointers.count)
    }

    /// Finds the values of `pointers` in `bytes`; returns nil when they are not one JSON text.
    ///
    /// Of members with the same name the last one is used, as in most parsers.
    package static func find(
        _ pointers: [JSONPointer],
        in bytes: Span<UInt8>
    ) -> [JSONFinding]? {
        guard (try? UTF8Span(validating: bytes)) != nil else { return nil }
        var findings: [JSONFinding] = []
        var start = 0
        repeat {
            let end = min(start + pointersMax, pointers.count)
            var scanner = JSONScanner(pointers[start..<end], in: bytes)
            let all = end - start == 64 ? UInt64.max : 1 &<< UInt64(end - start) &- 1
            guard scanner.value(bytes, depth: 0, all), scanner.reader.isAtEnd(bytes) else {
                return nil
            }
            findings += scanner.findings
            start = end
        } while start < pointers.count
        return findings
    }

    /// Takes a value that the first `depth` tokens of the pointers in `active` lead to.
    private mutating func value(_ bytes: Span<UInt8>, depth: Int, _ active: UInt64) -> Bool {
        guard let token = reader.value(bytes, depth: depth) else { return false }
        let found: JSONFinding
        switch token {
        case .object:
            guard object(bytes, depth: depth, active) else { return false }
            found = .object
        case .list:
            guard list(bytes, depth: depth, active) else { return false }
            found = .list
        case .string(let range): found = .string(range)
        case .number(let range): found = .number(range)
        case .bool(let value): found = .bool(value)
        case .null: found = .null
        }
        var rest = active
        while let index = JSONScanner.next(&rest) {
            if tokens(index).count == depth { findings[index] = found }
        }
        return true
    }

    private mutating func object(_ bytes: Span<UInt8>, depth: Int, _ active: UInt64) -> Bool {
        var isFirst = true
        while let hasMore = reader.hasMore(bytes, until: 0x7D, isFirst: isFirst) {
            guard hasMore else { return true }
            isFirst = false
            guard let name = reader.name(bytes) else { return false }
            var next: UInt64 = 0
            var rest = active
            while let index = JSONScanner.next(&rest) {
                let tokens = tokens(index)
                guard tokens.count > depth else { continue }
                let wanted = tokens[depth].name
                guard JSONText.spells(bytes.extracting(name), wanted.span) else { continue }
                next |= 1 &<< UInt64(index)
                // The value of an earlier member with this name no longer counts.
                findings[index] = .missing
            }
            guard value(bytes, depth: depth + 1, next) else { return false }
        }
        return false
    }

    private mutating func list(_ bytes: Span<UInt8>, depth: Int, _ active: UInt64) -> Bool {
        var element = 0
        while let hasMore = reader.hasMore(bytes, until: 0x5D, isFirst: element == 0) {
            guard hasMore else { return true }
            var next: UInt64 = 0
            var rest = active
            while let index = JSONScanner.next(&rest) {
                let tokens = tokens(index)
                guard tokens.count > depth, tokens[depth].index == element else { continue }
                next |= 1 &<< UInt64(index)
            }
            guard value(bytes, depth: depth + 1, next) else { return false }
            element += 1
        }
        return false
    }

    private func tokens(_ index: Int) -> [JSONPointer.Token] {
        pointers[pointers.startIndex + index].tokens
    }

    /// Removes the lowest set bit and returns its index.
    private static func next(_ bits: inout UInt64) -> Int? {
        guard bits != 0 else { return nil }
        defer { bits &= bits &- 1 }
        return bits.trailingZeroBitCount
    }
}
