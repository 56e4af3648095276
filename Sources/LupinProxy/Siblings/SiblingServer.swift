// Answers other lupin processes about the client of a connection to them.
import Logging
import LupinCore
import LupinIO
import LupinUpstream

/// Listens on this process's socket in the sibling folder; confined to the control loop.
///
/// For the kernel, a client that comes through a tunnel of this lupin is the user that runs it.
/// Without an answer from here every client of this lupin would have that user's credentials at the
/// other one.
final class SiblingServer {
    private let shared: Shared
    private let workers: [Worker]
    private let loop: EventLoop
    /// What is read when it changes; nil where the rules are read once.
    private let watched: () -> [String]?
    private var listener: (LocalListener, ParkingSlot)?
    /// For lupins of other users, and for those of this user that see another folder, or none.
    private var publicListener: (LocalListener, ParkingSlot)?
    /// The queries under way, of lupins of this user and of other users.
    ///
    /// Both have a limit, so that others can't block the user's own.
    private var underWay = (own: 0, others: 0)
    private var isClosed = false
    /// The slots of tasks that wait until a question is answered.
    private var waiting: [ParkingSlot] = []

    /// The maximum number of questions at a time; others wait in the kernel's queue.
    private static let questionsMax = 64
    /// The time limit for a question to arrive.
    private static let timeout = Duration.seconds(2)

    init(
        _ shared: Shared,
        _ workers: [Worker],
        on loop: EventLoop,
        watched: @escaping () -> [String]?
    ) {
        self.shared = shared
        self.workers = workers
        self.loop = loop
        self.watched = watched
    }

    /// Starts to answer.
    /// - Returns: The lupins of this installation that ended without stopping since the last check.
    func open() -> [CrashEvent] {
        guard shared.hasSiblings else { return [] }
        openForOthers()
        defer { beginToAccept() }
        let slot = ParkingSlot(on: loop)
        for folder in shared.siblingFolders where listener == nil {
            do throws(LocalSocketProblem) {
                let listener = try LocalListener(
                    path: "\(folder)/\(SiblingFolder.socketName(of: shared.siblingName))",
                    makingDirectory: true,
                    on: loop,
                    slot: slot
                )
                self.listener = (listener, slot)
                shared.marks.begin(in: folder)
            } catch {
                shared.logger.debug("no socket for other lupins in \(folder): \(error.message)")
            }
        }
        // A user without an account has no folder.
        guard listener != nil || shared.siblingFolders.isEmpty else {
            shared.logger.warning(
                """
                no socket for other lupins of this user can be made in \
                \(shared.siblingFolders.joined(separator: " or ")): they find this one by its name \
                in the network alone
                """
            )
            return []
        }
        return shared.siblingFolders.flatMap { folder in
            let sockets = (try? SiblingFolder.sockets(in: folder)) ?? []
            defer { SiblingFolder.removeDeadMarks(in: folder) }
            return LocalSocket.removeDead(sockets, in: folder)
                .filter { SiblingFolder.isOfInstallation(of: shared.siblingName, socket: $0.path) }
                .map {
                    CrashEvent(process: SiblingFolder.process(of: $0.path), startSeconds: $0.madeAt)
                }
        }
    }

    private func beginToAccept() {
        for pair in [listener, publicListener].compactMap(\.self) {
            let local = LoopLocal((self, pair.0, pair.1), of: loop.executor)
            Task.immediate(executorPreference: loop.executor) {
                let (desk, listener, slot) = local.value
                await desk.accept(listener, slot)
            }
        }
    }

    private func openForOthers() {
        let slot = ParkingSlot(on: loop)
        let name = shared.networkNames.own
        do throws(LocalSocketProblem) {
            publicListener = (try LocalListener(name: name, on: loop, slot: slot), slot)
        } catch {
            shared.logger.warning(
                """
                no socket for lupins of other users can be made: they take all clients of this \
                one for this user: \(error.message)
                """
            )
        }
    }

    func close() async {
        isClosed = true
        shared.marks.end()
        for (listener, slot) in [listener, publicListener].compactMap(\.self) {
            listener.close()
            slot.wake(.cut)
        }
        while underWay != (0, 0) { await awaitEnd() }
    }

    private func isFull(isPublic: Bool) -> Bool {
        (isPublic ? underWay.others : underWay.own) >= Self.questionsMax
    }

    private func count(_ change: Int, isPublic: Bool) {
        if isPublic { underWay.others += change } else { underWay.own += change }
    }

    private func accept(_ listener: LocalListener, _ slot: ParkingSlot) async {
        let isPublic = listener === publicListener?.0
        while !isClosed {
            if isFull(isPublic: isPublic) { listener.pause() }
            while isFull(isPublic: isPublic), !isClosed { await awaitEnd() }
            guard !isClosed else { return }
            guard (try? listener.resume()) != nil else {
                await rest(slot)
                continue
            }
            switch (try? listener.accept()) ?? .exhausted {
            case .connection(let channel, let client):
                // The folder is for this user only; root can connect all the same.
                guard isPublic || client.network != .own || client.isOwner else {
                    channel.close()
                    continue
                }
                count(1, isPublic: isPublic)
                let local = LoopLocal((self, channel), of: loop.executor)
                Task.immediate(executorPreference: loop.executor) {
                    let (desk, channel) = local.value
                    await desk.serve(channel, client, isPublic: isPublic)
                    desk.end(isPublic: isPublic)
                }
            case .blocked: _ = await slot.park(for: .ready | .cut)
            case .exhausted:
                listener.pause()
                await rest(slot)
            }
        }
    }

