// Which bytes of a representation are held, and when two parts make more (RFC 9111 §3.3, §3.4).

/// The content that a stored response has: all of it, or some ranges.
package struct HeldContent: Sendable, Equatable {
    /// Beyond so many pieces a further one is not kept.
    package static let rangesMax = 64

    /// Sorted, not empty, with gaps between them.
    package private(set) var ranges: [Range<UInt64>]
    /// Bytes of the whole representation; nil where nobody knows.
    package private(set) var completeLength: UInt64?

    /// A complete representation.
    package init(complete length: UInt64) {
        ranges = length > 0 ? [0..<length] : []
        completeLength = length
    }

    /// What a 206 brought, or a 200 that broke off (§3.3).
    package init(range: Range<UInt64>, completeLength: UInt64?) {
        ranges = range.isEmpty ? [] : [range]
        self.completeLength = completeLength
    }

    /// Whether every byte is there.
    package var isComplete: Bool {
        guard let completeLength else { return false }
        return completeLength == 0 || holds(0..<completeLength)
    }

    /// Whether every byte of `range` is there.
    package func holds(_ range: Range<UInt64>) -> Bool {
        if range.isEmpty { return true }
        return ranges.contains {
            $0.lowerBound <= range.lowerBound && range.upperBound <= $0.upperBound
        }
    }

    /// Adds a range; false and unchanged if it would be a piece too many.
    @discardableResult
    package mutating func insert(_ range: Range<UInt64>) -> Bool {
        if range.isEmpty { return true }
        var merged = range
        var others: [Range<UInt64>] = []
        for held in ranges {
            // Ranges that touch become one.
            if held.upperBound < merged.lowerBound || merged.upperBound < held.lowerBound {
                others.append(held)
            } else {
                let start = min(held.lowerBound, merged.lowerBound)
                merged = start..<max(held.upperBound, merged.upperBound)
            }
        }
        guard others.count < HeldContent.rangesMax else { return false }
        let place = others.firstIndex { merged.upperBound < $0.lowerBound } ?? others.count
        others.insert(merged, at: place)
        ranges = others
        return true
    }

    /// What of `range` is not there, in order.
    package func missing(in range: Range<UInt64>) -> [Range<UInt64>] {
        var missing: [Range<UInt64>] = []
        var start = range.lowerBound
        for held in ranges where held.upperBound > start && held.lowerBound < range.upperBound {
            if held.lowerBound > start { missing.append(start..<held.lowerBound) }
            start = max(start, held.upperBound)
        }
        if start < range.upperBound { missing.append(start..<range.upperBound) }
        return missing
    }

    fileprivate mutating func learn(_ length: UInt64?) {
        completeLength = completeLength ?? length
    }
}

/// What becomes of a new part beside those that are stored.
package enum CombineDecision: Sendable, Equatable {
    /// Both are of one representation: the bytes go to `at`, and `content` is what is held then.
    case combine(at: UInt64, HeldContent)
    /// The new one is stored alone; the reason is for the record.
    case replace(reason: String)
}

extension StoredResponse {
    /// Whether a 206 can be combined with this response (RFC 9111 §3.4): both have the same strong
    /// validator.
    ///
    /// The stored fields become those of `updated(by:)`, as the newest response has them.
    package func combine(_ newer: ResponseHead) -> CombineDecision {
        guard newer.status == 206, let place = ContentRange(of: newer.fields),
            let range = place.range
        else { return .replace(reason: "it is not a single range") }
        guard let etag, let other = EntityTag(of: newer.fields), etag.matchesStrongly(other) else {
            return .replace(reason: "there is no common strong validator")
        }
        if let length = place.completeLength, let known = content.completeLength, length != known {
            return .replace(reason: "the lengths differ")
        }
        var combined = content
        combined.learn(place.completeLength)
        guard combined.insert(range) else { return .replace(reason: "there are too many pieces") }
        return .combine(at: range.lowerBound, combined)
    }

    /// The fields of a request for what is missing in order to answer: Range and If-Range.
    ///
    /// nil where the parts have no strong validator, for then nothing may be combined; or where
    /// there are several gaps: then the whole is one request.
    package func completion(of wanted: Range<UInt64>?) -> (range: String, ifRange: String)? {
        guard !content.isComplete, let etag, !etag.isWeak else { return nil }
        let whole: Range<UInt64>
        if let wanted {
            whole = wanted
        } else {
            whole = 0..<(content.completeLength ?? UInt64.max)
        }
        let missing = content.missing(in: whole)
        guard missing.count == 1, let gap = missing.first else { return nil }
        let isOpen = gap.upperBound == (content.completeLength ?? UInt64.max)
        let end = isOpen ? "" : "\(gap.upperBound - 1)"
        return ("bytes=\(gap.lowerBound)-\(end)", etag.text)
    }
}

extension ResponseHead {
    /// What is held of a 200 whose body broke off after `received` bytes (§3.3); nil if the part
    /// is of no use: it could be completed by nobody.
    package func brokenOff(received: UInt64, contentLength: UInt64?) -> HeldContent? {
        guard status == 200, received > 0, let etag = EntityTag(of: fields), !etag.isWeak,
            contentLength.map({ received < $0 }) ?? true
        else { return nil }
        return HeldContent(range: 0..<received, completeLength: contentLength)
    }
}
