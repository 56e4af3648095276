// Bulk copies and constant words: the only place of HTTP/1.1 that says `unsafe`.
import LupinCore

extension Array where Element == UInt8 {
    /// Appends all of `bytes` by one copy.
    @inline(__always) mutating func appendBulk(_ bytes: Span<UInt8>) {
        // Safety: the pointer is used inside the closure only, and `append` copies what it names.
        unsafe bytes.withUnsafeBufferPointer { unsafe append(contentsOf: $0) }
    }

    /// Appends the bytes of a text that is known when this is compiled.
    @inline(__always) mutating func append(_ text: StaticString) {
        // Safety: the bytes of the text live as long as the program, and `append` copies them.
        text.withUTF8Buffer { unsafe append(contentsOf: $0) }
    }
}

extension MutableSpan where Element == UInt8 {
    /// Moves `count` bytes from `source` forward to `target`; the ranges may overlap.
    @_lifetime(self: copy self)
    mutating func moveBytes(from source: Int, to target: Int, count moved: Int) {
        precondition(target >= 0 && target <= source && moved >= 0 && moved <= count - source)
        guard moved > 0, source != target else { return }
        // Safety: both ranges lie inside the span by the precondition; `update` permits overlap.
        unsafe withUnsafeMutableBufferPointer { buffer in
            guard let base = buffer.baseAddress else { return }
            unsafe (base + target).update(from: base + source, count: moved)
        }
    }
}

extension Span where Element == UInt8 {
    /// Whether the bytes are `word`, compared without ASCII case.
    @inline(__always) func spells(_ word: StaticString) -> Bool {
        guard count == word.utf8CodeUnitCount else { return false }
        // Safety: the bytes of the word live as long as the program.
        return word.withUTF8Buffer { unsafe equalsIgnoringCase($0.span) }
    }
}
