// How an exchange waits for a credential that somebody fetches.
import LupinCore
import LupinIO

/// One wait of one exchange; it may be told of the end from whatever thread.
final class CredentialWait {
    /// A request waits no longer.
    private static let patience = Duration.seconds(60)

    /// Without a slot the exchange has left, and waits for something else by now.
    private var slot: ParkingSlot?
    private var isAnswered = false

    init(_ slot: ParkingSlot) { self.slot = slot }

    /// Ends the wait, on the exchange's own loop.
    var wake: TokenStore.Wake {
        guard let executor = slot?.loop.executor else { return {} }
        let wait = LoopLocal(self, of: executor)
        return { executor.mailbox.post { wait.value.answer() } }
    }

    private func answer() {
        isAnswered = true
        slot?.wake(.answered)
    }

    /// Waits for the end; false when it took too long.
    /// - Throws: What ended the exchange meanwhile.
    func end(for exchange: Exchange, since began: UInt64) async throws(LupinError) -> Bool {
        defer { slot = nil }
        guard let slot else { return isAnswered }
        let deadline = min(began &+ Self.patience.boundedMicroseconds, exchange.totalDeadline)
        while !isAnswered, slot.loop.now < deadline {
            let woken = await slot.park(for: .answered | exchange.interruptions, until: deadline)
            if woken.meets(.cut) { throw .stopping }
            if woken.meets(exchange.interruptions) { throw .clientGone }
        }
        return isAnswered
    }
}
