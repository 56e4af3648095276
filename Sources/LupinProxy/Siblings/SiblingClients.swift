// Finds the user of a client that comes through another lupin process of this user, by asking it.
import LupinCore
import LupinIO
import LupinUpstream

/// Looks for the user of a connection to lupin.
struct ClientSearch {
    let ends: (peer: SocketAddress, local: SocketAddress)
    let shared: Shared
    let slot: ParkingSlot
    /// When the exchange must end, in microseconds of the loop's clock.
    let end: UInt64

    /// What is known of a client.
    struct Found {
        /// The number of its user; nil when that is unknown.
        var user: UInt32?
        /// Its requests come through another lupin, which may have several clients.
        var isThroughSibling = false

        static let unknown = Found(user: nil)

        static func behind(_ user: UInt32?) -> Found { Found(user: user, isThroughSibling: true) }
    }

    /// The user as the kernel, and other lupins, say.
    func run() async -> Found {
        let maker = await shared.processes.user(of: ends.peer, to: ends.local, slot: slot)
        guard let maker else { return .unknown }
        return await behindSiblings(maker)
    }

    /// The user behind the client's connection, which `user` made; nil when unknown.
    ///
    /// When another lupin of this user made the connection, that one reports its client. Without an
    /// answer in time the user is unknown, if that process holds the connection. One that has no
    /// socket in the folder, as in a container, is found by its name in the network.
    private func behindSiblings(_ user: UInt32) async -> Found {
        if user != ProcessOwner.userNumber { return await behindLupins(of: user) }
        guard shared.hasSiblings else { return Found(user: user) }
        let (names, processes) = (shared.networkNames, shared.processes)
        guard let sockets = await siblings(), let apart = names.apart() else { return .unknown }
        guard !(sockets.isEmpty && apart.isEmpty) else { return Found(user: user) }
        let line = SiblingQuery(peer: ends.peer, local: ends.local).text
        var silent: Set<Int32> = []
        // One time limit for all of them: there may be hundreds.
        let deadline = min(slot.loop.deadline(in: SiblingAnswer.timeout), end)
        for socket in sockets {
            let answer = await SiblingAnswer.to(line, of: user, deadline, on: slot.loop) {
                loop throws(SystemError) in
                try LocalSocket.connect(to: socket, on: loop)
            }
            switch answer {
            case .other: continue
            case .unknown: return .behind(nil)
            case .user(let number): return .behind(number)
            case nil: silent.insert(SiblingFolder.process(of: socket))
            }
        }
        for name in apart {
            let answer = await SiblingAnswer.to(line, at: name, of: user, deadline, on: slot.loop)
            if answer == .other { continue }
            // It may be in a user namespace, where users have other numbers: its own is this user.
            guard case .user(let number) = answer, let own = names.user(in: name) else {
                return .behind(nil)
            }
            if number == own { return .behind(user) }
            return .behind(own == user ? number : nil)
        }
        if !silent.isEmpty {
            // A process that hangs must not refuse clients that do not come through it.
            let holders = await processes.holders(
                of: ends.peer,
                to: ends.local,
                among: silent,
                slot: slot
            )
            guard holders == [] else { return .behind(nil) }
        }
        // A process that closed the connection meanwhile answers that it is not its own.
        return await processes.isHeld(ends.peer, to: ends.local, slot: slot)
            ? Found(user: user) : .unknown
    }

    /// The same where a lupin of another user may have made the connection.
    ///
    /// The lupin that listens for queries as that user is asked. Only root is believed that its
    /// client is another user; from any other user such an answer makes the client unknown, as no
    /// answer does.
    private func behindLupins(of user: UInt32) async -> Found {
        let (processes, network) = (shared.processes, shared.networkNames)
        let found = await processes.ask(slot: slot) { network.all(of: user) }
        guard let found, let names = found else { return .unknown }
        let line = SiblingQuery(peer: ends.peer, local: ends.local).text
        let deadline = min(slot.loop.deadline(in: SiblingAnswer.timeout), end)
        for name in names {
            switch await SiblingAnswer.to(line, at: name, of: user, deadline, on: slot.loop) {
            case .other: continue
            case .user(let number):
                // Any user may listen under their own name and claim a client with more rights.
                return .behind(number == user || user == 0 ? number : nil)
            case .unknown, nil: return .behind(nil)
            }
        }
        // As with siblings: one that closed the connection meanwhile says that it is not its own.
        return await processes.isHeld(ends.peer, to: ends.local, slot: slot)
            ? Found(user: user) : .unknown
    }

    /// The sockets of the other lupin processes of this user; nil when they can't be read.
    private func siblings() async -> [String]? {
        let (name, folders) = (shared.siblingName, shared.siblingFolders)
        // The folder holds a few names, usually only our own.
        if shared.isSiblingFolderNear { return SiblingFolder.siblings(of: name, in: folders) }
        return await shared.processes.ask(slot: slot) {
            SiblingFolder.siblings(of: name, in: folders)
        } ?? nil
    }
}

extension Exchange {
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
