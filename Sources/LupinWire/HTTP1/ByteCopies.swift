// Bulk copies and reads of eight bytes: the only place of HTTP/1.1 that says `unsafe`.

extension Array where Element == UInt8 {
    /// Appends all of `bytes` by one copy.
    @inline(__always) mutating func appendBulk(_ bytes: Span<UInt8>) {
        // Safety: the pointer is used inside the closure only, and `append` copies what it names.
        unsafe bytes.withUnsafeBufferPointer { unsafe append(contentsOf: $0) }
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
    /// The first place from `start` on with a byte that no field value may hold, or `end`.
    ///
    /// Eight bytes at a time: most of a head is values.
    @inline(__always) func endOfFieldValue(from start: Int, to end: Int) -> Int {
        var i = start
        while end &- i >= 8 {
            // Safety: the load checks its bounds, and every bit pattern is a UInt64.
            let word = unsafe bytes.unsafeLoadUnaligned(fromByteOffset: i, as: UInt64.self)
            // In each byte the top bit tells whether it is below 0x20, or DEL. A borrow can only
            // add bits above a byte that is set rightly, so zero means that there is none.
            let controls = (word &- 0x2020_2020_2020_2020) & ~word
            let deletes = word ^ 0x7F7F_7F7F_7F7F_7F7F
            let found = controls | ((deletes &- 0x0101_0101_0101_0101) & ~deletes)
            guard found & 0x8080_8080_8080_8080 == 0 else { break }
            i &+= 8
        }
        while i < end, self[i].isFieldValueByte { i &+= 1 }
        return i
    }
}
