// When an attempt was made, for traces.

/// When an attempt began and ended, and the span that it is; only where an exchange is traced.
///
/// A class, since it lies in every record of an attempt, and nearly all have none.
package final class AttemptSpan: Sendable {
    package let id: SpanID
    /// Microseconds since 1970.
    package let begun: Int64
    /// When its response was there, or its failure; the body may follow.
    package let ended: Int64

    package init(_ id: SpanID, begun: Int64, ended: Int64) {
        self.id = id
        self.begun = begun
        self.ended = ended
    }
}
