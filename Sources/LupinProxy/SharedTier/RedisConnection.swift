// One connection to a Redis server: requests go out as they come, replies come in their order.
import LupinCore
import LupinIO
import LupinPolicy
import LupinRedis
import LupinUpstream

/// A pipelined connection of a worker to one node.
///
/// Its task connects, authenticates, and then reads. A caller only appends to what is sent.
final class RedisConnection {
    private enum State {
        case connecting
        case open(Channel)
        case closed
    }

    let target: RedisTarget
    private let resources: WorkerResources
    private let server: SharedServer
    private let replyBytesMax: Int
    private let slot: ParkingSlot
    private var state = State.connecting
    /// Bytes to send, and the queries that wait for replies, in their order.
    private var unsent: [UInt8] = []
    private var waiting: [RedisQuery] = []
    private var answered = 0
    private var isSendingSoon = false
    /// The replies so far to the first query that waits.
    private var replies: [RedisReply] = []
    /// The first query on the connection; an error in its replies ends it.
    private var greeting: RedisQuery?
    /// Called with each query and its replies; it decides when the query is over.
    private let deliver: (RedisQuery, [RedisReply], RedisConnection) -> Void
    /// Called once, when it ends; with the reason, unless it was only idle.
    private let whenClosed: (RedisConnection, String?) -> Void
    /// Called with what is published, on a connection that subscribes; nil for one that asks.
    private let onMessage: (([UInt8]) -> Void)?

    /// How many bytes may wait for a server that doesn't read.
    private static let unsentMax = 8 << 20
    /// How long it is kept without use.
    private static let idleTime = Duration.seconds(60)

    init(
        to target: RedisTarget,
        _ server: SharedServer,
        _ resources: WorkerResources,
        replyBytesMax: Int,
        onMessage: (([UInt8]) -> Void)? = nil,
        deliver: @escaping (RedisQuery, [RedisReply], RedisConnection) -> Void,
        whenClosed: @escaping (RedisConnection, String?) -> Void
    ) {
        self.target = target
        self.server = server
        self.resources = resources
        self.replyBytesMax = replyBytesMax
        self.onMessage = onMessage
        self.deliver = deliver
        self.whenClosed = whenClosed
        slot = ParkingSlot(on: resources.loop)
        let local = LoopLocal(self, of: resources.loop.executor)
        Task.immediate(executorPreference: resources.loop.executor) { await local.value.run() }
    }

    var isOpen: Bool { if case .open = state { true } else { false } }
    var isClosed: Bool { if case .closed = state { true } else { false } }

    /// Sends the commands of a query behind those before; the query fails where that is impossible.
    func ask(_ query: RedisQuery, isAsking: Bool = false) {
        guard !isClosed, unsentCount < Self.unsentMax else { return query.fail() }
        (query.asked, query.askedAt) = (target, slot.loop.now)
        query.isAsking = isAsking
        if isAsking {
            // ASKING holds for the next command only.
            query.commands.append(to: &unsent, eachBehind: RedisCommands("ASKING"))
        } else {
            query.commands.append(to: &unsent)
        }
        waiting.append(query)
        // Before the connection is made, the task waits for something else.
        if isOpen, query.taskDeadline < slot.deadline { slot.extend(to: query.taskDeadline) }
        sendSoon()
    }

    private var unsentCount: Int {
        guard case .open(let channel) = state else { return unsent.count }
        return channel.unsentCount + unsent.count
    }

    /// Ends the connection; waiting queries fail.
    func close() { slot.wake(.cut) }

    /// Sends before the loop waits, so that all queries of a turn go in one write.
    private func sendSoon() {
        guard case .open = state, !isSendingSoon else { return }
        isSendingSoon = true
        slot.loop.beforeWait { [self] in
            isSendingSoon = false
            send()
        }
    }

    private func send() {
        guard case .open(let channel) = state, !unsent.isEmpty else { return }
        do throws(SystemError) {
            channel.stage { staged in staged += unsent }
            unsent.removeAll(keepingCapacity: unsent.count < 64 << 10)
            _ = try channel.flush()
        } catch {
            slot.wake(.upstreamReadable)
        }
    }

    // MARK: The task

    private func run() async {
        var reason: String?
        do throws(RedisFailure) {
            let channel = try await connect()
            defer { channel.close() }
            greet()
            state = .open(channel)
            // The time to connect must not count as the time to answer.
            for query in waiting { query.askedAt = slot.loop.now }
            send()
            try await read(channel)
        } catch {
            reason = error.reason
        }
        state = .closed
        let left = waiting[answered...]
        waiting = []
        for query in left { query.fail() }
        slot.retire()
        whenClosed(self, reason)
    }

