// What reaching servers needs of the worker on whose loop it happens.
package import LupinCore
package import LupinIO
package import LupinPolicy
package import LupinWire

/// The worker on whose loop servers are reached.
package protocol UpstreamWorker: AnyObject {
    var loop: EventLoop { get }
    var pool: UpstreamPool { get }
    var resolver: Resolver { get }
    var windowGrowth: WindowGrowth { get }
    var servers: KnownServers { get }
    /// The time of day in seconds since 1970.
    var wallSecond: Int64 { get }
    /// No task may wait any longer.
    var isCut: Bool { get }
    /// No connection is kept any longer.
    var isClosed: Bool { get }

    /// lupin's member of Via for a message that was received in `version`.
    func via(_ version: ProtocolVersion) -> ViaMember
    /// Closes idle connections when no descriptor is left; returns false when all are busy.
    func shedIdle() -> Bool
    /// Why nothing is connected to at all; nil where there is a network.
    var isolation: LupinError? { get }
    /// Why nothing may be sent over a new connection to `hop`; nil where it may.
    ///
    /// Asked where the access rules forbid connections to lupin itself.
    func denial(
        of channel: Channel,
        to hop: NextHop,
        by access: AccessPolicy,
        in slot: ParkingSlot
    ) async -> LupinError?
}

/// What all workers know of the servers that were reached.
package final class KnownServers: Sendable {
    let tickets = TicketStore()
    package let chains = ShownChains()
    package let parentCredentials = ParentCredentials()
    let revocations = RevocationStore()

    package init() {}
}
