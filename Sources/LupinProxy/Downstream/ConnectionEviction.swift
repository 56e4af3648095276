// Chooses the client connections to close when there are more than `limits.connections`.
import Logging
import LupinCore
import LupinIO
import LupinUpstream

/// One worker's choice of connections to close for new ones.
final class ConnectionEviction {
    /// The connections that have waited longest for their clients, the longest last; of one holder,
    /// or of any.
    private var candidates: [(connection: DownstreamConnection, since: UInt64)] = []
    private var candidatesOf: ConnectionHolder?
    private var candidatesUntil: UInt64 = 0
    /// Whether the holders of all the worker's connections are known.
    fileprivate var hasCountedAll = false

    /// How many are found at once: a flood of connections needs one after the other.
    private static let candidatesMax = 64
    /// Microseconds for which the candidates are kept.
    private static let candidatesTime: UInt64 = 1_000_000
    /// From this fraction of the limit on, the holders of connections are looked up.
    private static let crowdedPart = 4

    /// Whether there are so many connections that a holder may have no more than its share.
    static func isCrowded(_ count: Int, limit: Int) -> Bool { count >= limit / crowdedPart }

    /// The connection that has waited longest for its client, of `holder` or of any; nil when all
    /// are busy.
    func longestWaiting(
        among connections: [DownstreamConnection],
        of holder: ConnectionHolder?,
        now: UInt64
    ) -> DownstreamConnection? {
        if candidatesOf == holder, now < candidatesUntil, let known = nextCandidate() {
            return known
        }
        find(among: connections, of: holder, now: now)
        return nextCandidate()
    }

    /// Forgets the connections that were found.
    func forget() { candidates = [] }

    private func nextCandidate() -> DownstreamConnection? {
        while let (connection, since) = candidates.popLast() {
            // Meanwhile it may have become busy, ended, or started to wait again.
            if connection.waitingSince == since, connection.isStillQuiet() { return connection }
        }
        return nil
    }

    private func find(
        among connections: [DownstreamConnection],
        of holder: ConnectionHolder?,
        now: UInt64
    ) {
        candidatesOf = holder
        candidatesUntil = now &+ Self.candidatesTime
        var found: [(connection: DownstreamConnection, since: UInt64)] = []
        for connection in connections {
            guard let since = connection.waitingSince,
                holder == nil || connection.holder == holder
            else { continue }
            found.append((connection: connection, since: since))
        }
        found.sort { $0.since > $1.since }
        candidates = Array(found.suffix(Self.candidatesMax))
    }
}

extension WorkerResources {
    private var connectionLimit: Int { snapshot.limits.connections }

    /// Whether the limit of open connections is reached.
    var isFull: Bool { shared.connections.count >= connectionLimit }

    /// Closes the connection that has waited longest for its client; false when all are busy.
    func makeRoom() -> Bool {
        countHolders()
        warnOfCrowd()
        guard
            let longest = eviction.longestWaiting(
                among: openConnections,
                of: nil,
                now: loop.now
            )
        else { return false }
        longest.evict()
        return true
    }

    /// Closes idle connections when no descriptor is left; returns false when all are busy.
    ///
    /// Those to origins go first, then the client's that has waited longest. Warns once a minute.
    func shedIdle() -> Bool {
        if shared.shortage.mayWarn(now: loop.now) {
            shared.logger.warning(
                """
                no descriptors left of \(SystemCall.descriptorLimit) (ulimit -n): idle connections \
                are closed first, then new ones wait
                """
            )
        }
        if pool.closeIdle() { return true }
        let longest = eviction.longestWaiting(among: openConnections, of: nil, now: loop.now)
        longest?.evict()
        return longest != nil
    }

    /// Counts a new connection for its holder; returns the refusal when the holder has its share of
    /// connections already, and all of them on this worker are busy.
    func admit(_ connection: DownstreamConnection) -> LupinError? {
        let limit = connectionLimit
        guard ConnectionEviction.isCrowded(shared.connections.count, limit: limit) else {
            eviction.hasCountedAll = false
            return nil
        }
        countHolders()
        guard let holder = connection.holder else { return nil }
        let (held, allowed) = shared.connections.share(of: holder, limit: limit)
        guard held > allowed else { return nil }
        warnOfCrowd()
        let others = openConnections.filter { $0 !== connection }
        guard let own = eviction.longestWaiting(among: others, of: holder, now: loop.now) else {
            return .tooManyConnections(ofOneUser: allowed)
        }
        own.evict()
        return nil
    }

    /// Looks up the holders that are not known yet.
    private func countHolders() {
        guard !eviction.hasCountedAll else { return }
        eviction.hasCountedAll = true
        for connection in openConnections { count(connection) }
    }

    /// Counts a connection for its holder, if all holders are known.
    func noteHolder(of connection: DownstreamConnection) {
        if eviction.hasCountedAll { count(connection) }
    }

    private func count(_ connection: DownstreamConnection) {
        guard connection.holder == nil else { return }
        let holder = holder(of: connection)
        connection.holder = holder
        shared.connections.hold(holder)
    }

    private func holder(of connection: DownstreamConnection) -> ConnectionHolder {
        let address = connection.client.address
        guard let ends = connection.clientEnds ?? connection.channel.ends,
            case .user(let number)? = shared.processes.userAtOnce(of: ends.peer, to: ends.local)
        else { return .address(address) }
        return .user(number)
    }

    private func warnOfCrowd() {
        guard shared.connections.mayWarn(now: loop.now) else { return }
        let most = shared.connections.largest.map { ", \($0.count) of them of \($0.holder.text)" }
        shared.logger.warning(
            """
            \(shared.connections.count) client connections are open\(most ?? ""); \
            limits.connections is \(connectionLimit): those that have waited longest are closed \
            for new ones
            """
        )
    }
}

extension DownstreamConnection {
    /// Since when the connection has waited for its client, with nothing under way that would be
    /// lost; nil while there is.
    var waitingSince: UInt64? {
        if isEvicted { return nil }
        if let http2 { return http2.waitingSince }
        if isResting { return restsSince }
        return headAwaitedSince
    }

    /// Whether a resting connection has no unread bytes; serves them if it has.
    fileprivate func isStillQuiet() -> Bool {
        guard isResting, !channel.isQuiet(asksKernel: true) else { return true }
        channelIsReady(channel)
        return false
    }

    /// Closes a connection that waits for its client, to make room for another.
    func evict() {
        isEvicted = true
        if let http2 { return http2.cut() }
        if isResting { return end() }
        slot.wake(.cut)
    }
}

extension LupinError {
    fileprivate static func tooManyConnections(ofOneUser count: Int) -> LupinError {
        .request(
            status: 429,
            detail: "One user may have half of the connections that others leave, which are "
                + "\(count) now; limits.connections says how many there may be in all."
        )
    }
}
