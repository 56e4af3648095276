// One question to another thread, and the answer that a task waits for.

/// A question and its answer, confined to the loop of the task that waits.
package final class Promise<Answer: Sendable> {
    /// nil when the task has left, and may wait for something else by now.
    private var slot: ParkingSlot?
    package private(set) var answer: Answer?

    /// The answer wakes `slot` with `.answered`.
    package init(_ slot: ParkingSlot) { self.slot = slot }

    /// Answers, on any thread.
    package var reply: @Sendable (Answer) -> Void {
        guard let executor = slot?.loop.executor else { return { _ in } }
        let home = LoopLocal(self, of: executor)
        return { answer in executor.mailbox.post { home.value.take(answer) } }
    }

    /// Whether the task still waits for the answer.
    package var isOpen: Bool { answer == nil && slot != nil }

    package func close() { slot = nil }

    private func take(_ answer: Answer) {
        guard let slot else { return }
        self.answer = answer
        slot.wake(.answered)
    }

    /// Waits for the answer, and closes the question; nil when the deadline passes.
    package func answer(until deadline: UInt64) async -> Answer? {
        defer { close() }
        while isOpen, let slot, slot.loop.now < deadline {
            _ = await slot.park(for: .answered, until: deadline)
        }
        return answer
    }
}
