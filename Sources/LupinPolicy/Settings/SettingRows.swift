// How rows of the settings table are written: the kind follows from the function, and the default
// of a plain value from the settings or the policy themselves.

import LupinCore

/// A row of a table with plain values that lie in `Root`.
package protocol SettingRow {
    associatedtype Root

    /// What the default texts are made of.
    static var defaults: Root { get }

    static func plain(_ setting: Setting, _ keyPath: ValueKeyPath<Root>) -> Self
}

// MARK: Plain values

extension SettingRow {
    typealias Path<Value> = ValueKeyPath<Root>.Path<Value>

    private static func plain(
        _ name: String,
        _ keyPath: ValueKeyPath<Root>,
        _ kind: Setting.Kind,
        _ sentence: String
    ) -> Self {
        let text = keyPath.text(in: defaults, kind)
        let setting = Setting(name: name, kind: kind, defaultText: text, sentence: sentence)
        return plain(setting, keyPath)
    }

    /// A duration of so many milliseconds.
    static func duration(
        _ name: String,
        _ path: Path<Duration>,
        _ range: ClosedRange<Int64>,
        _ sentence: String
    ) -> Self {
        plain(name, .duration(path), .duration(range), sentence)
    }

    /// A duration, or `none` for nil.
    static func durationOrNone(
        _ name: String,
        _ path: Path<Duration?>,
        _ range: ClosedRange<Int64>,
        _ sentence: String
    ) -> Self {
        plain(name, .durationOrWord(path), .duration(range, orNone: true), sentence)
    }

    static func number(
        _ name: String,
        _ path: Path<Int>,
        _ range: ClosedRange<Int>,
        _ sentence: String
    ) -> Self {
        plain(name, .number(path), .number(range), sentence)
    }

    /// A number, or the word for nil.
    static func number(
        _ name: String,
        _ path: Path<Int?>,
        _ range: ClosedRange<Int>,
        or word: String,
        _ sentence: String
    ) -> Self {
        plain(name, .numberOrWord(path), .number(range, or: word), sentence)
    }

    static func size(
        _ name: String,
        _ path: Path<Int>,
        _ range: ClosedRange<Int>,
        _ sentence: String
    ) -> Self {
        plain(name, .number(path), .size(range), sentence)
    }

    /// A size, or the word for nil.
    static func size(
        _ name: String,
        _ path: Path<Int?>,
        _ range: ClosedRange<Int>,
        or word: String,
        _ sentence: String
    ) -> Self {
        plain(name, .numberOrWord(path), .size(range, or: word), sentence)
    }

    /// A size, or the word for 0.
    static func size(
        _ name: String,
        _ path: Path<Int>,
        _ range: ClosedRange<Int>,
        zero word: String,
        _ sentence: String
    ) -> Self {
        plain(name, .number(path), .size(range, or: word), sentence)
    }

    /// Bytes per second, or `none` for nil.
    static func rate(
        _ name: String,
        _ path: Path<Int?>,
        _ sentence: String
    ) -> Self {
        plain(name, .numberOrWord(path), .rate, sentence)
    }

    static func boolean(
        _ name: String,
        _ path: Path<Bool>,
        _ sentence: String
    ) -> Self {
        plain(name, .boolean(path), .boolean, sentence)
    }

    /// So many of something in so many milliseconds.
    static func count(
        _ name: String,
        _ path: Path<RateLimit>,
        _ counts: ClosedRange<Int>,
        per times: ClosedRange<Int64>,
        _ sentence: String
    ) -> Self {
        plain(name, .count(path), .count(counts, per: times), sentence)
    }

    static func choice<Word: SettingWord>(
        _ name: String,
        _ path: Path<Word>,
        _ sentence: String
    ) -> Self {
        plain(name, .word(path), .choice(Word.allCases.map(\.word)), sentence)
    }
}

// MARK: Other values

extension Setting: SettingRow {
    package static let defaults = Settings()

    package static func plain(_ setting: Setting, _ keyPath: ValueKeyPath<Settings>) -> Setting {
        var setting = setting
        setting.destination = .plain(keyPath)
        return setting
    }

    /// What has a decoder of its own; the default is written once more, as the file has it.
    static func special(
        _ special: Special,
        _ kind: Kind,
        _ defaultText: String,
        _ sentence: String
    ) -> Setting {
        let name = special.rawValue
        var setting = Setting(name: name, kind: kind, defaultText: defaultText, sentence: sentence)
        setting.destination = .special(special)
        return setting
    }

    static func listener(
        _ key: ListenerKey,
        _ kind: Kind,
        _ defaultText: String,
        _ sentence: String
    ) -> Setting {
        let name = "listen.\(key.rawValue)"
        var setting = Setting(name: name, kind: kind, defaultText: defaultText, sentence: sentence)
        setting.destination = .listener(key)
        return setting
    }

    /// What arrives in a later version; its default asks for nothing and may stand there already.
    static func later(
        _ name: String,
        _ kind: Kind,
        _ defaultText: String,
        _ sentence: String,
        _ what: String,
        substitute: String? = nil
    ) -> Setting {
        var setting = Setting(name: name, kind: kind, defaultText: defaultText, sentence: sentence)
        setting.availability = .later(what)
        setting.substitute = substitute
        setting.offValues = [defaultText]
        return setting
    }

    /// The same for rules too.
    func perRule(_ leaf: RuleLeaf) -> Setting {
        var copy = self
        copy.ruleLeaf = leaf
        return copy
    }

    /// The same where a running proxy keeps the value that it began with.
    func needingRestart<Value: Equatable & SendableMetatype>(
        _ path: any KeyPath<Settings, Value> & Sendable
    ) -> Setting {
        var copy = self
        copy.demandsRestart = { $0[keyPath: path] != $1[keyPath: path] }
        return copy
    }
}
