// Validates stored responses, and evaluates the origin's response (RFC 9111 §4.3).

package import LupinCore
package import LupinPolicy

/// The conditions of a request that validates stored responses (§4.3.1).
package struct ValidationConditions: Sendable, Equatable {
    /// The maximum number of tags; further ones are left out.
    package static let tagsMax = 64

    /// The value of If-None-Match; nil for none.
    package fileprivate(set) var ifNoneMatch: [UInt8]?
    /// The value of If-Modified-Since, as the origin wrote it; nil for none.
    package fileprivate(set) var ifModifiedSince: [UInt8]?
    /// The tags of stored responses.
    fileprivate var ownTags: [EntityTag] = []

    /// Replaces the client's conditions by these.
    ///
    /// Range and If-Range stay: after a 304 they apply to the stored response, and any other
    /// response is what the client requested.
    package func apply(to head: inout RequestHead) {
        head.fields.lines.removeAll {
            $0.known == .ifNoneMatch || $0.known == .ifModifiedSince
        }
        if let ifNoneMatch {
            head.fields.append(
                name: "If-None-Match".utf8.span,
                value: ifNoneMatch.span,
                .ifNoneMatch
            )
        }
        if let ifModifiedSince {
            head.fields.append(
                name: "If-Modified-Since".utf8.span,
                value: ifModifiedSince.span,
                .ifModifiedSince
            )
        }
    }
}

/// The meaning of the origin's response to a validation.
package enum ValidationOutcome: Sendable, Equatable {
    /// The stored responses `updated` are fresh again; the client gets `serve`, according to its
    /// own conditions (`StoredResponse.answer`).
    case freshen(serve: Int, updated: [Int])
    /// The client gets the new response. It is stored if possible, and the selected one is dropped
    /// in any case; but a 206 is combined with it if possible (`combine`).
    case replace
    /// The client gets the new response, which says nothing about the resource: the selected one is
    /// dropped only if the new one is stored.
    case deliver
    /// The client gets the stored response nevertheless (RFC 5861 §4).
    case serveStale
    /// A 304 that matches neither a stored response nor the client's: the request is sent again
    /// without conditions.
    case askAgain
}

/// The effect of a 200 to HEAD on a stored response to GET (§4.3.5).
package enum HeadEffect: Sendable, Equatable {
    case update
    /// It is another representation: the stored one is stale.
    case invalidate
    case none
}

extension StoredResponse {
    /// The conditions that validate `candidates`, all under one key; nil when they have no
    /// validators: then the request is sent unchanged.
    ///
    /// The tag of the selected response comes first, then those of the other variants (§4.1), and
    /// then the client's own (§4.3.2 allows their union). A weak tag of another variant is left
    /// out: it may stand for several codings, and the client may not know them all.
    ///
    /// `selected` is the response that matches the request; nil when no variant does.
    package static func conditions(
        for candidates: [StoredResponse],
        selected: Int?,
        request: RequestHead,
        asked: CacheRequest
    ) -> ValidationConditions? {
        var conditions = ValidationConditions()
        if let selected, candidates.indices.contains(selected) {
            let response = candidates[selected]
            if let tag = response.etag { conditions.ownTags.append(tag) }
            if let line = response.fields.first(.lastModified), response.lastModified != nil {
                let value = response.fields.storage.span.extracting(line.value.range)
                conditions.ifModifiedSince = [UInt8](copying: value)
            }
        }
        for i in candidates.indices where i != selected {
            guard let tag = candidates[i].etag, !tag.isWeak, !conditions.ownTags.contains(tag),
                candidates[i].content.isComplete,
                conditions.ownTags.count < ValidationConditions.tagsMax
            else { continue }
            conditions.ownTags.append(tag)
        }
        guard !conditions.ownTags.isEmpty || conditions.ifModifiedSince != nil else { return nil }
        conditions.ifNoneMatch = list(conditions.ownTags, request.fields)
        return conditions
    }

