// How people name an exchange: the first digits of its id, or its place among the last ones.

/// A reference to one exchange of the past, as commands and the admin interface take it.
package enum ExchangeReference: Sendable, Equatable {
    /// Four or more of the first hexadecimal digits of its id, in lower case.
    case id(String)
    /// The one that ended last, or so many before it, counted from 1; with a host the last for it.
    case last(Int, host: String?)

    private static let digitsMin = 4
    private static let digitsMax = 32
    /// As many exchanges as a history may hold.
    private static let placeMax = 1_000_000

    /// Reads `6f1c0e0b`, `last`, `last:3` or `last host:api.example`; nil for anything else.
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

    /// As a path below `/v1/exchanges/` of the admin interface.
    package var path: String {
        switch self {
        case .id(let digits): digits
        case .last(let place, nil): "last:\(place)"
        case .last(let place, let host?):
            "last:\(place)?host=\(host.percentEncoded { $0.isUnreserved })"
        }
    }

    /// Reads what ``path`` made, from a path's last part and the query's `host`.
    package init?(path: Substring, host: String?) {
        self.init(host.map { [String(path), "host:\($0)"] } ?? [String(path)])
    }
}

/// Why a reference names no exchange, or more than one.
package enum ExchangeReferenceProblem: Error, Sendable, Equatable {
    case unknown
    /// Some of the exchanges that the digits begin.
    case ambiguous([String])

    /// A sentence for people, without a full stop.
    package var sentence: String {
        switch self {
        case .unknown: "no exchange of this id is under way or remembered"
        case .ambiguous(let ids):
            "the digits begin more than one id: \(ids.joined(separator: ", "))"
        }
    }
}
