// Masks secrets in a body that passes in pieces, whatever borders fall into a secret.

/// Replaces secrets in a body before it is kept.
///
/// Bytes are held back until it is certain that no secret begins in them and ends beyond.
package struct BodyMask {
    private let redactor: Redactor
    private let members: MemberRedaction
    private var held: [UInt8] = []
    private var isStart = true
    /// How many bytes at the end are held back.
    private let reach: Int
    /// A value to hide was longer than what may be held back: nothing more is passed on.
    package private(set) var isGivenUp = false

    /// Bytes that are masked together, at least.
    private static let stepBytes = 64 << 10
    /// Bytes that are held back, at most, for the end of a value to hide.
    private static let heldBytesMax = 1 << 20

    package init(_ redactor: Redactor, _ members: MemberRedaction) {
        self.redactor = redactor
        self.members = members
        reach = redactor.reach
    }

    /// Takes the next bytes, and appends to `output` what is certain now; with `isLast`, all of it.
    package mutating func mask(
        _ bytes: Span<UInt8>,
        isLast: Bool,
        into output: inout [UInt8]
    ) {
        if isGivenUp { return }
        held.append(copying: bytes)
        if isLast || held.count >= Self.stepBytes + reach {
            pass(upTo: isLast ? held.count : held.count - reach, isLast: isLast, &output)
        }
    }

    /// Appends what is certain now, for a reader who watches a body under way: for a stream of
    /// events, the whole ones.
    package mutating func flush(isEventStream: Bool, into output: inout [UInt8]) {
        if isGivenUp || held.isEmpty { return }
        var cut = held.count - reach
        if isEventStream, let end = held.lastIndex(of: 0x0A) { cut = max(cut, end + 1) }
        if cut > 0 { pass(upTo: cut, isLast: false, &output) }
    }

    private mutating func pass(upTo cut: Int, isLast: Bool, _ output: inout [UInt8]) {
        let (clean, taken) = redactor.masked(
            held.span,
            members,
            upTo: cut,
            isStart: isStart,
            isLast: isLast
        )
        output.append(contentsOf: clean)
        held.removeFirst(taken)
        if taken > 0 { isStart = false }
        if held.count > Self.heldBytesMax {
            isGivenUp = true
            held = []
        }
    }
}