    /// Accepts nothing for a while, for lack of descriptors or memory.
    private func rest(_ slot: ParkingSlot) async {
        _ = await slot.park(for: .cut, until: loop.deadline(in: .milliseconds(200)))
    }

    private func end(isPublic: Bool) {
        count(-1, isPublic: isPublic)
        for slot in waiting { slot.wake(.answered) }
        waiting = []
    }

    private func awaitEnd() async {
        let slot = ParkingSlot(on: loop)
        waiting.append(slot)
        _ = await slot.park(for: .answered)
    }

    /// Answers one question.
    ///
    /// A lupin of another network, as in a container that shares the home, asks about connections
    /// there. This process has none of them, whatever the same addresses mean here: all its sockets
    /// are of one network. What it keeps is told there, too, unless a confined command may ask.
    private func serve(_ channel: Channel, _ client: LocalClient, isPublic: Bool) async {
        let slot = ParkingSlot(on: loop)
        channel.slot = slot
        channel.readableReason = .downstreamReadable
        let line = await channel.line(in: slot, until: loop.deadline(in: Self.timeout))
        if line == Belonging.query, client.isOwner, client.network != .enclosed,
            !isPublic || ProcessOwner.isDistinct
        {
            await tellBelongings(channel, slot)
        } else if let answer = await answer(line ?? "", isElsewhere: client.network != .own) {
            channel.stage { $0.append(contentsOf: "\(answer)\n".utf8) }
            // A line fits into any socket's buffer.
            _ = try? channel.flush()
        }
        channel.close()
        slot.retire()
    }

    /// Tells a lupin that confines a command what this one reads and keeps.
    private func tellBelongings(_ channel: Channel, _ slot: ParkingSlot) async {
        var own = shared.snapshot.configuration.belongings(shared.environment)
        if let watched = watched() {
            own = own.map(\.watched) + watched.map { Belonging(.watched, $0) }
        }
        let rest = Array(Belonging.text(of: own).utf8)
        channel.writableReason = .downstreamWritable
        channel.stage { $0.append(contentsOf: rest) }
        let deadline = loop.deadline(in: Self.timeout)
        while (try? channel.flush()) == false, loop.now < deadline {
            let woken = await slot.park(for: .downstreamWritable | .cut, until: deadline)
            if woken.meets(.cut) { return }
        }
    }

    /// The answer to a line; nil when it asks nothing.
    private func answer(_ line: String, isElsewhere: Bool) async -> String? {
        if line == Belonging.query { return isElsewhere ? Belonging.refusal : nil }
        if let query = ListenerQuestion(line) {
            let isOwn = !isElsewhere && shared.marks.have(query.inode)
            return (isOwn ? SiblingAnswer.unknown : .other).text
        }
        guard let query = SiblingQuery(line) else { return nil }
        return (isElsewhere ? .other : await answer(query)).text
    }

    /// The user of all exchanges that use the connection, if they agree.
    private func answer(_ query: SiblingQuery) async -> SiblingAnswer {
        var users: Set<ClientUser> = []
        for worker in workers { users.formUnion(await worker.users(of: query)) }
        if users.isEmpty { return await holds(query) ? .unknown : .other }
        // A confined command runs as this user, and has no part in what is the user's.
        if shared.redirected != nil { return .unknown }
        guard users.count == 1, case .number(let number)? = users.first else { return .unknown }
        return .user(number)
    }

    /// Whether this process holds the connection, without an exchange on it; false in tests, whose
    /// proxies are one process.
    private func holds(_ query: SiblingQuery) async -> Bool {
        guard shared.processes.asksKernel else { return false }
        let slot = ParkingSlot(on: loop)
        defer { slot.retire() }
        let holders = await shared.processes.holders(
            of: query.peer,
            to: query.local,
            among: [ProcessOwner.processNumber],
            slot: slot
        )
        return holders?.isEmpty != true
    }
}

extension Channel {
    /// The next line without its end; nil when none comes.
    func line(in slot: ParkingSlot, until deadline: UInt64) async -> String? {
        while true {
            let received = input
            let bytes = [UInt8](copying: received.bytes)
            if let end = bytes.firstIndex(of: 0x0A) {
                return String(decoding: bytes[..<end], as: UTF8.self)
            }
            guard bytes.count < SiblingQuery.lineBytesMax, let progress = try? receive() else {
                return nil
            }
            switch progress {
            case .bytes: continue
            case .end, .full: return nil
            case .blocked:
                let woken = await slot.park(for: .downstreamReadable | .cut, until: deadline)
                if woken.meets(.cut) || loop.now >= deadline { return nil }
            }
        }
    }
}
