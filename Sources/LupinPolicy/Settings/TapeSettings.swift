// What the file says of tapes: which parts of requests count when one is replayed.

import LupinCore

/// A part of a request that may be compared with a tape, or not.
package enum TapePart: Sendable, Equatable {
    /// Parameters of the query, by a name or glob.
    case query(String)
    /// Fields, by a name or glob.
    case header(String)
    case body

    /// Parses `query.NAME`, `header.NAME` or `body`.
    package init?(_ text: String) {
        if text == "body" {
            self = .body
            return
        }
        let parts = text.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, !parts[1].isEmpty else { return nil }
        let name = String(parts[1])
        switch parts[0] {
        case "query": self = .query(name)
        case "header":
            guard name.utf8.allSatisfy(\.isTokenByte) else { return nil }
            self = .header(name)
        default: return nil
        }
    }
}

/// The keys of `tape`.
package struct TapeSettings: Sendable, Equatable {
    /// What may differ: parameters of the query, the body, and fields that `match` has.
    package var ignore: [TapePart] = []
    /// Fields that must be equal; without it none.
    package var match: [TapePart] = []

    package init() {}
}
