// Numbers that look random and are the same in every run.

/// A repeatable source of numbers (xorshift64*).
package struct Numbers {
    private var state: UInt64

    /// `state` must not be 0.
    package init(state: UInt64) { self.state = state }

    /// A number from 0 to `bound - 1`.
    package mutating func next(below bound: Int) -> Int {
        state ^= state >> 12
        state ^= state << 25
        state ^= state >> 27
        return Int((state &* 0x2545_F491_4F6C_DD1D) >> 33) % bound
    }
}
