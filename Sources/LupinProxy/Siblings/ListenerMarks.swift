// Knows which listening sockets of this machine are those of this user's lupin processes.
import Logging
import LupinCore
import LupinIO
import Synchronization

/// The listening sockets of this process, and the marks by which others find them.
///
/// `access.deny_targets: self` means every listener of every lupin of this user. No list of
/// addresses could say which these are: lupins come and go, and an address has many spellings. The
/// kernel says which socket serves an address, by its inode; and each process keeps an empty file
/// in the sibling folder for each of its sockets, whose name has the inode. So a process that hangs
/// is known as well as another; only those that see another folder, as in a container, are asked.
final class ListenerMarks: Sendable {
    /// Whose a listening socket is.
    enum Holder {
        case other
        /// This process.
        case own
        /// Another lupin of this user.
        case sibling
        /// It is one of this user, or of the service manager, and the marks can't be read.
        case unknown
    }

    private struct State {
        /// Those for clients, which a reload may change.
        var proxies: [ListeningSocket] = []
        /// Those of the admin interface, to the end.
        var others: [ListeningSocket] = []
        /// Where the marks lie; nil while there are none.
        var folder: String?

        var all: [ListeningSocket] { proxies + others }
    }

    private let state = Mutex(State())
    private let name: String
    private let names: NetworkNames?
    private let folders: [String]
    /// Whether a loop may read the folders itself.
    private let isFolderNear: Bool
    private let logger: Logger

    init(
        of name: String,
        _ names: NetworkNames?,
        in folders: [String],
        isFolderNear: Bool,
        _ logger: Logger
    ) {
        self.names = names
        self.logger = logger
        self.name = name
        self.folders = folders
        self.isFolderNear = isFolderNear
    }

    // MARK: Marking

    /// Begins to mark the listeners, in a folder where this process has its socket.
    func begin(in folder: String) {
        state.withLock { state in
            state.folder = folder
            mark(state.all, in: folder)
        }
    }

    /// Replaces the listeners for clients.
    func set(_ proxies: [ListeningSocket]) {
        state.withLock { state in
            let kept = Set(proxies.map(\.inode))
            if let folder = state.folder {
                mark(proxies, in: folder)
                for socket in state.proxies where !kept.contains(socket.inode) {
                    LocalSocket.removeMark(at: path(of: socket, in: folder))
                }
            }
            state.proxies = proxies
        }
    }

    /// Adds a listener of the admin interface.
    func add(_ other: ListeningSocket) {
        state.withLock { state in
            if let folder = state.folder { mark([other], in: folder) }
            state.others.append(other)
        }
    }

    /// Removes all marks.
    func end() {
        state.withLock { state in
            guard let folder = state.folder else { return }
            for socket in state.all { LocalSocket.removeMark(at: path(of: socket, in: folder)) }
            state.folder = nil
        }
    }

    private func mark(_ sockets: [ListeningSocket], in folder: String) {
        for socket in sockets {
            do throws(SystemError) {
                try LocalSocket.leaveMark(at: path(of: socket, in: folder))
            } catch {
                logger.warning(
                    """
                    no mark for \(socket.address) can be made in \(folder): \(error.message); \
                    other lupins of this user take it for another program's
                    """
                )
            }
        }
    }

    private func path(of socket: ListeningSocket, in folder: String) -> String {
        "\(folder)/\(SiblingFolder.markName(of: name, inode: socket.inode))"
    }

    // MARK: Asking

    /// Whether a listener is one of this process.
    func have(_ inode: UInt64) -> Bool { state.withLock { $0.all.contains { $0.inode == inode } } }

    /// Whose the socket is that serves new connections to an address of this machine.
    func holder(
        of address: SocketAddress,
        _ processes: ProcessLookup,
        slot: ParkingSlot
    ) async -> Holder {
        switch await processes.listener(at: address, slot: slot) {
        case .nobody: return .other
        case .user(let user, let inode):
            if have(inode) { return .own }
            guard let marks = await marks(processes, slot) else {
                return user == ProcessOwner.userNumber || user == 0 ? .unknown : .other
            }
            let end = "-\(inode)"
            if marks.contains(where: { $0.hasSuffix(end) }) { return .sibling }
            guard user == ProcessOwner.userNumber else { return .other }
            return await holderApart(ListenerQuestion(inode: inode), slot)
        case .unavailable:
            // Without the kernel's word a port is all there is.
            if state.withLock({ $0.all.contains { $0.address.port == address.port } }) {
                return .own
            }
            let own = "-\(name)@"
            return await marks(processes, slot)?.allSatisfy { $0.contains(own) } == true
                ? .other : .unknown
        }
    }

    /// The same by asking the lupins of this user that can leave no marks here, as in a container.
    private func holderApart(
        _ question: ListenerQuestion,
        _ slot: ParkingSlot
    ) async -> Holder {
        guard let apart = names?.apart() else { return .other }
        let deadline = slot.loop.deadline(in: SiblingAnswer.timeout)
        for name in apart {
            let answer = await SiblingAnswer.to(
                question.text,
                at: name,
                of: ProcessOwner.userNumber,
                deadline,
                on: slot.loop
            )
            // One that is silent would end every server of this user; it asks whose a client is.
            if answer == .unknown { return .sibling }
        }
        return .other
    }

    private func marks(_ processes: ProcessLookup, _ slot: ParkingSlot) async -> [String]? {
        if folders.isEmpty { return [] }
        if isFolderNear { return SiblingFolder.marks(in: folders) }
        let folders = folders
        return await processes.ask(slot: slot) { SiblingFolder.marks(in: folders) } ?? nil
    }
}
