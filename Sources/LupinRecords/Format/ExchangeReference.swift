// How users name an exchange: by the first digits of its id, or its place among the last ones.

import LupinCore

/// A reference to one past exchange, as commands and the admin interface accept it.
package enum ExchangeReference: Sendable, Equatable {
    /// Four or more of the first hexadecimal digits of its id, in lower case.
    case id(String)
    /// The n-th last exchange that ended, counted from 1, of those that a filter keeps.
    case last(Int, ExchangeFilter)

    private static let digitsMin = 4
    private static let digitsMax = 32
    /// The maximum size of a history.
    private static let ordinalMax = 1_000_000

    /// Parses `6f1c0e0b`, `last`, `last:3` or `last host:api.example`; nil for anything else.
    /// - Throws: The mistake in the filter behind `last`.
    package init?(_ words: [String]) throws(FilterProblem) {
        guard let first = words.first?.lowercased() else { return nil }
        if first == "last" || first.hasPrefix("last:") {
            let ordinal = first == "last" ? 1 : NumberReader.unsigned(first.dropFirst(5))
            guard let ordinal, 1...UInt64(Self.ordinalMax) ~= ordinal else { return nil }
            let filter = FilterWords.joined(Array(words.dropFirst()))
            self = .last(Int(ordinal), try ExchangeFilter(filter))
            return
        }
        let isID =
            Self.digitsMin...Self.digitsMax ~= first.utf8.count
            && first.utf8.allSatisfy { $0.hexDigit != nil }
        guard isID, words.count == 1 else { return nil }
        self = .id(first)
    }

    /// The path below `/v1/exchanges/` of the admin interface.
    package var path: String {
        switch self {
        case .id(let digits): digits
        case .last(let ordinal, let filter):
            filter.text.isEmpty
                ? "last:\(ordinal)"
                : "last:\(ordinal)?filter=\(filter.text.percentEncoded { $0.isUnreserved })"
        }
    }

    /// Parses a ``path``, given its last part and the query's `filter`.
    package init?(path: Substring, filter: String?) throws(FilterProblem) {
        try self.init([String(path)])
        if let filter, case .last(let ordinal, _) = self {
            self = .last(ordinal, try ExchangeFilter(filter))
        }
    }
}

/// The reason for which a reference names no exchange, or more than one.
package enum ExchangeReferenceProblem: Error, Sendable, Equatable {
    case unknown
    /// No remembered exchange is the one that `last` and a filter name.
    case unfit
    /// Some of the ids that begin with the digits.
    case ambiguous([String])

    /// A sentence for users, without a full stop.
    package var sentence: String {
        switch self {
        case .unknown: "no exchange of this id is under way or remembered"
        case .unfit: "lupin remembers no exchange that fits"
        case .ambiguous(let ids):
            "the digits begin more than one id: \(ids.joined(separator: ", "))"
        }
    }
}
