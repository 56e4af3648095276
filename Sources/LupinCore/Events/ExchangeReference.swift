// How users name an exchange: by the first digits of its id, or its place among the last ones.

/// A reference to one past exchange, as commands and the admin interface accept it.
package enum ExchangeReference: Sendable, Equatable {
    /// Four or more of the first hexadecimal digits of its id, in lower case.
    case id(String)
    /// The n-th last exchange that ended, counted from 1; with a host, only exchanges with it
    /// count.
    case last(Int, host: String?)

    private static let digitsMin = 4
    private static let digitsMax = 32
    /// The maximum size of a history.
    private static let placeMax = 1_000_000

    /// Parses `6f1c0e0b`, `last`, `last:3` or `last host:api.example`; nil for anything else.
    package init?(_ words: [String]) {
        guard let first = words.first?.lowercased(), words.count <= 2 else { return nil }
        let second = words.count == 2 ? words[1].lowercased() : nil
        if first == "last" || first.hasPrefix("last:") {
            let place = first == "last" ? 1 : NumberReader.unsigned(first.dropFirst(5))
            guard let place, 1...UInt64(Self.placeMax) ~= place else { return nil }
            guard let second else {
                self = .last(Int(place), host: nil)
                return
            }
            guard second.hasPrefix("host:"), second.utf8.count > 5 else { return nil }
            self = .last(Int(place), host: String(second.dropFirst(5)))
            return
        }
        let isID =
            Self.digitsMin...Self.digitsMax ~= first.utf8.count
            && first.utf8.allSatisfy { $0.hexDigit != nil }
        guard isID, second == nil else { return nil }
        self = .id(first)
    }

    /// The path below `/v1/exchanges/` of the admin interface.
    package var path: String {
        switch self {
        case .id(let digits): digits
        case .last(let place, nil): "last:\(place)"
        case .last(let place, let host?):
            "last:\(place)?host=\(host.percentEncoded { $0.isUnreserved })"
        }
    }

    /// Parses a ``path``, given its last part and the query's `host`.
    package init?(path: Substring, host: String?) {
        self.init(host.map { [String(path), "host:\($0)"] } ?? [String(path)])
    }
}

/// The reason for which a reference names no exchange, or more than one.
package enum ExchangeReferenceProblem: Error, Sendable, Equatable {
    case unknown
    /// Some of the ids that begin with the digits.
    case ambiguous([String])

    /// A sentence for users, without a full stop.
    package var sentence: String {
        switch self {
        case .unknown: "no exchange of this id is under way or remembered"
        case .ambiguous(let ids):
            "the digits begin more than one id: \(ids.joined(separator: ", "))"
        }
    }
}