    private func connect() async throws(RedisFailure) -> Channel {
        let snapshot = resources.snapshot
        switch target.endpoint {
        case .path(let path):
            do throws(SystemError) {
                let channel = try LocalSocket.connect(to: path, on: resources.loop)
                attach(channel)
                return channel
            } catch {
                throw RedisFailure(reason: error.message)
            }
        case .network(let host, let port):
            let connector = OriginConnector(in: slot, resources, snapshot.upstream)
            let origin = Origin(scheme: target.isSecure ? .https : .http, host: host, port: port)
            do throws(LupinError) {
                let security =
                    target.isSecure
                    ? try snapshot.upstream.securities.security(SecurityDemand()) : nil
                let channel = try await connector.connectBare(to: origin, security)
                attach(channel)
                return channel
            } catch {
                throw RedisFailure(reason: error.detail)
            }
        }
    }

    private func attach(_ channel: Channel) {
        channel.slot = slot
        channel.readableReason = .upstreamReadable
        channel.writableReason = .upstreamWritable
        channel.enableKeepAlive()
    }

    /// Authenticates and selects the database.
    private func greet() {
        var commands = RedisCommands()
        if let password = server.password {
            let user = server.user.map { [RedisArgument.text($0)] } ?? []
            commands.add("AUTH", user + [.text(password)])
        }
        if server.database != 0 { commands.add("SELECT", [.text(String(server.database))]) }
        if commands.isEmpty { return }
        let greeting = RedisQuery(commands, key: nil)
        self.greeting = greeting
        waiting.insert(greeting, at: 0)
        var bytes: [UInt8] = []
        commands.append(to: &bytes)
        unsent = bytes + unsent
    }

    private func read(_ channel: Channel) async throws(RedisFailure) {
        var reader = ReplyReader(bytesMax: replyBytesMax)
        while true {
            guard try receive(channel, &reader) else {
                // A server may close idle connections.
                if onMessage == nil, waiting.count == answered { return }
                throw RedisFailure(reason: "it closed the connection")
            }
            let woken = await slot.park(
                for: .upstreamReadable | .upstreamWritable | .cut,
                until: min(slot.loop.deadline(in: Self.idleTime), taskDeadline)
            )
            if woken.meets(.cut) { return }
            guard woken == .timedOut, !callTasks() else { continue }
            if onMessage == nil {
                if waiting.count == answered { return }
            } else if waiting.count > answered {
                throw RedisFailure(reason: "it is silent")
            } else {
                ask(RedisQuery(RedisCommands("PING")))
            }
        }
    }

    /// When the first query without a task needs one.
    private var taskDeadline: UInt64 {
        waiting[answered...].first(where: \.hasAsker)?.taskDeadline ?? .max
    }

    /// Promotes queries whose replies are late, so that tasks wait for them.
    /// - Returns: Whether there are such.
    private func callTasks() -> Bool {
        let late = waiting[answered...].filter {
            $0.hasAsker && $0.taskDeadline <= slot.loop.now
        }
        for query in late { query.promote() }
        return !late.isEmpty
    }

    /// Takes all that has come; false at the end.
    private func receive(
        _ channel: Channel,
        _ reader: inout ReplyReader
    ) throws(RedisFailure) -> Bool {
        while true {
            let received: Channel.Received
            do throws(SystemError) {
                received = try channel.receive()
                _ = try channel.flush()
            } catch {
                throw RedisFailure(reason: error.message)
            }
            do throws(RedisProblem) {
                let input = channel.input
                while !input.isEmpty {
                    var count = 0
                    let reply = try reader.next(in: input.bytes, at: &count)
                    // The receiver of the replies must not find them here again.
                    input.discard(count)
                    if let reply { try take(reply) }
                }
            } catch {
                throw RedisFailure(reason: error.sentence)
            }
            switch received {
            case .bytes, .full: continue
            case .blocked:
                if answered < waiting.count { channel.acknowledge() }
                return true
            case .end: return false
            }
        }
    }

    private func take(_ reply: RedisReply) throws(RedisProblem) {
        if let onMessage, case .list(let parts) = reply, parts.count == 3,
            parts[0].bytes == Array("message".utf8)
        {
            return onMessage(parts[2].bytes ?? [])
        }
        guard answered < waiting.count else { throw .malformed("a reply to nothing") }
        let query = waiting[answered]
        if replies.isEmpty { replies.reserveCapacity(query.replyCount) }
        replies.append(reply)
        guard replies.count == query.replyCount else { return }
        var taken: [RedisReply] = []
        swap(&taken, &replies)
        if query.isAsking { taken = taken.indices.filter { $0 % 2 == 1 }.map { taken[$0] } }
        answered += 1
        // Only now and then, so that the cost of one reply doesn't grow with the queue.
        if answered == waiting.count || answered > 256 {
            waiting.removeFirst(answered)
            answered = 0
        }
        if query === greeting { return try checkGreeting(taken) }
        deliver(query, taken, self)
    }

    private func checkGreeting(_ replies: [RedisReply]) throws(RedisProblem) {
        greeting = nil
        for case .failure(let text) in replies { throw .refused(text) }
    }
}

/// Why a connection ended, as a sentence without a full stop.
struct RedisFailure: Error {
    var reason: String
}
