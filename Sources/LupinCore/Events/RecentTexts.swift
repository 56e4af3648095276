// Which finished pieces of record lines are worth remembering, and how they are found again.

/// Texts that were made for recent keys.
///
/// Every key has one place, given by a hash that the caller computes; a clash replaces. So a lookup
/// is one comparison, and memory has a limit whatever peers send.
struct RecentTexts<Key: Equatable & Sendable, Text: Sendable>: Sendable {
    private var keys = [Key?](repeating: nil, count: recentPlaces)
    /// The texts by place.
    private(set) var texts: [Text]

    init(empty: Text) { texts = Array(repeating: empty, count: recentPlaces) }

    /// Whether the text of `key` lies at `place`.
    func holds(_ key: borrowing Key, at place: Int) -> Bool {
        // Looked at where it lies: a copy would cost more than the comparison.
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

/// The place of what has this hash; all bits have a part in it.
func recentPlace(_ hash: UInt64) -> Int {
    Int(truncatingIfNeeded: (hash &* 0x9E37_79B9_7F4A_7C15) &>> 58)
}

/// The field names of recent messages as JSON lists.
///
/// One client sends the same few lists of names again and again, and so does one origin.
struct RecentNames: Sendable {
    /// Longer lists are not remembered.
    private static let keyBytesMax = 1024

    private struct Entry: Sendable {
        /// For each line its known name, or 0, the length and the name as received.
        var key: [UInt8] = []
        /// `["accept","x-trace"]`; empty where nothing is remembered yet.
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
                for j in name.indices where key[i &+ j] != name[j] { return false }
                i &+= name.count
            }
            return i == key.count && !text.isEmpty
        }
    }

    private var entries = [Entry](repeating: Entry(), count: recentPlaces)

    /// Appends `["accept","x-trace"]`, or returns false when it isn't remembered.
    func append(_ fields: FieldSection, to output: inout TextCursor) -> Bool {
        let entries = entries.span
        let place = RecentNames.place(of: fields)
        guard entries[place].matches(fields) else { return false }
        output.append(entries[place].text.span)
        return true
    }

    /// Remembers `["accept","x-trace"]`.
    mutating func put(_ text: [UInt8], of fields: FieldSection) {
        guard let key = RecentNames.key(of: fields) else { return }
        entries[RecentNames.place(of: fields)] = Entry(key: key, text: text)
    }

    private static func place(of fields: FieldSection) -> Int {
        let lines = fields.lines.span
        var hash: UInt64 = 0
        for i in lines.indices {
            // The length is there for names that aren't known.
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
    /// A cheaper hash, of the length and the eight bytes at both ends.
    ///
    /// Hosts of one domain differ in the first ones, ports and addresses in the last ones.
    var sparseHash: UInt64 {
        guard count >= 8 else { return weightedSum }
        return word(at: 0) &* 31 &+ word(at: count &- 8) &+ UInt64(count)
    }

    /// A cheap hash of short texts: a sum in which every byte has another weight.
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
