// Values of a JSON text set and removed by pointers, with the rest of the text left as it is.

import LupinCore

/// What the step `json:` does: first what it sets, then what it removes, each in its order.
package struct JSONEdit: Sendable, Equatable {
    /// A pointer and the JSON text of its new value.
    package struct Setting: Sendable, Equatable {
        package let pointer: JSONPointer
        package let value: [UInt8]

        package init(pointer: JSONPointer, value: [UInt8]) {
            self.pointer = pointer
            self.value = value
        }
    }

    /// Members of one name in one object that are removed; every one costs a pass.
    private static let duplicatesMax = 16

    package var set: [Setting]
    package var remove: [JSONPointer]

    package init(set: [Setting], remove: [JSONPointer]) {
        self.set = set
        self.remove = remove
    }

    /// The pointers, for the record.
    var summary: String {
        (set.map(\.pointer.source) + remove.map { "-\($0.source)" }).joined(separator: " ")
    }

    /// The text after all changes.
    ///
    /// Members on the way that are missing are made; a list takes a new element behind its last one
    /// only, by its index or by `-` (RFC 6901 §4). What is not there need not be removed.
    func edited(_ body: [UInt8]) throws(BodyEditProblem) -> [UInt8] {
        var body = body
        for setting in set {
            let target = try JSONTarget.find(setting.pointer, in: body)
            try target.set(setting.value, at: setting.pointer, in: &body)
        }
        for pointer in remove {
            // Of members with the same name the last counts, and the one before it would then.
            var passes = 0
            while true {
                let target = try JSONTarget.find(pointer, in: body)
                guard target.isWhole(pointer), target.remove(from: &body), target.isMember
                else { break }
                passes += 1
                guard passes < Self.duplicatesMax else { throw .tooCostly }
            }
        }
        return body
    }
}

/// How far a pointer leads into a text, and what is there.
private struct JSONTarget {
    private enum Kind: Equatable {
        /// Members and elements, and where the last one ends.
        case object(count: Int, end: Int)
        case list(count: Int, end: Int)
        case scalar
    }

    /// How many tokens of the pointer led here.
    private var depth: Int
    private var value: Range<Int>
    private var kind: Kind
    /// The member or element with its name; nil for the whole text.
    private var item: Range<Int>?
    /// It has a name, which another one may have too.
    private(set) var isMember = false
    /// The end of the member or element before it.
    private var formerEnd: Int?
    /// The start of the one behind it.
    private var nextStart: Int?

    static func find(_ pointer: JSONPointer, in body: [UInt8]) throws(BodyEditProblem) -> Self {
        guard (try? UTF8Span(validating: body.span)) != nil else { throw .notJSON }
        var walk = JSONWalk(pointer.tokens, body.span)
        guard let target = walk.target(in: body.span) else { throw .notJSON }
        return target
    }

    func isWhole(_ pointer: JSONPointer) -> Bool { depth == pointer.tokens.count }

    // MARK: Changes

    func set(
        _ text: [UInt8],
        at pointer: JSONPointer,
        in body: inout [UInt8]
    ) throws(BodyEditProblem) {
        let tokens = pointer.tokens
        guard depth < tokens.count else {
            body.replaceSubrange(value, with: text)
            return
        }
        // What is missing on the way becomes objects.
        var text = text
        for token in tokens[(depth + 1)...].reversed() {
            text = [0x7B] + Self.name(token) + text + [0x7D]
        }
        let comma: (Int) -> [UInt8] = { count in count == 0 ? [] : [0x2C] }
        switch kind {
        case .object(let count, let end):
            body.insert(contentsOf: comma(count) + Self.name(tokens[depth]) + text, at: end)
        case .list(let count, let end):
            guard tokens[depth].index == count || tokens[depth].name == [0x2D] else {
                throw .notContainer(pointer: pointer.source)
            }
            body.insert(contentsOf: comma(count) + text, at: end)
        case .scalar: throw .notContainer(pointer: pointer.source)
        }
    }

