// Parses the admin interface's queries for stored responses.

import LupinCore
package import LupinPolicy

/// The query of `/v1/cache/responses`: `url`, or `match`, and `limit`.
package struct StoredResponseQuery: Sendable {
    /// Why a query is invalid, for its client.
    package struct Problem: Error, Equatable {
        /// Without a full stop.
        package let sentence: String
    }

    /// `url` or `match` as written.
    package private(set) var text = ""
    /// `url=`, in the form of `CacheKey.url`.
    package private(set) var url: String?
    /// `match=`.
    package private(set) var pattern: CachePattern?
    /// `limit=`; nil when it is missing.
    package private(set) var limit: Int?

    /// Parses the query of a request's target.
    package init(_ target: Span<UInt8>) throws(Problem) {
        for (name, value) in QueryParameters.decoded(of: target) {
            let value = String(decoding: value, as: UTF8.self)
            switch String(decoding: name, as: UTF8.self) {
            case "url":
                guard let url = HTTPURL(value) else {
                    throw Problem(sentence: "url is an http or https URL")
                }
                (text, self.url) = (value, String(CacheKey.url(of: url)))
            case "match":
                do throws(PatternProblem) {
                    pattern = try CachePattern(value)
                } catch {
                    throw Problem(sentence: "match: \(error.message)")
                }
                text = value
            case "limit":
                guard let number = QueryParameters.count(value) else {
                    throw Problem(sentence: "limit is a number")
                }
                limit = number
            case let other:
                throw Problem(sentence: "there is no \"\(other)\"; url, match and limit are")
            }
        }
        guard url == nil || pattern == nil else {
            throw Problem(sentence: "url and match exclude each other")
        }
    }
}

extension QueryParameters {
    /// The number of results that a parameter asks for; a number too large counts as all.
    package static func count(_ text: some StringProtocol) -> Int? {
        // Bounded: by 2^31.
        NumberReader.saturated(Array(text.utf8).span, at: 1 << 31).map { Int($0) }
    }
}
