// Parses how long a server keeps an idle connection.

/// The field `Keep-Alive` of a response, as servers have sent it since HTTP/1.0.
package enum KeepAliveField {
    /// Longer times count as this one.
    private static let secondsMax: UInt64 = 86400
    private static let prefix = "timeout="

    /// How long a connection may be idle and still be used for a request, in microseconds.
    ///
    /// That is `timeout` less a margin in which a request may be on its way: a quarter of it, but a
    /// second at most. Of several the shortest counts.
    /// - Returns: nil when the server does not say.
    package static func idleTime(in fields: FieldSection) -> UInt64? {
        var shortest: UInt64?
        fields.forEachMember(of: .keepAlive) { member in
            let count = prefix.utf8.count
            guard member.count > count,
                member.extracting(first: count).equalsIgnoringCase(prefix.utf8.span),
                let seconds = NumberReader.saturated(
                    member.extracting(count..<member.count),
                    at: secondsMax
                )
            else { return }
            shortest = min(shortest ?? seconds, seconds)
        }
        // Bounded: by `secondsMax`.
        return shortest.map { $0 * 1_000_000 - min($0 * 250_000, 1_000_000) }
    }
}
