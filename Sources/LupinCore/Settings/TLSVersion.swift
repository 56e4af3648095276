// The versions of TLS that settings name.

/// The TLS versions that lupin speaks.
package enum TLSVersion: UInt8, SettingWord, Hashable, Comparable {
    case tls12, tls13

    package static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }

    package var word: String {
        switch self {
        case .tls12: "1.2"
        case .tls13: "1.3"
        }
    }
}
