// Runs a TLS handshake from a connected socket to a usable TLS connection.
package import LupinIO
package import LupinTLS

/// Why there is no TLS connection.
package enum HandshakeFailure: Error {
    case tls(TLSFailure)
    /// The connection broke; the reason is text for people.
    case broken(String)
    case timedOut
    /// One of the interruptions came.
    case interrupted(WakeReasons)
}

/// Runs a handshake on a channel.
package struct Handshake {
    let channel: Channel
    let filter: TLSFilter
    let slot: ParkingSlot
    /// The reasons with which the channel wakes its slot.
    let readiness: WakeReasons
    /// The reasons that end the handshake, such as the client's leaving.
    let interruptions: WakeReasons
    /// The deadline, in microseconds of the loop's clock.
    let deadline: UInt64

    package init(
        channel: Channel,
        filter: TLSFilter,
        slot: ParkingSlot,
        readiness: WakeReasons,
        interruptions: WakeReasons,
        deadline: UInt64
    ) {
        self.channel = channel
        self.filter = filter
        self.slot = slot
        self.readiness = readiness
        self.interruptions = interruptions
        self.deadline = deadline
    }

    /// Returns when the connection is established, or wants a verdict (`wantsVerdict`).
    package func run() async throws(HandshakeFailure) {
        while true {
            let received: Channel.Received
            do throws(SystemError) {
                received = try channel.receive()
                _ = try channel.flush()
            } catch {
                if let failure = filter.failure { throw .tls(failure) }
                throw .broken(error.message)
            }
            if filter.isEstablished || filter.wantsVerdict { return }
            if received == .end { throw .broken("closed by the peer") }
            channel.acknowledge()
            let woken = await slot.park(for: readiness | interruptions, until: deadline)
            if woken.meets(interruptions) { throw .interrupted(woken) }
            if slot.loop.now >= deadline { throw .timedOut }
        }
    }
}
