// How somebody on a loop waits for the disk's thread.
import LupinIO
import LupinStore

/// One thing that the disk's thread is asked, confined to the loop of the one who waits.
final class DiskQuestion<Value: Sendable> {
    /// Without a slot whoever asked has left, and waits for something else by now.
    private var slot: ParkingSlot?
    private(set) var value: Value?

    /// Hands the job over; the slot is woken with `.answered` when it is done.
    init(
        _ tier: DiskTier,
        _ slot: ParkingSlot,
        _ job: @escaping @Sendable (DiskStore) -> Value
    ) {
        self.slot = slot
        let executor = slot.loop.executor
        let home = LoopLocal(self, of: executor)
        let isTaken = tier.submit { store in
            let value = job(store)
            executor.mailbox.post { home.value.answer(value) }
        }
        if !isTaken { close() }
    }

    /// Whether the answer is still to come.
    var isOpen: Bool { value == nil && slot != nil }

    func close() { slot = nil }

    private func answer(_ value: Value) {
        guard let slot else { return }
        self.value = value
        slot.wake(.answered)
    }
}
