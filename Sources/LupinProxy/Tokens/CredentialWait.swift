// How an exchange waits for a credential that somebody fetches.
import LupinCore
import LupinIO

/// One wait of one exchange; it may be told of the end from whatever thread.
final class CredentialWait {
    /// A request waits no longer.
    private static let patience = Duration.seconds(60)

    private let question: Question<Void>

    init(_ slot: ParkingSlot) { question = Question(slot) }

    /// Ends the wait.
    var wake: TokenStore.Wake {
        let reply = question.reply
        return { reply(()) }
    }

    /// Waits for the end; false when it took too long.
    /// - Throws: What ended the exchange meanwhile.
    func end(for exchange: Exchange, since began: UInt64) async throws(LupinError) -> Bool {
        defer { question.close() }
        let deadline = min(began &+ Self.patience.boundedMicroseconds, exchange.totalDeadline)
        while question.isOpen, exchange.slot.loop.now < deadline {
            try await exchange.park(for: .answered, until: deadline)
        }
        return question.answer != nil
    }
}
