// Decides which stored responses a request makes stale (RFC 9111 §4.4).

package import LupinCore

/// A URL whose stored responses may no longer be served without validation.
package struct InvalidatedTarget: Sendable, Hashable {
    package let origin: Origin
    /// Begins with `/`; without a fragment.
    package let pathAndQuery: String

    package init(origin: Origin, pathAndQuery: String) {
        self.origin = origin
        self.pathAndQuery = pathAndQuery
    }
}

/// The URLs that a response to an unsafe request invalidates.
package enum Invalidation {
    /// The invalidated URLs, each once: those of the request, and those that Location and
    /// Content-Location name at the same origin.
    ///
    /// None after a safe method, after CONNECT, or when the response is an error: §4.4 demands
    /// invalidation after 2xx and 3xx only.
    ///
    /// `targets` are the client's URL and the one that was sent; they differ when a step rewrote
    /// the URL.
    package static func targets(
        of targets: [InvalidatedTarget],
        method: Method,
        response: ResponseHead
    ) -> [InvalidatedTarget] {
        guard !method.isSafe, method != .connect, (200...399).contains(response.status) else {
            return []
        }
        var found: [InvalidatedTarget] = []
        for target in targets where !found.contains(target) { found.append(target) }
        for base in targets {
            let names = ["Location", "Content-Location"]
            for value in names.flatMap({ response.fields.lineValues(of: $0) }) {
                guard let target = resolve(value, at: base), !found.contains(target) else {
                    continue
                }
                found.append(target)
            }
        }
        return found
    }

    /// The target of a reference, if it has the same origin: another origin must not be able to
    /// invalidate responses of this one.
    private static func resolve(_ value: [UInt8], at base: InvalidatedTarget) -> InvalidatedTarget?
    {
        guard let reference = try? URIReference(fieldValue: value.span) else { return nil }
        let current = URIReference(origin: base.origin, pathAndQuery: base.pathAndQuery)
        let target = reference.resolved(against: current)
        guard target.scheme == base.origin.scheme.name, let authority = target.authority,
            isAuthority(authority, of: base.origin)
        else { return nil }
        var bytes = target.path.isEmpty ? [0x2F] : target.path
        if let query = target.query { bytes += [0x3F] + query }
        return InvalidatedTarget(
            origin: base.origin,
            pathAndQuery: String(decoding: bytes, as: UTF8.self)
        )
    }

    /// Whether `host[:port]` is that of the origin.
    private static func isAuthority(_ authority: [UInt8], of origin: Origin) -> Bool {
        let bracket = authority.lastIndex(of: 0x5D) ?? 0
        let colon = authority[bracket...].lastIndex(of: 0x3A)
        let name = authority[..<(colon ?? authority.count)]
        guard let host = try? Host(parsing: name.span), host == origin.host else { return false }
        guard let colon, colon + 1 < authority.count else {
            return origin.port == origin.scheme.defaultPort
        }
        return String(decoding: authority[(colon + 1)...], as: UTF8.self) == String(origin.port)
    }
}

extension FieldSection {
    fileprivate func lineValues(of name: String) -> [[UInt8]] {
        var values: [[UInt8]] = []
        for line in lines where nameEquals(line, name.utf8.span) {
            values.append([UInt8](copying: storage.span.extracting(line.value.range)))
        }
        return values
    }
}
