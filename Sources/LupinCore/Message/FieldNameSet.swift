// A set of known field names, in one word.

/// A set of known field names.
///
/// One bit per name, so testing for several names at once is a single instruction.
@usableFromInline package struct FieldNameSet: Sendable, Hashable {
    @usableFromInline private(set) var bits: UInt64 = 0

    @inlinable package init() {}

    @inlinable @inline(__always) package func contains(_ name: FieldName) -> Bool {
        bits &>> UInt64(name.rawValue) & 1 == 1
    }

    /// Whether both sets have a name in common.
    @inlinable @inline(__always) package func meets(_ other: FieldNameSet) -> Bool {
        bits & other.bits != 0
    }

    @inlinable @inline(__always) package mutating func insert(_ name: FieldName) {
        // There are fewer than 64 names, which `FieldNameTests` checks.
        bits |= 1 &<< UInt64(name.rawValue)
    }

    /// Returns the set without `name`.
    package func without(_ name: FieldName) -> FieldNameSet {
        var set = self
        set.bits &= ~(1 &<< UInt64(name.rawValue))
        return set
    }

    /// Returns the set with `name` added.
    ///
    /// A chain of these is a compile-time constant; an array literal would be built each time.
    @inlinable @inline(__always) package func with(_ name: FieldName) -> FieldNameSet {
        var set = self
        set.insert(name)
        return set
    }
}
