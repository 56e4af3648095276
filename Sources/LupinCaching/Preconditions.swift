// Evaluates a client's conditions on a stored response (RFC 9110 §13.2.2, RFC 9111 §4.3.2).

package import LupinCore

/// The part of a stored response that a client gets.
package enum CacheAnswer: Sendable, Equatable {
    case full
    /// 304: the client has the representation already.
    case notModified
    /// 206, with one range or several.
    case ranges([Range<UInt64>])
    /// 416: none of the requested ranges exists.
    case rangeNotSatisfiable(length: UInt64)
}

/// The condition of If-Range for sending a range (RFC 9110 §13.1.5).
package enum IfRange: Sendable, Equatable {
    case tag(EntityTag)
    /// Seconds since 1970.
    case date(Int64)
    /// Neither a tag nor a date, or two lines: never true.
    case invalid

    /// The condition of a request; nil when it has no such field.
    package init?(of fields: FieldSection) {
        guard let line = fields.first(.ifRange) else { return nil }
        let text = fields.storage.span.extracting(line.value.range)
        if fields.count(of: .ifRange) > 1 {
            self = .invalid
        } else if let tag = EntityTag(text) {
            self = .tag(tag)
        } else if let date = HTTPDate.seconds(of: text, now: Freshness.centuryReference) {
            self = .date(date)
        } else {
            self = .invalid
        }
    }
}

extension StoredResponse {
    /// What the client gets when the response is served, fresh or validated.
    ///
    /// If-None-Match precedes If-Modified-Since, and both precede Range. If-Match and
    /// If-Unmodified-Since were left to the origin (`BypassReason.precondition`).
    package func answer(to head: RequestHead, _ asked: CacheRequest) -> CacheAnswer {
        // §13.2.1: conditions apply only to responses that would be successful.
        guard status == 200 || status == 206 || status == 203 else { return .full }
        if isNotModified(for: head.fields) { return .notModified }
        guard let ranges = asked.ranges, status != 203 else { return .full }
        if let condition = asked.ifRange, !holdsFor(condition) { return .full }
        guard let length = content.completeLength else { return unmeasured(ranges) }
        let resolved = ranges.resolved(length: length)
        return resolved.isEmpty ? .rangeNotSatisfiable(length: length) : .ranges(resolved)
    }

    /// Whether the client's conditions show that it has the response already.
    func isNotModified(for fields: FieldSection) -> Bool {
        switch EntityTagList.find(etag, in: .ifNoneMatch, of: fields) {
        case .matches: return true
        case .differs: return false
        case .absent: break
        }
        // A field on two lines is not a valid date (§13.1.3).
        guard fields.count(of: .ifModifiedSince) == 1,
            let since = fields.moment(.ifModifiedSince, now: freshness.date)
        else { return false }
        // RFC 9111 §4.3.2: without Last-Modified, Date is used instead.
        return (lastModified ?? freshness.date) <= since
    }

    /// Whether If-Match or If-Unmodified-Since asks for another representation (RFC 9110 §13.1.1,
    /// §13.1.4): for a response whose origin is lupin itself.
    package func failsPrecondition(of fields: FieldSection) -> Bool {
        if fields.names.contains(.ifMatch) {
            let isAny = fields.lines.contains { line in
                let text = fields.storage.span.extracting(line.value.range)
                return line.known == .ifMatch && text.isWord("*")
            }
            guard let etag, !isAny else { return !isAny }
            return !EntityTagList.tags(in: .ifMatch, of: fields).contains {
                etag.matchesStrongly($0)
            }
        }
        guard fields.count(of: .ifUnmodifiedSince) == 1, let lastModified,
            let since = fields.moment(.ifUnmodifiedSince, now: freshness.date)
        else { return false }
        return lastModified > since
    }

    /// Whether the condition allows sending ranges; by strong comparison only.
    ///
    /// Last-Modified is strong when it is older than Date by a second (RFC 9110 §8.8.2.2).
    func holdsFor(_ condition: IfRange) -> Bool {
        switch condition {
        case .tag(let tag): etag?.matchesStrongly(tag) ?? false
        case .date(let date):
            lastModified.map { $0 == date && $0 < freshness.date } ?? false
        case .invalid: false
        }
    }

    /// Ranges of a representation of unknown length; all have explicit ends, or `reuse` would have
    /// refused them.
    private func unmeasured(_ request: RangeRequest) -> CacheAnswer {
        var ranges: [Range<UInt64>] = []
        for part in request.parts {
            guard case .from(let first, let last?) = part, content.holds(first..<(last + 1)) else {
                return .full
            }
            ranges.append(first..<(last + 1))
        }
        return .ranges(ranges)
    }
}
