// Caches of finished pieces of record lines.

package import LupinCore

/// A cache of the texts of recent keys.
///
/// Every key has one place, given by a hash that the caller computes; a collision replaces. So a
/// lookup is one comparison, and memory is bounded whatever peers send.
struct RecentTexts<Key: Equatable & Sendable, Text: Sendable>: Sendable {
    private var keys = [Key?](repeating: nil, count: recentCount)
    /// The texts by place.
    private(set) var texts: [Text]

    init(empty: Text) { texts = Array(repeating: empty, count: recentCount) }

    /// Whether `index` has the text of `key`.
    func holds(_ key: borrowing Key, at index: Int) -> Bool {
        // Compared in place: a copy would cost more than the comparison.
        let keys = keys.span
        switch keys[index] {
        case nil: return false
        case let held?: return held == key
        }
    }

    mutating func put(_ text: Text, of key: Key, at index: Int) {
        keys[index] = key
        texts[index] = text
    }
}

let recentCount = 64

/// Returns the place for a hash, to which all bits contribute.
func recentIndex(_ hash: UInt64) -> Int {
    Int(truncatingIfNeeded: (hash &* 0x9E37_79B9_7F4A_7C15) &>> 58)
}

/// The texts of recent IPv4 addresses.
struct QuadTexts: Sendable {
    private struct Entry: Sendable {
        var quad: UInt32
        var text: Fragment

        init(_ quad: UInt32) {
            self.quad = quad
            var bytes: [UInt8] = []
            bytes.appendText(atMost: 15) { output in output.append(quad: quad) }
            text = Fragment(bytes) ?? Fragment("")
        }
    }

    private var entries = [Entry](repeating: Entry(0), count: recentCount)

    mutating func append(_ quad: UInt32, to output: inout TextCursor) {
        let index = recentIndex(UInt64(quad))
        if entries[index].quad != quad { entries[index] = Entry(quad) }
        output.append(entries[index].text)
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
            && a.responseSteps == b.responseSteps
    }
}
