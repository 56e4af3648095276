// What is known of one key of the rules file: its type, default, range, meaning and availability.

/// One row of the settings table.
package struct Setting: Sendable {
    /// What may stand behind the key.
    package enum Kind: Sendable, Equatable {
        /// Milliseconds in the range; `none` where `orNone`.
        case duration(ClosedRange<Int64>, orNone: Bool = false)
        /// Bytes in the range, or the word.
        case size(ClosedRange<Int>, or: String? = nil)
        /// A number in the range, or the word.
        case number(ClosedRange<Int>, or: String? = nil)
        /// `true` or `false`.
        case boolean
        /// One of the words.
        case choice([String])
        /// Bytes per second, or `none`.
        case rate
        /// So many of something in so many milliseconds.
        case count(ClosedRange<Int>, per: ClosedRange<Int64>)
        /// A text of the form that the words describe.
        case text(String)
        /// A list of what the words describe; one value alone is a list of one.
        case list(String)
        /// Nested keys that the table does not tell apart.
        case map(String)
    }

    /// Whether this version of lupin can do it.
    package enum Availability: Sendable, Equatable {
        case now
        /// What arrives in a later version, as the subject of that sentence.
        case later(String)
    }

    /// Dotted, such as `upstream.pool.idle`; the keys of a listener are `listen.…`.
    package var name: String
    package var kind: Kind
    /// The default as the file writes it.
    package var defaultText: String
    /// The meaning, in a few words that start small and end without a full stop.
    package var sentence: String
    package var availability = Availability.now
    /// What to do instead while the key is not available; nil when there is nothing.
    package var substitute: String?
    /// Values that are accepted while the key is not available, because they ask for nothing.
    package var offValues: [String] = []
    /// What it is in a rule, below the same section; nil if no rule may have it.
    package var ruleLeaf: RuleLeaf?
    /// Whether two settings differ in it, if it can't change while lupin runs; nil if it can.
    package var demandsRestart: (@Sendable (Settings, Settings) -> Bool)?
    package var destination = Destination.nowhere

    /// Whether a rule may have the key too.
    package var isPerRule: Bool { ruleLeaf != nil }

    /// The part behind the last dot.
    package var key: String {
        name.lastIndex(of: ".").map { String(name[name.index(after: $0)...]) } ?? name
    }

    /// The part before the last dot; empty at the top level.
    package var section: String {
        name.lastIndex(of: ".").map { String(name[..<$0]) } ?? ""
    }

    package var isAvailable: Bool { availability == .now }
}

extension Setting {
    /// The type in words, such as `duration or none`.
    package var typeText: String {
        switch kind {
        case .duration(_, let orNone): orNone ? "duration or none" : "duration"
        case .size(_, let word): word.map { "size or \($0)" } ?? "size"
        case .number(_, let word): word.map { "number or \($0)" } ?? "number"
        case .boolean: "true or false"
        case .choice(let words): words.joined(separator: " | ")
        case .rate: "size per second or none"
        case .count: "number/duration"
        case .text(let form), .map(let form): form
        case .list(let item): "list of \(item)"
        }
    }

    /// The smallest and the largest value, such as `1s to 7d`; nil where there is no range.
    package var rangeText: String? {
        switch kind {
        case .duration(let range, _):
            "\(UnitText.duration(range.lowerBound)) to \(UnitText.duration(range.upperBound))"
        case .size(let range, _):
            "\(UnitText.size(range.lowerBound)) to \(UnitText.size(range.upperBound))"
        case .number(let range, _):
            "\(range.lowerBound) to \(range.upperBound)"
        case .count(let counts, let times):
            "\(counts.lowerBound) to \(counts.upperBound) in "
                + "\(UnitText.duration(times.lowerBound)) to \(UnitText.duration(times.upperBound))"
        default: nil
        }
    }
}

/// Numbers with the largest unit that keeps them whole, as the rules file writes them.
package enum UnitText {
    /// `90000` is `90s`; 0 needs no unit.
    package static func duration(_ milliseconds: Int64) -> String {
        let units: [(Int64, String)] = [
            (86_400_000, "d"), (3_600_000, "h"), (60000, "m"), (1000, "s"), (1, "ms"),
        ]
        for (size, name) in units
        where milliseconds != 0 && milliseconds.isMultiple(of: size) {
            return "\(milliseconds / size)\(name)"
        }
        return "\(milliseconds)"
    }

    /// `65536` is `64KiB`; 0 needs no unit.
    package static func size(_ bytes: Int) -> String {
        for (shift, name) in [(40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB"), (0, "B")]
        where bytes != 0 && bytes.isMultiple(of: 1 << shift) {
            return "\(bytes >> shift)\(name)"
        }
        return "\(bytes)"
    }
}
