// How an exchange waits for a credential that is being fetched.
import LupinCore
import LupinIO
import LupinPolicy

/// One wait of one exchange; it may be ended from any thread.
final class CredentialWait {
    /// The maximum wait of a request.
    private static let timeout = Duration.seconds(60)

    private let promise: Promise<Void>

    init(_ slot: ParkingSlot) { promise = Promise(slot) }

    /// Ends the wait.
    var wake: TokenStore.Wake {
        let reply = promise.reply
        return { reply(()) }
    }

    /// Waits for the end; returns false when it took too long.
    /// - Throws: The error that ended the exchange meanwhile.
    func end(
        of source: TokenSource,
        for exchange: Exchange,
        since began: UInt64
    ) async throws(LupinError) -> Bool {
        defer { promise.close() }
        let deadline = min(began &+ Self.timeout.boundedMicroseconds, exchange.totalDeadline)
        while promise.isOpen, exchange.slot.loop.now < deadline {
            try await exchange.park(source.phase, for: .answered, until: deadline)
        }
        return promise.answer != nil
    }
}

extension TokenSource {
    /// What an exchange waits for that waits for a credential of this source.
    fileprivate var phase: LiveExchange.Wait {
        switch self {
        case .bearer, .basic, .digest: .secretFile
        case .command: .tokenCommand
        case .oauth2: .tokenServer
        }
    }
}
