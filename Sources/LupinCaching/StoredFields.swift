// Selects the stored fields of a response, and updates them by a newer one (RFC 9111 §3.1, §3.2).

package import LupinCore
package import LupinPolicy

extension FieldSection {
    /// The fields to store: a copy with its own storage, without fields that must not be kept.
    ///
    /// - Parameters:
    ///   - directives: The directives of the response; the fields that its `no-cache` and `private`
    ///     list are dropped, the latter in a shared cache only.
    ///   - policy: The policy of the cache.
    ///   - receivedAt: Seconds since 1970; the Date of a response without one (RFC 9110 §6.6.1).
    ///   - isApart: They share no memory with a received head: they need no copy if all are kept.
    /// - Returns: The copy, which shares no memory with the received head.
    package func stored(
        _ directives: ResponseDirectives,
        policy: CachePolicy,
        receivedAt: Int64,
        isApart: Bool = false
    ) -> FieldSection {
        let excluded = excludedNames(directives, policy: policy)
        let keepsCookies = policy.keepsCookies(directives)
        if isApart, first(.date) != nil,
            !lines.contains(where: { isExcluded($0, excluded, keepsCookies) })
        {
            return self
        }
        var copy = FieldSection()
        // Once, instead of several times while they grow; the answer's length is added later.
        copy.lines.reserveCapacity(lines.count + 1)
        copy.storage.reserveCapacity(storage.count + Self.lengthLineMax)
        for line in lines where !isExcluded(line, excluded, keepsCookies) {
            copy.append(line, of: self)
        }
        if copy.first(.date) == nil { copy.add(name: "Date", value: HTTPDate.text(receivedAt)) }
        return copy
    }

    /// Room for a Content-Length, and for the little that differs in how lines are written.
    private static let lengthLineMax = 64

    /// The fields of an answer that is the whole of a response with these stored fields and this
    /// status, except Age.
    ///
    /// It shares its bytes with these fields, which get those of the length for that.
    mutating func whole(_ status: UInt16, length: UInt64) -> FieldSection {
        let answered = StoredResponse.wholeStatus(status)
        var kept: [Line] = []
        kept.reserveCapacity(lines.count + 1)
        for line in lines where line.isSent(with: answered, storedWith: status) {
            kept.append(line)
        }
        if answered != 204 { kept.append(makeLine(.contentLength, decimal: length)) }
        var whole = FieldSection()
        whole.storage = storage
        whole.lines = kept
        whole.names = names
        return whole
    }

    /// The stored fields after an update by a 304, or by a 200 to HEAD (§3.2).
    ///
    /// Every field of `newer` replaces the stored ones of its name, with the exceptions of §3.2:
    /// fields that §3.1 excludes from the store, and Content-Length. Content-Encoding and
    /// Content-Range are what «the cache's stored response depends upon»: the bytes are stored as
    /// received. Age describes the message that it came in, so the stored one is dropped even if
    /// there is no newer one; and so is Date.
    package func updated(
        by newer: FieldSection,
        _ directives: ResponseDirectives,
        policy: CachePolicy,
        receivedAt: Int64
    ) -> FieldSection {
        let additions = newer.stored(directives, policy: policy, receivedAt: receivedAt)
        var copy = FieldSection()
        for line in lines {
            if line.known == .age || additions.replaces(line, of: self) { continue }
            copy.append(line, of: self)
        }
        for line in additions.lines where !line.known.isBoundToContent {
            copy.append(line, of: additions)
        }
        return copy
    }

    private func replaces(_ line: Line, of other: FieldSection) -> Bool {
        if line.known.isBoundToContent { return false }
        if line.known != .other { return first(line.known) != nil }
        let name = other.storage.span.extracting(line.name.range)
        for own in lines where own.known == .other && nameEquals(own, name) { return true }
        return false
    }

    /// The names that Connection, `no-cache` and `private` list, in lower case.
    private func excludedNames(
        _ directives: ResponseDirectives,
        policy: CachePolicy
    ) -> [String] {
        var names = directives.noCacheFields
        if policy.isShared, !policy.ignored.contains(.private) {
            names += directives.privateFields
        }
        forEachMember(of: .connection) { names.append(String(copying: $0).lowercased()) }
        return names
    }

    private func isExcluded(_ line: Line, _ names: [String], _ keepsCookies: Bool) -> Bool {
        if line.isHopByHop || line.known.isNeverStored { return true }
        if line.known == .setCookie, !keepsCookies { return true }
        for name in names where nameEquals(line, name.utf8.span) { return true }
        return false
    }

    /// Appends a line of another section, byte by byte: values need not be UTF-8.
    mutating func append(_ line: Line, of other: FieldSection) {
        let name = other.storage.span.extracting(line.name.range)
        append(name: name, value: other.storage.span.extracting(line.value.range), line.known)
    }

    mutating func append(name: Span<UInt8>, value: Span<UInt8>, _ known: FieldName) {
        lines.append(makeLine(name: name, value: value, known: known))
    }
}

extension CachePolicy {
    /// Whether cookies that a response sets are stored with it, and so set for every client that
    /// gets it.
    ///
    /// In a shared cache they are meant for one user, unless the message that sets them says
    /// `public` itself: a 304 often renews the login of the client that asked.
    func keepsCookies(_ directives: ResponseDirectives) -> Bool {
        !isShared || (directives.flags.contains(.public) && !ignored.contains(.cookies))
    }
}

extension FieldSection.Line {
    /// Whether an answer with `status` has the line of a stored response with status `stored`: not
    /// what is said anew, about age and length.
    func isSent(with status: UInt16, storedWith stored: UInt16) -> Bool {
        switch known {
        case .age, .contentLength: false
        // In a 200 it has no meaning; it stays because the origin sent it.
        case .contentRange: status == 200 && stored != 206
        default: true
        }
    }
}

extension FieldName {
    /// Fields of the connection (RFC 9110 §7.6.1) or of a proxy on the way (RFC 9111 §3.1).
    fileprivate var isNeverStored: Bool {
        switch scope {
        case .connection, .proxy: true
        // A stored response has one length, and no trailers.
        case .framing: self != .contentLength
        case .target, .head, .message: false
        }
    }

    /// Fields that describe the stored bytes, so that no other response may change them.
    fileprivate var isBoundToContent: Bool {
        switch self {
        case .contentLength, .contentEncoding, .contentRange: true
        default: false
        }
    }
}
