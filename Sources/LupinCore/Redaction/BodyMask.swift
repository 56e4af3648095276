// Masks secrets in a body that passes in pieces, whatever borders fall into a secret.

/// What to mask in bodies; one object for all of them.
package final class BodySecrets: Sendable {
    package let redactor: Redactor
    fileprivate let reach: Int

    package init(_ redactor: Redactor) {
        self.redactor = redactor
        reach = redactor.reach
    }

    // A method here, since a call of a redactor in another object copies it first.

    /// The bytes without secrets; nil where there are none in them.
    package func cleaned(_ bytes: Span<UInt8>) -> [UInt8]? { redactor.cleaned(bytes) }

    /// The text without secrets.
    package func cleaned(_ text: String) -> String { redactor.cleaned(text) }

    /// What a mask knows of its place in a body.
    fileprivate struct Position {
        var cut: Int
        var isStart: Bool
        var isLast: Bool
        var isCut: Bool
    }

    fileprivate func masked(
        _ bytes: Span<UInt8>,
        _ position: Position
    ) -> (text: [UInt8]?, taken: Int) {
        redactor.masked(
            bytes,
            upTo: position.cut,
            isStart: position.isStart,
            isLast: position.isLast,
            isCut: position.isCut
        )
    }
}

/// Replaces secrets in a body before it is kept.
///
/// Bytes are held back until it is certain that no secret begins in them and ends beyond.
package struct BodyMask {
    private let secrets: BodySecrets
    private var held: [UInt8] = []
    private var isStart = true
    /// A value to hide was longer than what may be held back: nothing more is passed on.
    package private(set) var isGivenUp = false

    /// Bytes that are masked together, at least.
    private let stepBytes: Int
    /// Bytes that are held back, at most, for the end of a value to hide.
    private static let heldBytesMax = 1 << 20

    package init(_ secrets: BodySecrets, stepBytes: Int = 64 << 10) {
        self.secrets = secrets
        self.stepBytes = stepBytes
    }

    /// How many bytes at the end are held back.
    private var reach: Int { secrets.reach }

    /// Takes the next bytes, and appends to `output` what is certain now; with `isLast`, all of it.
    ///
    /// With `isCut` the body went on: what may be the beginning of a secret is masked at its end.
    package mutating func mask(
        _ bytes: [UInt8],
        isLast: Bool,
        isCut: Bool = false,
        into output: inout [UInt8]
    ) {
        if isGivenUp { return }
        if held.isEmpty {
            held = bytes
        } else if !bytes.isEmpty {
            held += bytes
        }
        if isCut { dropCutEscape() }
        if isLast || held.count >= stepBytes + reach {
            let cut = isLast ? held.count : held.count - reach
            pass(upTo: cut, isLast: isLast, isCut: isCut, &output)
        }
    }

    /// Drops an escape (`%XX`, `\uXXXX`) at the end that may not be whole.
    private mutating func dropCutEscape() {
        let end = held.suffix(5)
        let mark = end.lastIndex { $0 == 0x5C } ?? held.suffix(2).lastIndex { $0 == 0x25 }
        if let mark { held.removeSubrange(mark...) }
    }

    /// Appends what is final by now, for an inspector that watches the body: of a stream of events,
    /// the whole ones.
    package mutating func flush(isEventStream: Bool, into output: inout [UInt8]) {
        if isGivenUp || held.isEmpty { return }
        var cut = held.count - reach
        if isEventStream, let end = held.lastIndex(of: 0x0A) { cut = max(cut, end + 1) }
        if cut > 0 { pass(upTo: cut, isLast: false, isCut: false, &output) }
    }

    private mutating func pass(upTo cut: Int, isLast: Bool, isCut: Bool, _ output: inout [UInt8]) {
        let position = BodySecrets.Position(
            cut: cut,
            isStart: isStart,
            isLast: isLast,
            isCut: isCut
        )
        let (clean, taken) = secrets.masked(held.span, position)
        if let clean {
            output.append(contentsOf: clean)
            held.removeFirst(taken)
        } else if output.isEmpty, taken == held.count {
            swap(&output, &held)
        } else {
            output += held[..<taken]
            held.removeFirst(taken)
        }
        if taken > 0 { isStart = false }
        if held.count > Self.heldBytesMax {
            isGivenUp = true
            held = []
        }
    }
}