    /// Our tags followed by the client's; nil when there are none of ours.
    private static func list(_ own: [EntityTag], _ client: FieldSection) -> [UInt8]? {
        guard !own.isEmpty else { return nil }
        var tags = own
        for tag in EntityTagList.tags(in: .ifNoneMatch, of: client) where !tags.contains(tag) {
            guard tags.count < ValidationConditions.tagsMax else { break }
            tags.append(tag)
        }
        var value: [UInt8] = []
        for tag in tags {
            if !value.isEmpty { value += [0x2C, 0x20] }
            value += tag.bytes
        }
        return value
    }

    /// The meaning of a response of the origin; for a missing one, see `StaleUse.onError`.
    ///
    /// `mayServe` is the result of `reuse`.
    package static func outcome(
        of response: ResponseHead,
        for candidates: [StoredResponse],
        selected: Int?,
        conditions: ValidationConditions?,
        request: RequestHead,
        mayServe: StaleUse
    ) -> ValidationOutcome {
        guard response.status == 304 else {
            // §4.3.3: a server error may be treated as no response.
            if StaleWindows.isError(response.status), mayServe == .onError, selected != nil {
                return .serveStale
            }
            // What RFC 9110 §13.2.2 demands of a server that does not know QUERY as safe.
            if response.status == 412, request.method == .query, conditions != nil {
                return .askAgain
            }
            return response.status.tellsOfResource ? .replace : .deliver
        }
        // Without conditions of ours it answers the client's.
        guard let conditions else { return .deliver }
        let updated = freshened(by: response.fields, candidates, selected, conditions)
        // Another variant is served only when it is complete.
        let served =
            updated.first { $0 == selected } ?? updated.first { candidates[$0].content.isComplete }
        if let serve = served {
            return .freshen(serve: serve, updated: updated)
        }
        return isAboutClient(response.fields, request.fields) ? .deliver : .askAgain
    }

    /// The stored responses that a 304 confirms (§4.3.4).
    ///
    /// A strong tag confirms all responses that have it, and no other. Weak validators confirm the
    /// selected response if it has them all, else the latest one that has. Without validators it
    /// confirms the one response whose
    /// validators were sent: §4.3.4 allows that for one stored response without validators only,
    /// but 304s without ETag are common, and the condition itself identifies the response.
    private static func freshened(
        by newer: FieldSection,
        _ candidates: [StoredResponse],
        _ selected: Int?,
        _ conditions: ValidationConditions
    ) -> [Int] {
        let tag = EntityTag(of: newer)
        if let tag, !tag.isWeak {
            return candidates.indices.filter { candidates[$0].etag?.matchesStrongly(tag) ?? false }
        }
        let modified = newer.moment(.lastModified, now: Freshness.centuryReference)
        if tag == nil, modified == nil {
            let isAlone = conditions.ownTags.count <= 1
            return isAlone ? selected.map { [$0] } ?? [] : []
        }
        let matching = candidates.indices.filter { i in
            let response = candidates[i]
            let hasTag = tag.map { response.etag?.matchesWeakly($0) ?? false } ?? true
            let hasDate = modified.map { response.lastModified == $0 } ?? true
            return hasTag && hasDate
        }
        if let selected, matching.contains(selected) { return [selected] }
        let latest = matching.max { candidates[$1].isLater(than: candidates[$0]) }
        // A weak tag of another variant is no reason to serve it: see `conditions`.
        return latest.flatMap { selected == nil ? nil : [$0] } ?? []
    }

    /// Whether a 304 answers the client's own conditions.
    private static func isAboutClient(_ newer: FieldSection, _ client: FieldSection) -> Bool {
        if let tag = EntityTag(of: newer), client.first(.ifNoneMatch) != nil {
            return EntityTagList.find(tag, in: .ifNoneMatch, of: client) == .matches
        }
        return client.first(.ifModifiedSince) != nil && client.first(.ifNoneMatch) == nil
    }
}

