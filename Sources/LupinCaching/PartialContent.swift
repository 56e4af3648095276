// The held ranges of a representation, and their combination (RFC 9111 §3.3, §3.4).

package import LupinCore

/// The content that is held of a stored response: all of it, or some ranges.
package struct HeldContent: Sendable, Equatable {
    /// The maximum number of ranges; a further one is not kept.
    package static let rangesMax = 64

    /// Sorted, not empty, with gaps between them.
    package private(set) var ranges: [Range<UInt64>]
    /// The length of the whole representation; nil when unknown.
    package private(set) var completeLength: UInt64?

    /// A complete representation.
    package init(complete length: UInt64) {
        ranges = length > 0 ? [0..<length] : []
        completeLength = length
    }

    /// The range of a 206, or of a 200 that broke off (§3.3).
    package init(range: Range<UInt64>, completeLength: UInt64?) {
        ranges = range.isEmpty ? [] : [range]
        self.completeLength = completeLength
    }

    /// Whether every byte is held.
    package var isComplete: Bool {
        guard let completeLength else { return false }
        return completeLength == 0 || holds(0..<completeLength)
    }

    /// Whether every byte of `range` is held.
    package func holds(_ range: Range<UInt64>) -> Bool {
        if range.isEmpty { return true }
        return ranges.contains {
            $0.lowerBound <= range.lowerBound && range.upperBound <= $0.upperBound
        }
    }

    /// Adds a range; returns false, without a change, when there would be too many.
    @discardableResult
    package mutating func insert(_ range: Range<UInt64>) -> Bool {
        if range.isEmpty { return true }
        var merged = range
        var others: [Range<UInt64>] = []
        for held in ranges {
            // Adjacent ranges are merged.
            if held.upperBound < merged.lowerBound || merged.upperBound < held.lowerBound {
                others.append(held)
            } else {
                let start = min(held.lowerBound, merged.lowerBound)
                merged = start..<max(held.upperBound, merged.upperBound)
            }
        }
        guard others.count < HeldContent.rangesMax else { return false }
        let position = others.firstIndex { merged.upperBound < $0.lowerBound } ?? others.count
        others.insert(merged, at: position)
        ranges = others
        return true
    }

    /// The parts of `range` that are not held, in order.
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

    /// The number of held bytes.
    package var heldBytes: UInt64 { heldBytes(before: .max) }

    /// How many held bytes precede `position`: its position when the held bytes are stored one
    /// behind the other.
    package func heldBytes(before position: UInt64) -> UInt64 {
        var bytes: UInt64 = 0
        for held in ranges where held.lowerBound < position {
            bytes += min(held.upperBound, position) - held.lowerBound
        }
        return bytes
    }

    /// The position of `range`, which must be held, among the held bytes.
    package func position(of range: Range<UInt64>) -> Range<UInt64> {
        let start = heldBytes(before: range.lowerBound)
        return start..<(start + UInt64(range.count))
    }

    fileprivate mutating func learn(_ length: UInt64?) {
        completeLength = completeLength ?? length
    }
}

/// How a new part relates to the stored ones.
package enum CombineDecision: Sendable, Equatable {
    /// Both are of one representation: the bytes go to `at`, and the content is what is held then.
    case combine(at: UInt64, HeldContent)
    /// The new part is stored alone; the reason is for the record.
    case replace(reason: String)
}

extension StoredResponse {
    /// Decides whether a 206 can be combined with this response (RFC 9111 §3.4): both must have the
    /// same strong validator.
    ///
    /// The stored fields are updated by `updated(by:)`, as the newest response demands.
    package func combine(_ newer: ResponseHead) -> CombineDecision {
        guard newer.status == 206, let part = ContentRange(of: newer.fields) else {
            return .replace(reason: "it is not a single range")
        }
        return combine(newer, part)
    }

