// Entity tags and their comparison (RFC 9110 §8.8.3).

package import LupinCore

/// A validator of a representation.
package struct EntityTag: Sendable, Equatable {
    /// As in a field, including `W/` and the quotes.
    package let bytes: [UInt8]
    package let isWeak: Bool

    /// Parses `text` as a tag; nil when it isn't one.
    ///
    /// Some servers omit the quotes. A text without them is no validator: it could be a part of a
    /// list.
    package init?(_ text: Span<UInt8>) {
        let trimmed = text.extracting(text.trimmedRange)
        guard EntityTag.length(in: trimmed, from: 0) == trimmed.count, !trimmed.isEmpty else {
            return nil
        }
        isWeak = trimmed[0] == 0x57
        bytes = [UInt8](copying: trimmed)
    }

    /// The ETag of a response; nil when there are two different ones.
    package init?(of fields: FieldSection) {
        var found: EntityTag?
        guard fields.names.contains(.etag) else { return nil }
        for line in fields.lines where line.known == .etag {
            guard let tag = EntityTag(fields.storage.span.extracting(line.value.range)),
                found == nil || found == tag
            else { return nil }
            found = tag
        }
        guard let found else { return nil }
        self = found
    }

    package var text: String { String(copying: bytes.span) }

    /// Where the opaque part begins, with its quotes.
    private var opaqueStart: Int { isWeak ? 2 : 0 }

    /// Strong comparison (§8.8.3.2): both are strong and equal.
    package func matchesStrongly(_ other: EntityTag) -> Bool {
        !isWeak && !other.isWeak && bytes == other.bytes
    }

    /// Weak comparison: equal apart from `W/`.
    package func matchesWeakly(_ other: EntityTag) -> Bool {
        bytes[opaqueStart...].elementsEqual(other.bytes[other.opaqueStart...])
    }

    /// Whether `text` is the same tag apart from `W/`; for lists that are searched without copying.
    fileprivate func matchesWeakly(_ text: Span<UInt8>) -> Bool {
        let start = text.count > 1 && text[0] == 0x57 ? 2 : 0
        guard text.count - start == bytes.count - opaqueStart else { return false }
        return text.extracting(start..<text.count).isEqual(
            to: bytes.span.extracting(opaqueStart..<bytes.count)
        )
    }

    /// The length of the entity tag at `start`; 0 when there is none.
    fileprivate static func length(in text: Span<UInt8>, from start: Int) -> Int {
        var i = start
        if i + 1 < text.count, text[i] == 0x57, text[i + 1] == 0x2F { i += 2 }
        guard i < text.count, text[i] == 0x22 else { return 0 }
        i += 1
        while i < text.count, text[i].isEntityTagByte { i += 1 }
        guard i < text.count, text[i] == 0x22 else { return 0 }
        return i + 1 - start
    }
}

/// The tags in If-None-Match or If-Match of a request.
package enum EntityTagList {
    /// The result of comparing a list with a representation.
    package enum Finding: Sendable, Equatable {
        /// The request has no such field.
        case absent
        case matches, differs
    }

    /// Compares weakly whether the field lists the tag; `*` matches any representation.
    ///
    /// Invalid tags are skipped up to the next comma.
    package static func find(
        _ tag: EntityTag?,
        in known: FieldName,
        of fields: FieldSection
    ) -> Finding {
        guard fields.names.contains(known) else { return .absent }
        var finding = Finding.absent
        for line in fields.lines where line.known == known {
            if finding == .absent { finding = .differs }
            let text = fields.storage.span.extracting(line.value.range)
            if EntityTagList.matches(tag, in: text) { return .matches }
        }
        return finding
    }

    private static func matches(_ tag: EntityTag?, in text: Span<UInt8>) -> Bool {
        if text.extracting(text.trimmedRange).isWord("*") { return true }
        var i = 0
        while i < text.count {
            let count = EntityTag.length(in: text, from: i)
            if count > 0 {
                if let tag, tag.matchesWeakly(text.extracting(i..<(i + count))) { return true }
                i += count
            }
            while i < text.count, text[i] != 0x2C { i += 1 }
            while i < text.count, text[i] == 0x2C || text[i] == 0x20 || text[i] == 0x09 { i += 1 }
        }
        return false
    }

    /// The valid tags of a field, in order.
    package static func tags(in known: FieldName, of fields: FieldSection) -> [EntityTag] {
        var tags: [EntityTag] = []
        for line in fields.lines where line.known == known {
            let text = fields.storage.span.extracting(line.value.range)
            var i = 0
            while i < text.count {
                let count = EntityTag.length(in: text, from: i)
                if count > 0 {
                    if let tag = EntityTag(text.extracting(i..<(i + count))) { tags.append(tag) }
                    i += count
                } else {
                    i += 1
                }
            }
        }
        return tags
    }
}

extension UInt8 {
    /// `etagc` (§8.8.3): visible characters except the quotation mark, and all beyond ASCII.
    fileprivate var isEntityTagByte: Bool { self == 0x21 || (self >= 0x23 && self != 0x7F) }
}

extension Span where Element == UInt8 {
    /// Whether both have the same bytes.
    func isEqual(to other: Span<UInt8>) -> Bool {
        guard count == other.count else { return false }
        for i in indices where self[i] != other[i] { return false }
        return true
    }
}
