// Whose a client is that comes through another lupin of this user: that lupin is asked.
import LupinCore
import LupinIO

extension Exchange {
    /// The user behind the client's connection, which `user` made; nil where nobody knows.
    ///
    /// Where another lupin of this user made it, that one says for whom it does. One that does not
    /// answer in time speaks for nobody.
    func userBehindSiblings(_ user: UInt32, in slot: ParkingSlot) async -> UInt32? {
        guard user == ProcessOwner.userNumber, let ends = downstream.ends else { return user }
        guard let sockets = await siblings(in: slot) else { return nil }
        guard !sockets.isEmpty else { return user }
        let question = SiblingQuestion(peer: ends.peer, local: ends.local)
        var silent: Set<Int32> = []
        for socket in sockets {
            switch await ask(question, at: socket) {
            case .other: continue
            case .unknown:
                client.isThroughSibling = true
                return nil
            case .user(let number):
                client.isThroughSibling = true
                return number
            case nil: silent.insert(SiblingFolder.process(of: socket))
            }
        }
        let processes = resources.shared.processes
        if !silent.isEmpty {
            // One that hangs keeps nobody out who does not come through it.
            let holders = await processes.holders(
                of: ends.peer,
                to: ends.local,
                among: silent,
                slot: slot
            )
            guard holders == [] else {
                client.isThroughSibling = true
                return nil
            }
        }
        // One that let go of the connection meanwhile says that it is not its own.
        return await processes.isHeld(ends.peer, to: ends.local, slot: slot) ? user : nil
    }

    /// The sockets of the other lupins of this user; nil where they are not known.
    private func siblings(in slot: ParkingSlot) async -> [String]? {
        let shared = resources.shared
        let (pseudonym, folders) = (shared.pseudonym, shared.siblingFolders)
        if folders.isEmpty { return [] }
        // A few names, and as a rule none but our own.
        if shared.isSiblingFolderNear { return SiblingFolder.siblings(of: pseudonym, in: folders) }
        return await shared.processes.ask(slot: slot) {
            SiblingFolder.siblings(of: pseudonym, in: folders)
        } ?? nil
    }

    /// How long another lupin may take, which asks its workers.
    private static let siblingPatience = Duration.seconds(1)

    /// What a sibling says; nil where it says nothing in time.
    private func ask(_ question: SiblingQuestion, at socket: String) async -> SiblingAnswer? {
        let loop = slot.loop
        let channel: Channel
        do throws(SystemError) {
            channel = try LocalSocket.connect(to: socket, on: loop)
        } catch {
            // A dead socket belongs to no lupin any more; one that is busy may hold it.
            return error.isAbsence || error.isRefusal ? .other : nil
        }
        let waiting = ParkingSlot(on: loop)
        defer {
            channel.close()
            waiting.retire()
        }
        // Who else listens there speaks for nobody: the folder is ours alone.
        guard LocalSocket.user(of: channel) == ProcessOwner.userNumber else { return .other }
        channel.slot = waiting
        channel.readableReason = .downstreamReadable
        channel.stage { $0.append(contentsOf: "\(question.text)\n".utf8) }
        guard (try? channel.flush()) == true else { return nil }
        let deadline = min(loop.deadline(in: Self.siblingPatience), totalDeadline)
        let line = await channel.line(in: waiting, until: deadline)
        return line.flatMap { SiblingAnswer($0) }
    }

    /// Whether the exchange goes by that connection, or makes it.
    func uses(_ question: SiblingQuestion) -> Bool {
        guard let ends = (connecting ?? upstream?.channel)?.ends else { return false }
        return ends.local.isSame(as: question.peer) && ends.peer.isSame(as: question.local)
    }
}

extension SocketAddress {
    fileprivate func isSame(as other: SocketAddress) -> Bool {
        port == other.port && address.unmapped == other.address.unmapped
    }
}