    private static func name(_ token: JSONPointer.Token) -> [UInt8] {
        var name: [UInt8] = [0x22]
        LogText.append(token.name.span, as: .json, to: &name)
        return name + [0x22, 0x3A]
    }

    /// Removes the value with its name and a comma; returns false for the whole text.
    func remove(from body: inout [UInt8]) -> Bool {
        guard let item else { return false }
        if let nextStart {
            body.removeSubrange(item.lowerBound..<nextStart)
        } else {
            body.removeSubrange((formerEnd ?? item.lowerBound)..<item.upperBound)
        }
        return true
    }

    // MARK: Finding

    /// Walks through a text once; the deepest place along the pointer is kept.
    private struct JSONWalk {
        private let tokens: [JSONPointer.Token]
        private var reader: JSONReader
        private var best: JSONTarget?

        init(_ tokens: [JSONPointer.Token], _ bytes: Span<UInt8>) {
            self.tokens = tokens
            reader = JSONReader(bytes)
        }

        mutating func target(in bytes: Span<UInt8>) -> JSONTarget? {
            guard value(bytes, depth: 0, isOnWay: true) != nil, reader.isAtEnd(bytes) else {
                return nil
            }
            return best
        }

        /// Takes a value, to which the first `depth` tokens led if it is on the way.
        private mutating func value(
            _ bytes: Span<UInt8>,
            depth: Int,
            isOnWay: Bool
        ) -> Range<Int>? {
            reader.skipWhitespace(bytes)
            let start = reader.position
            guard let token = reader.value(bytes, depth: depth) else { return nil }
            if isOnWay {
                best = JSONTarget(depth: depth, value: start..<start, kind: .scalar)
            }
            // A later member of the same name begins anew, so what is deeper is remembered apart.
            var deeper: JSONTarget?
            let kind: Kind
            switch token {
            case .object, .list:
                let isObject = if case .object = token { true } else { false }
                let found = items(bytes, depth, isOnWay, isObject: isObject, &deeper)
                guard let (count, end) = found else { return nil }
                kind = isObject ? .object(count: count, end: end) : .list(count: count, end: end)
            case .string, .number, .bool, .null: kind = .scalar
            }
            let range = start..<reader.position
            if isOnWay {
                best = deeper ?? JSONTarget(depth: depth, value: range, kind: kind)
            }
            return range
        }

        /// Takes the members or elements up to the closing bracket; returns how many there are, and
        /// where another one would stand.
        private mutating func items(
            _ bytes: Span<UInt8>,
            _ depth: Int,
            _ isOnWay: Bool,
            isObject: Bool,
            _ deeper: inout JSONTarget?
        ) -> (count: Int, end: Int)? {
            var count = 0
            var formerEnd: Int?
            var isBehindFound = false
            while let hasMore = reader.hasMore(
                bytes,
                until: isObject ? 0x7D : 0x5D,
                isFirst: count == 0
            ) {
                guard hasMore else { return (count, formerEnd ?? reader.position - 1) }
                reader.skipWhitespace(bytes)
                let start = reader.position
                if isBehindFound, deeper?.depth == depth + 1 { deeper?.nextStart = start }
                isBehindFound = false
                var isNext = false
                if isObject {
                    guard let name = reader.name(bytes) else { return nil }
                    if isOnWay, depth < tokens.count {
                        let wanted = tokens[depth].name
                        isNext = JSONText.spells(bytes.extracting(name), wanted.span)
                    }
                } else {
                    isNext = isOnWay && depth < tokens.count && tokens[depth].index == count
                }
                guard value(bytes, depth: depth + 1, isOnWay: isNext) != nil else { return nil }
                if isNext {
                    deeper = best
                    isBehindFound = true
                    if deeper?.depth == depth + 1 {
                        deeper?.item = start..<reader.position
                        deeper?.isMember = isObject
                        deeper?.formerEnd = formerEnd
                        deeper?.nextStart = nil
                    }
                }
                formerEnd = reader.position
                count += 1
            }
            return nil
        }
    }
}
