// Finds the user of a client that comes through another lupin process of this user, by asking it.
import LupinCore
import LupinIO
import LupinUpstream

extension Exchange {
    /// The user behind the client's connection, which `user` made; nil when unknown.
    ///
    /// When another lupin of this user made the connection, that one reports its client. Without an
    /// answer in time the user is unknown, if that process holds the connection. One that has no
    /// socket in the folder, as in a container, is found by its name in the network.
    func userBehindSiblings(_ user: UInt32, in slot: ParkingSlot) async -> UInt32? {
        guard let ends = downstream.ends else { return user }
        if user != ProcessOwner.userNumber { return await userBehindLupins(of: user, in: slot) }
        guard !resources.shared.siblingFolders.isEmpty else { return user }
        let names = resources.shared.networkNames
        let processes = resources.shared.processes
        guard let sockets = await siblings(in: slot), let apart = names.apart() else { return nil }
        guard !(sockets.isEmpty && apart.isEmpty) else { return user }
        let line = SiblingQuery(peer: ends.peer, local: ends.local).text
        var silent: Set<Int32> = []
        // One time limit for all of them: there may be hundreds.
        let deadline = min(slot.loop.deadline(in: SiblingAnswer.timeout), totalDeadline)
        for socket in sockets {
            let answer = await SiblingAnswer.to(line, of: user, deadline, on: slot.loop) {
                loop throws(SystemError) in
                try LocalSocket.connect(to: socket, on: loop)
            }
            switch answer {
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
        for name in apart {
            let answer = await SiblingAnswer.to(line, at: name, of: user, deadline, on: slot.loop)
            if answer == .other { continue }
            client.isThroughSibling = true
            // It may be in a user namespace, where users have other numbers: its own is this user.
            guard case .user(let number) = answer, let own = names.user(in: name) else {
                return nil
            }
            if number == own { return user }
            return own == user ? number : nil
        }
        if !silent.isEmpty {
            // A process that hangs must not refuse clients that do not come through it.
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
        // A process that closed the connection meanwhile answers that it is not its own.
        return await processes.isHeld(ends.peer, to: ends.local, slot: slot) ? user : nil
    }

    /// The same where a lupin of another user may have made the connection.
    ///
    /// The lupin that listens for queries as that user is asked. Only root is believed that its
    /// client is another user; from any other user such an answer makes the client unknown, as no
    /// answer does.
    private func userBehindLupins(of user: UInt32, in slot: ParkingSlot) async -> UInt32? {
        guard let ends = downstream.ends else { return user }
        let (processes, network) = (resources.shared.processes, resources.shared.networkNames)
        let found = await processes.ask(slot: slot) { network.all(of: user) }
        guard let found, let names = found else { return nil }
        let line = SiblingQuery(peer: ends.peer, local: ends.local).text
        let deadline = min(slot.loop.deadline(in: SiblingAnswer.timeout), totalDeadline)
        for name in names {
            switch await SiblingAnswer.to(line, at: name, of: user, deadline, on: slot.loop) {
            case .other: continue
            case .user(let number):
                client.isThroughSibling = true
                // Any user may listen under their own name and claim a client with more rights.
                return number == user || user == 0 ? number : nil
            case .unknown, nil:
                client.isThroughSibling = true
                return nil
            }
        }
        // As with siblings: one that closed the connection meanwhile says that it is not its own.
        return await processes.isHeld(ends.peer, to: ends.local, slot: slot) ? user : nil
    }

    /// The sockets of the other lupin processes of this user; nil when they can't be read.
    private func siblings(in slot: ParkingSlot) async -> [String]? {
        let shared = resources.shared
        let (name, folders) = (shared.siblingName, shared.siblingFolders)
        // The folder holds a few names, usually only our own.
        if shared.isSiblingFolderNear { return SiblingFolder.siblings(of: name, in: folders) }
        return await shared.processes.ask(slot: slot) {
            SiblingFolder.siblings(of: name, in: folders)
        } ?? nil
    }

    /// Whether the exchange uses that connection, or is establishing it.
    func uses(_ query: SiblingQuery) -> Bool {
        guard let ends = (connecting?.channel ?? upstream?.channel)?.ends else { return false }
        return ends.local.isSame(as: query.peer) && ends.peer.isSame(as: query.local)
    }
}

extension SocketAddress {
    fileprivate func isSame(as other: SocketAddress) -> Bool {
        port == other.port && address.unmapped == other.address.unmapped
    }
}
