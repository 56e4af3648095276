// Caches of finished pieces of record lines.

/// A cache of the texts of recent keys.
///
/// Every key has one place, given by a hash that the caller computes; a collision replaces. So a
/// lookup is one comparison, and memory is bounded whatever peers send.
struct RecentTexts<Key: Equatable & Sendable, Text: Sendable>: Sendable {
    private var keys = [Key?](repeating: nil, count: recentPlaces)
    /// The texts by place.
    private(set) var texts: [Text]

    init(empty: Text) { texts = Array(repeating: empty, count: recentPlaces) }

    /// Whether `place` has the text of `key`.
    func holds(_ key: borrowing Key, at place: Int) -> Bool {
        // Compared in place: a copy would cost more than the comparison.
        let keys = keys.span
        switch keys[place] {
        case nil: return false
        case let held?: return held == key
        }
    }

    mutating func put(_ text: Text, of key: Key, at place: Int) {
        keys[place] = key
        texts[place] = text
    }
}

private let recentPlaces = 64

/// Returns the place for a hash, to which all bits contribute.
func recentPlace(_ hash: UInt64) -> Int {
    Int(truncatingIfNeeded: (hash &* 0x9E37_79B9_7F4A_7C15) &>> 58)
}

/// The field names of recent messages as JSON lists.
///
/// A client sends the same few lists of names again and again, and so does an origin.
struct RecentNames: Sendable {
    /// Longer lists are not cached.
    private static let keyBytesMax = 1024

    private struct Entry: Sendable {
        /// For each line, its known name; or 0, the length and the name as received.
        var key: [UInt8] = []
        /// `["accept","x-trace"]`; empty when nothing is cached yet.
        var text: [UInt8] = []

        func matches(_ fields: FieldSection) -> Bool {
            let key = key.span
            let lines = fields.lines.span
            var i = 0
            for line in lines.indices {
                guard i < key.count, key[i] == lines[line].known.rawValue else { return false }
                i &+= 1
                if lines[line].known != .other { continue }
                let name = fields.storage.span.extracting(lines[line].name.range)
                guard key.count &- i > name.count, Int(key[i]) == name.count else { return false }
                i &+= 1
                guard key.extracting(i..<(i &+ name.count)).isSame(as: name) else { return false }
                i &+= name.count
            }
            return i == key.count && !text.isEmpty
        }
    }

    private var entries = [Entry](repeating: Entry(), count: recentPlaces)

    /// Appends `["accept","x-trace"]`; returns false when it isn't cached.
    func append(_ fields: FieldSection, to output: inout TextCursor) -> Bool {
        let entries = entries.span
        let place = RecentNames.place(of: fields)
        guard entries[place].matches(fields) else { return false }
        output.append(entries[place].text.span)
        return true
    }

    /// Caches `["accept","x-trace"]`.
    mutating func put(_ text: [UInt8], of fields: FieldSection) {
        guard let key = RecentNames.key(of: fields) else { return }
        entries[RecentNames.place(of: fields)] = Entry(key: key, text: text)
    }

    private static func place(of fields: FieldSection) -> Int {
        let lines = fields.lines.span
        var hash: UInt64 = 0
        for i in lines.indices {
            // The length distinguishes unknown names.
            hash = hash &* 31 &+ UInt64(lines[i].known.rawValue) &+ UInt64(lines[i].name.count)
        }
        return recentPlace(hash)
    }

    private static func key(of fields: FieldSection) -> [UInt8]? {
        var key: [UInt8] = []
        for line in fields.lines {
            key.append(line.known.rawValue)
            guard line.known == .other else { continue }
            guard line.name.count <= UInt8.max else { return nil }
            key.append(UInt8(line.name.count))
            key.append(copying: fields.storage.span.extracting(line.name.range))
        }
        return key.count <= keyBytesMax ? key : nil
    }
}

extension Span<UInt8> {
    /// A cheaper hash, of the length and of eight bytes at each end.
    ///
    /// Hosts of one domain differ in the first bytes, ports and addresses in the last ones.
    package var sparseHash: UInt64 {
        guard count >= 8 else { return weightedSum }
        return word(at: 0) &* 31 &+ word(at: count &- 8) &+ UInt64(count)
    }

    /// A cheap hash of short texts: a sum in which every byte has a different weight.
    var weightedSum: UInt64 {
        var sum: UInt32 = 0
        for i in indices { sum &+= UInt32(self[i]) &* UInt32(truncatingIfNeeded: i &+ 1) }
        return UInt64(sum)
    }
}

extension RulesRecord: Equatable {
    package static func == (a: RulesRecord, b: RulesRecord) -> Bool {
        a.version == b.version && a.matched == b.matched && a.steps == b.steps
    }
}