/// A stored response after an update.
package struct RenewedResponse: Sendable {
    /// The response to the request that brought the update.
    package let response: StoredResponse
    /// What becomes of the stored one.
    package let outcome: Outcome
    /// The cookies that the update sets are only for the client that asked, so the response lacks
    /// them.
    package let lacksCookies: Bool

    package enum Outcome: Sendable {
        /// It is replaced by `response`.
        case renewed
        /// It stays as it was, since the update is for one user.
        case unchanged
        /// It must not be stored any more.
        case removed
    }
}

extension StoredResponse {
    /// Updates the response by a 304, a 200 to HEAD or a further part (§3.2, §4.3.4).
    ///
    /// What could not have been stored is not stored as an update either: in a shared cache neither
    /// what an authenticated request brought (§3.5) nor cookies.
    ///
    /// - Parameters:
    ///   - newer: The response that brings the update.
    ///   - request: That of the look-up, which gives the values for Vary.
    ///   - attachments: What lupin attached to it.
    ///   - content: What is held, if that has grown.
    ///   - policy: The policy of the cache.
    ///   - requestTimeUs: When the request that brought `newer` was sent.
    ///   - responseTimeUs: When `newer` was received.
    /// - Returns: The response to serve, and what becomes of the stored one.
    package func renewed(
        by newer: ResponseHead,
        request: RequestHead,
        attachments: Attachments,
        content: HeldContent? = nil,
        policy: CachePolicy,
        requestTimeUs: Int64,
        responseTimeUs: Int64
    ) -> RenewedResponse {
        let said = ResponseDirectives(newer.fields, targeted: policy.targeted)
        var head = ResponseHead(status: status)
        head.fields = fields.updated(
            by: newer.fields,
            said,
            policy: policy,
            receivedAt: responseTimeUs / 1_000_000
        )
        let directives = ResponseDirectives(head.fields, targeted: policy.targeted)
        let vary =
            newer.fields.first(.vary) == nil
            ? self.vary : VaryKey(of: head.fields, request: request.fields, policy: policy)
        let response = StoredResponse(
            head,
            vary: vary ?? self.vary,
            content: content ?? self.content,
            policy: policy,
            requestTimeUs: requestTimeUs,
            responseTimeUs: responseTimeUs
        )
        let outcome: RenewedResponse.Outcome =
            if vary == nil || policy.forbids(directives) {
                .removed
            } else if policy.isForOneUser(request, directives, attachments) {
                .unchanged
            } else {
                .renewed
            }
        return RenewedResponse(
            response: response,
            outcome: outcome,
            lacksCookies: newer.fields.first(.setCookie) != nil && !policy.keepsCookies(said)
        )
    }

    /// The effect of a response to HEAD (§4.3.5): an update when length, ETag and Last-Modified, as
    /// far as it has them, are the same.
    package func effect(ofHead newer: ResponseHead) -> HeadEffect {
        guard newer.status == 200, status == 200 else { return .none }
        if newer.fields.first(.etag) != nil {
            guard let tag = EntityTag(of: newer.fields), tag == etag else { return .invalidate }
        }
        if newer.fields.first(.lastModified) != nil {
            let modified = newer.fields.moment(.lastModified, now: freshness.date)
            guard modified == lastModified else { return .invalidate }
        }
        if let line = newer.fields.first(.contentLength), let length = content.completeLength {
            let text = newer.fields.storage.span.extracting(line.value.range)
            guard String(copying: text) == String(length) else { return .invalidate }
        }
        return .update
    }
}

extension CachePolicy {
    /// Whether a response that is stored must go because of what an update says.
    fileprivate func forbids(_ directives: ResponseDirectives) -> Bool {
        let flags = directives.flags
        if flags.contains(.private), isShared, !ignored.contains(.private) { return true }
        return flags.contains(.noStore) && !flags.contains(.mustUnderstand)
            && !ignored.contains(.noStore)
    }
}

extension UInt16 {
    /// Whether a response of this status shows that a stored one is outdated.
    ///
    /// Other errors are about the client, the request or the server, such as 401 or 429.
    fileprivate var tellsOfResource: Bool {
        (200...399).contains(self) || self == 404 || self == 410
    }
}
