// A key of a policy: what is known of it, and where its value goes.

/// A policy whose keys stand in a table, with the values of the one called `standard`.
package protocol TabledPolicy: Sendable {
    /// The keys with decoders of their own, by their names in the table.
    associatedtype SpecialKey: RawRepresentable<String>, CaseIterable, Sendable

    static var standard: Self { get }
}

/// One row of the table of a policy.
package struct PolicyKey<Policy: TabledPolicy>: Sendable {
    package enum Destination: Sendable {
        /// What is decoded by its kind alone.
        case plain(ValueKeyPath<Policy>)
        case special(Policy.SpecialKey)
    }

    package var setting: Setting
    package var destination: Destination

    /// What has a decoder of its own; the default is written once more, as the file has it.
    static func special(
        _ special: Policy.SpecialKey,
        _ kind: Setting.Kind,
        _ defaultText: String,
        _ sentence: String
    ) -> PolicyKey {
        let setting = Setting(
            name: special.rawValue,
            kind: kind,
            defaultText: defaultText,
            sentence: sentence
        )
        return PolicyKey(setting: setting, destination: .special(special))
    }
}

extension PolicyKey: SettingRow {
    package static var defaults: Policy { .standard }

    package static func plain(_ setting: Setting, _ keyPath: ValueKeyPath<Policy>) -> PolicyKey {
        PolicyKey(setting: setting, destination: .plain(keyPath))
    }
}
