// Values of settings that the file writes as words.

/// A value that the file writes as one of a few words.
package protocol SettingWord: CaseIterable, Sendable {
    var word: String { get }
}

extension SettingWord {
    package init?(word: String) {
        guard let value = Self.allCases.first(where: { $0.word == word }) else { return nil }
        self = value
    }
}

extension SettingWord where Self: RawRepresentable<String> {
    package var word: String { rawValue }
}
