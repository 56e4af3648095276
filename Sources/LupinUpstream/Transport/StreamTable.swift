// The open streams of a connection by their numbers, which ascend and are short-lived.

/// A hash table keyed by the numbers of open streams.
///
/// Stream numbers ascend in steps of two, so the lowest bits of half a number are as good as any
/// hash; and a peer's number of open streams is limited, however it numbers them.
package struct StreamTable<Value: AnyObject> {
    private struct Slot {
        var id: Int32 = 0
        var value: Value?
    }

    private var slots: [Slot]
    /// How many values stand behind the place that their number wants.
    private var displaced = 0
    package private(set) var count = 0

    package init() { slots = Array(repeating: Slot(), count: 8) }

    /// A placeholder without capacity, for the time while a table is moved out and changed.
    private init(placeholder: Void) { slots = [] }
    package static var placeholder: StreamTable { StreamTable(placeholder: ()) }

    package var isEmpty: Bool { count == 0 }
    package var all: [Value] { slots.compactMap(\.value) }

    package func find(_ id: Int32) -> Value? {
        var i = home(of: id)
        while let value = slots[i].value {
            if slots[i].id == id { return value }
            i = next(i)
        }
        return nil
    }

    /// Adds a value; its number must not be in the table.
    package mutating func insert(_ value: Value, at id: Int32) {
        // Never more than half full, so every search ends.
        if 2 * (count + 1) > slots.count { grow() }
        put(Slot(id: id, value: value))
        count += 1
    }

    package mutating func remove(_ id: Int32) -> Value? {
        var i = home(of: id)
        while slots[i].value != nil, slots[i].id != id { i = next(i) }
        guard let removed = slots[i].value else { return nil }
        slots[i].value = nil
        if home(of: id) != i { displaced -= 1 }
        count -= 1
        // Values behind it may stand there because its place was taken; streams that are opened in
        // turn fill long runs, in which none does.
        while displaced > 0 {
            i = next(i)
            guard slots[i].value != nil else { break }
            let slot = slots[i]
            if home(of: slot.id) != i {
                slots[i].value = nil
                displaced -= 1
                put(slot)
            }
        }
        return removed
    }

    private func home(of id: Int32) -> Int { Int(id >> 1) & (slots.count - 1) }
    private func next(_ i: Int) -> Int { (i + 1) & (slots.count - 1) }

    private mutating func put(_ slot: Slot) {
        var i = home(of: slot.id)
        while slots[i].value != nil { i = next(i) }
        if home(of: slot.id) != i { displaced += 1 }
        slots[i] = slot
    }

    private mutating func grow() {
        let former = slots
        slots = Array(repeating: Slot(), count: 2 * former.count)
        displaced = 0
        for slot in former where slot.value != nil { put(slot) }
    }
}
