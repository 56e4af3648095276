// What rules say of timeouts, and what the timeouts of an exchange are once its rules have spoken.

/// `timeouts:` of a rule, or of several merged leaf by leaf; nil is what no rule says.
@dynamicMemberLookup
package struct TimeoutOverrides: Sendable {
    /// The values, where a rule says one.
    private var values = Timeouts()
    /// A bit for each row of ``TimeoutTable`` that has a value.
    private var written: UInt32 = 0

    package init() {}

    /// Whether no rule says anything.
    package var isEmpty: Bool { written == 0 }

    /// A value of ``Timeouts`` that rules may have.
    package subscript<Value>(dynamicMember path: WritableKeyPath<Timeouts, Value>) -> Value? {
        get {
            guard let row = Self.row(at: path), has(row) else { return nil }
            return values[keyPath: path]
        }
        set {
            guard let row = Self.row(at: path), TimeoutTable.rows[row].setting.isPerRule else {
                preconditionFailure("a rule sets a timeout that no rule may have")
            }
            guard let newValue else {
                written &= ~(1 &<< UInt32(row))
                return
            }
            values[keyPath: path] = newValue
            written |= 1 &<< UInt32(row)
        }
    }

    /// Takes the value of the row with this place, if `read` puts one into the timeouts.
    package mutating func take(
        _ keyPath: ValueKeyPath<Timeouts>,
        _ read: (inout Timeouts) -> Bool
    ) {
        guard let path = keyPath.path, let row = Self.row(at: path), read(&values) else { return }
        written |= 1 &<< UInt32(row)
    }

    /// Merges every leaf that `later` sets.
    mutating func merge(_ later: TimeoutOverrides) {
        later.apply(to: &values)
        written |= later.written
    }

    fileprivate func apply(to timeouts: inout Timeouts) {
        // By index: a loop over the elements would copy each.
        for row in TimeoutTable.rows.indices where has(row) {
            TimeoutTable.rows[row].keyPath.copy(from: values, to: &timeouts)
        }
    }

    private func has(_ row: Int) -> Bool { written &>> UInt32(row) & 1 == 1 }

    private static func row(at path: PartialKeyPath<Timeouts>) -> Int? {
        TimeoutTable.rows.firstIndex { $0.keyPath.path == path }
    }
}

extension Timeouts {
    /// These timeouts with those of a plan in their place, leaf by leaf.
    package func applying(_ overrides: TimeoutOverrides) -> Timeouts {
        var result = self
        overrides.apply(to: &result)
        return result
    }
}