    /// Does the same for an incomplete response: a 206 or a 200 may have broken off.
    package func combine(_ newer: ResponseHead, _ part: ContentRange) -> CombineDecision {
        guard let range = part.range else { return .replace(reason: "it is not a single range") }
        guard let etag, let other = EntityTag(of: newer.fields), etag.matchesStrongly(other) else {
            return .replace(reason: "there is no common strong validator")
        }
        if let length = part.completeLength, let known = content.completeLength, length != known {
            return .replace(reason: "the lengths differ")
        }
        // A 206 may omit the coding (RFC 9110 §15.3.7), but not have another one.
        let coding = newer.fields.values(of: "Content-Encoding")
        guard coding.isEmpty || coding == fields.values(of: "Content-Encoding") else {
            return .replace(reason: "the content codings differ")
        }
        var combined = content
        combined.learn(part.completeLength)
        guard combined.insert(range) else { return .replace(reason: "there are too many pieces") }
        if let length = combined.completeLength, let last = combined.ranges.last,
            last.upperBound > length
        {
            return .replace(reason: "the lengths differ")
        }
        return .combine(at: range.lowerBound, combined)
    }

    /// Whether all the content that the request wants is held.
    package func suffices(for asked: CacheRequest) -> Bool { missing(for: asked) == nil }

    /// The request for the missing parts of the answer to `asked`; nil when the request should be
    /// sent unchanged, because the held parts are of no use or can't be combined.
    package func completion(for asked: CacheRequest) -> PartCompletion? {
        if asked.isHead { return nil }
        guard let ranges = wanted(by: asked) else { return completion(of: nil) }
        guard ranges.parts.count == 1, let part = ranges.parts.first else { return nil }
        if let length = content.completeLength {
            return ranges.resolved(length: length).first.flatMap { completion(of: $0) }
        }
        guard case .from(let first, let last?) = part else { return nil }
        return completion(of: first..<(last + 1))
    }

    /// The request for the missing part of `wanted`, or of the whole for nil.
    ///
    /// Returns nil when the parts have no strong validator, since they can't be combined, or when
    /// nothing would be saved. Of several gaps it requests the span from the first to the last.
    package func completion(of wanted: Range<UInt64>?) -> PartCompletion? {
        guard !content.isComplete, let etag, !etag.isWeak else { return nil }
        let end = content.completeLength ?? UInt64.max
        let whole = wanted ?? 0..<end
        let missing = content.missing(in: whole)
        guard let first = missing.first, let last = missing.last else { return nil }
        let gap = first.lowerBound..<last.upperBound
        // Neither the beginning nor the end is held.
        guard gap != whole else { return nil }
        return PartCompletion(gap: gap, isToEnd: gap.upperBound == end, tag: etag)
    }
}

/// A request for the missing bytes (RFC 9110 §13.1.5): the response has the same representation, or
/// another one as a whole.
package struct PartCompletion: Sendable, Equatable {
    /// The missing range; up to the largest number when the end is unknown.
    package let gap: Range<UInt64>
    /// Whether Range is sent without an end.
    fileprivate let isToEnd: Bool
    fileprivate let tag: EntityTag

    /// The value of Range.
    package var range: String {
        "bytes=\(gap.lowerBound)-\(isToEnd ? "" : "\(gap.upperBound - 1)")"
    }

    /// The value of If-Range.
    package var ifRange: String { tag.text }

    /// Replaces the client's Range and If-Range.
    package func apply(to head: inout RequestHead) {
        head.fields.lines.removeAll { $0.known == .range || $0.known == .ifRange }
        head.fields.append(name: "Range".utf8.span, value: range.utf8.span, .range)
        head.fields.append(name: "If-Range".utf8.span, value: tag.bytes.span, .ifRange)
    }

    /// The part that a response brings; nil unless it is exactly the gap.
    ///
    /// The content's length must be known, too, since the client is promised a length that depends
    /// on it.
    package func part(of response: ResponseHead, contentLength: UInt64?) -> ContentRange? {
        guard response.status == 206, let part = ContentRange(of: response.fields),
            let range = part.range, contentLength == UInt64(range.count),
            range.lowerBound == gap.lowerBound
        else { return nil }
        let end = gap.upperBound == .max ? part.completeLength : gap.upperBound
        return range.upperBound == end ? part : nil
    }
}

extension ResponseHead {
    /// The held part of a 200 whose body broke off after `received` bytes (§3.3); nil when it could
    /// never be completed.
    package func brokenOff(received: UInt64, contentLength: UInt64?) -> HeldContent? {
        guard status == 200, received > 0, let etag = EntityTag(of: fields), !etag.isWeak,
            contentLength.map({ received < $0 }) ?? true
        else { return nil }
        return HeldContent(range: 0..<received, completeLength: contentLength)
    }
}
