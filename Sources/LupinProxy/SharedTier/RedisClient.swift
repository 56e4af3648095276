// A worker's way to the shared store: which node gets a query, and how redirections are followed.
import LupinCaching
import LupinCore
import LupinIO
import LupinPolicy
import LupinRedis

/// A worker's connections to a server or cluster; confined to the worker's loop.
package final class RedisClient {
    let tier: SharedTier
    private let resources: WorkerResources
    private var connections: [RedisTarget: RedisConnection] = [:]
    /// The one of `connections` that leads to the server of the settings.
    private var home: RedisConnection?
    private var slots = SlotMap()
    /// When the map of slots was last requested.
    private var learntAt: UInt64 = 0

    /// How many redirections a query follows.
    private static let redirectionsMax = 3
    /// The map of slots is asked for at most this often, in µs.
    private static let learningInterval: UInt64 = 1_000_000

    /// Receives what other machines drop; one client of a process has this.
    private var listening: RedisConnection?
    private var listeningAgain: ParkingSlot?
    private var isClosed = false

    init(_ tier: SharedTier, _ resources: WorkerResources) {
        self.tier = tier
        self.resources = resources
        let local = LoopLocal(Weak(self), of: resources.loop.executor)
        let executor = resources.loop.executor
        let isFirst = tier.dropping.begin { [weak executor] keys in
            executor?.mailbox.post { for key in keys { local.value.object?.drop(key) } }
        }
        if isFirst { listen() }
    }

    /// Sends commands about one key.
    ///
    /// - Parameters:
    ///   - commands: All of them are about `key`, or keys with the same `{…}`.
    ///   - key: The key.
    ///   - slot: The slot to wake with `.answered`; nil where nobody waits.
    /// - Returns: The query; nil where the key's node is left alone for now.
    @discardableResult
    func ask(
        _ commands: RedisCommands,
        about key: [UInt8],
        slot: ParkingSlot? = nil
    ) -> RedisQuery? {
        let target = node(of: key)
        switch tier.health.permit(target, now: resources.loop.now) {
        case .pass: break
        case .probe:
            probe(target)
            return nil
        case .leave: return nil
        }
        let deadline = resources.loop.deadline(in: tier.timeoutUs)
        let query = RedisQuery(commands, key: key, slot: slot, until: deadline)
        send(query, to: target)
        return query
    }

    /// An open connection to a key's node; nil where there is none, or the node is left alone.
    func openConnection(for key: [UInt8]) -> RedisConnection? {
        // Without a cluster no node has to be looked up.
        if slots.isEmpty, tier.health.isAllWell, let home { return home.isOpen ? home : nil }
        let target = node(of: key)
        guard tier.health.isWell(target), let connection = connections[target], connection.isOpen
        else { return nil }
        return connection
    }

    /// Looks for the value of a key, for `asker`, which has no task.
    ///
    /// At `taskDeadline`, in µs of the loop's clock, it needs one.
    func look(
        for key: [UInt8],
        by connection: RedisConnection,
        _ asker: any RedisAsker,
        until taskDeadline: UInt64
    ) -> RedisQuery {
        let deadline = resources.loop.deadline(in: tier.timeoutUs)
        let query = RedisQuery(tier.look(key), key: key, until: deadline)
        query.wait(asker, until: min(deadline, taskDeadline))
        connection.ask(query)
        return query
    }

    /// The replies, once all are there; nil when there will be none in time.
    func replies<Failure: Error>(
        to query: RedisQuery,
        waiting park: (UInt64) async throws(Failure) -> Void
    ) async throws(Failure) -> [RedisReply]? {
        let deadline = query.deadline
        defer { query.leave() }
        while query.isOpen, resources.loop.now < deadline { try await park(deadline) }
        if query.isOpen, let target = query.asked {
            let limit = UnitText.duration(tier.settings.timeout.milliseconds)
            tier.note(failureOf: target, "no answer within \(limit)", now: resources.loop.now)
        }
        return query.replies
    }

    // MARK: Dropping

    /// Drops what the store, and all machines, have for a URL.
    func drop(_ key: CacheKey) {
        let url = String(key.url)
        tier.dropping.note(url, nowUs: resources.wallNow)
        let keys = tier.keys(of: CacheKey(stored: "\(url)\n"))
        ask(RedisCommands("DEL", [.bytes(keys.entry)]), about: keys.entry)
        guard let message = tier.dropping.message(url) else { return }
        // No key: every node of a cluster passes it on to all.
        let publication = RedisCommands(
            "PUBLISH",
            [.bytes(tier.dropping.channel), .bytes(message)]
        )
        send(RedisQuery(publication), to: anyNode)
    }

    /// A node for messages: every node of a cluster passes them on.
    private var anyNode: RedisTarget {
        let known = [tier.home] + slots.allNodes.compactMap(target)
        return known.first(where: tier.health.isWell) ?? tier.home
    }

    /// Waits for what other machines drop, for as long as the client is open.
    private func listen() {
        let connection = RedisConnection(
            to: anyNode,
            tier.server,
            resources,
            replyBytesMax: tier.replyBytesMax,
            onMessage: { [tier, weak resources] message in
                guard let resources, let url = tier.dropping.url(in: message) else { return }
                tier.dropping.note(url, nowUs: resources.wallNow)
                resources.shared.responses.invalidate(url[...], nowUs: resources.wallNow)
            },
            deliver: { query, replies, _ in query.finish(replies) },
            whenClosed: { [weak self] _, _ in self?.listenAgain() }
        )
        listening = connection
        connection.ask(RedisQuery(RedisCommands("SUBSCRIBE", [.bytes(tier.dropping.channel)])))
    }

    private func listenAgain() {
        listening = nil
        guard !isClosed else { return }
        let slot = ParkingSlot(on: resources.loop)
        listeningAgain = slot
        let client = LoopLocal(Weak(self), of: resources.loop.executor)
        let timer = LoopLocal(slot, of: resources.loop.executor)
        Task.immediate(executorPreference: resources.loop.executor) {
            let slot = timer.value
            let due = slot.loop.deadline(in: RedisClient.listeningPause)
            let woken = await slot.park(for: .cut, until: due)
            slot.retire()
            if !woken.meets(.cut) { client.value.object?.listen() }
        }
    }

    /// How long after the end of a subscription the next one begins.
    private static let listeningPause = Duration.seconds(1)

    /// Ends all connections.
    func close() {
        isClosed = true
        listeningAgain?.wake(.cut)
        listening?.close()
        for connection in connections.values { connection.close() }
    }

    // MARK: Nodes

    private func node(of key: [UInt8]) -> RedisTarget {
        // A single server has no slots.
        guard !slots.isEmpty, let address = slots.node(of: HashSlot.of(key.span)) else {
            return tier.home
        }
        return target(address) ?? tier.home
    }

    private func target(_ address: NodeAddress) -> RedisTarget? {
        guard let host = Host(address.host) ?? Host("[\(address.host)]") else { return nil }
        return RedisTarget(endpoint: .network(host, address.port), isSecure: tier.home.isSecure)
    }

    private func send(_ query: RedisQuery, to target: RedisTarget, isAsking: Bool = false) {
        connection(to: target).ask(query, isAsking: isAsking)
    }

    private func connection(to target: RedisTarget) -> RedisConnection {
        if let connection = connections[target], !connection.isClosed { return connection }
        let connection = RedisConnection(
            to: target,
            tier.server,
            resources,
            replyBytesMax: tier.replyBytesMax,
            deliver: { [weak self] in self?.deliver($0, $1, from: $2) ?? $0.fail() },
            whenClosed: { [weak self] in self?.noteEnd(of: $0, $1) }
        )
        // It may have failed at once.
        if !connection.isClosed {
            connections[target] = connection
            if target == tier.home { home = connection }
        }
        return connection
    }

    private func noteEnd(of connection: RedisConnection, _ reason: String?) {
        if connections[connection.target] === connection { connections[connection.target] = nil }
        if home === connection { home = nil }
        guard let reason, !resources.isClosed else { return }
        tier.note(failureOf: connection.target, reason, now: resources.loop.now)
        learn(besides: connection.target)
    }

    // MARK: Answers

    private func deliver(
        _ query: RedisQuery,
        _ replies: [RedisReply],
        from connection: RedisConnection
    ) {
        let asked = connection.target.address
        let redirection = replies.lazy.compactMap { Redirection($0, asked: asked) }.first
        if let redirection { return follow(redirection, query) }
        for case .failure(let text) in replies {
            guard tier.isOutage(text) else { continue }
            tier.note(failureOf: connection.target, text, now: resources.loop.now)
            return query.fail()
        }
        // A late reply counts as a failure: the node would slow the next request, too.
        if resources.loop.now &- query.askedAt <= tier.timeoutUs {
            tier.noteSuccess(of: connection.target)
        }
        query.finish(replies)
    }

    private func follow(_ redirection: Redirection, _ query: RedisQuery) {
        guard query.redirections < Self.redirectionsMax else { return query.fail() }
        query.redirections += 1
        // It may have to wait for a connection.
        query.promote()
        switch redirection {
        case .moved(let slot, let address):
            slots.move(slot, to: address)
            learn(besides: nil)
            guard let target = target(address) else { return query.fail() }
            send(query, to: target)
        case .ask(let address):
            guard let target = target(address) else { return query.fail() }
            send(query, to: target, isAsking: true)
        }
    }

    /// Asks which node has which slots; a server without a cluster answers with an error.
    private func learn(besides target: RedisTarget?) {
        let now = resources.loop.now
        // A node that never answers must not block queries to the others.
        guard now >= learntAt &+ Self.learningInterval || learntAt == 0 else { return }
        let known = [tier.home] + slots.allNodes.compactMap(self.target)
        let isUsable = { [tier] node in node != target && tier.health.isWell(node) }
        guard let node = known.first(where: isUsable) else { return }
        learntAt = now
        let query = RedisQuery(RedisCommands("CLUSTER", ["SLOTS"])) {
            [weak self] in self?.learn(from: $0, at: node)
        }
        send(query, to: node)
    }

    private func learn(from query: RedisQuery, at node: RedisTarget) {
        guard let reply = query.replies?.first,
            let map = SlotMap(slots: reply, asked: node.address)
        else { return }
        slots = map
    }

    /// Probes a node that failed, so that no request has to try it.
    private func probe(_ target: RedisTarget) {
        // On a new connection: the old one may be dead without a sign of it.
        if target == tier.home { home = nil }
        connections.removeValue(forKey: target)?.close()
        send(RedisQuery(RedisCommands("PING")), to: target)
        learn(besides: target)
    }
}
