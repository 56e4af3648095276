// Whether this machine's network has changed: the kernel says so on a netlink socket.
import CLinux
import Glibc
import LupinCore

/// Tells when a route, an address or a link of this machine comes, goes or changes.
///
/// What has changed is not told: one change of a network is dozens of messages, some are of no
/// consequence (a router that repeats what it said before), and messages that come too fast are
/// lost. So whoever is told looks again at what matters, `NetworkRoutes` for one.
///
/// Not Sendable: it belongs to its loop, and lives until `close`.
package final class NetworkWatch {
    private let loop: EventLoop
    private let slot: ParkingSlot
    private let spacing: Duration
    private let descriptor: Int32
    private let token: UInt64
    private var changed: (() -> Void)?

    /// The least time from one call to the next.
    package static let spacing = Duration.milliseconds(250)
    /// Messages taken in one go; others have their turn before the rest.
    private static let turnMessagesMax = 256

    /// Begins to watch; what happens from now on is told.
    /// - Parameters:
    ///   - loop: Where it is told.
    ///   - spacing: The first change is told at once, those that follow within this time together
    ///     at its end.
    ///   - changed: Called on the loop; it may call `close`.
    /// - Throws: Where the kernel, or whoever confines this process, gives no such socket.
    package convenience init(
        on loop: EventLoop,
        spacing: Duration = NetworkWatch.spacing,
        changed: @escaping () -> Void
    ) throws(SystemError) {
        try self.init(Self.openSocket(), on: loop, spacing: spacing, changed: changed)
    }

    /// Watches a socket of `openSocket`, which may have been opened in another namespace.
    package init(
        _ socket: consuming Descriptor,
        on loop: EventLoop,
        spacing: Duration = NetworkWatch.spacing,
        changed: @escaping () -> Void
    ) throws(SystemError) {
        self.loop = loop
        self.spacing = spacing
        self.changed = changed
        slot = ParkingSlot(on: loop)
        token = try loop.register(watcher: slot, reading: socket.raw)
        descriptor = socket.release()
        let local = LoopLocal(self, of: loop.executor)
        Task.immediate(executorPreference: loop.executor) { await local.value.run() }
    }

    /// Ends the watch; nothing is told any more.
    package func close() {
        guard changed != nil else { return }
        changed = nil
        loop.poller.remove(descriptor)
        loop.unregister(token)
        _ = Glibc.close(descriptor)
        slot.wake(.cut)
        slot.retire()
    }

    /// A socket on which the kernel tells of changes in the network namespace of this thread.
    /// - Throws: What socket(2) or bind(2) said.
    package static func openSocket() throws(SystemError) -> Descriptor {
        let socket = Descriptor(owning: try SystemCall.check { linux_route_socket() })
        let raw = socket.raw
        try SystemCall.check { linux_route_listen(raw) }
        return socket
    }

    private var isOpen: Bool { changed != nil }

    private func run() async {
        var isChange = false
        while isOpen {
            if !isChange {
                _ = await slot.park(for: .ready | .cut)
                isChange = takeMessages()
            }
            guard isChange else { continue }
            changed?()
            isChange = await rest()
        }
    }

    /// Lets the spacing pass; says whether something came meanwhile.
    private func rest() async -> Bool {
        let end = loop.deadline(in: spacing)
        var isChange = false
        while isOpen, loop.now < end {
            let woken = await slot.park(for: .ready | .cut, until: end)
            // Taken as they come: a socket that is left full wakes the loop again and again.
            if woken.meets(.ready), takeMessages() { isChange = true }
        }
        return isChange
    }

    /// Drops the messages there are; false when there were none.
    private func takeMessages() -> Bool {
        var isAny = false
        for _ in 0..<Self.turnMessagesMax where isOpen {
            var byte: UInt8 = 0
            let result = SystemCall.value {
                // Safety: the kernel writes one byte at most, and drops the rest of the message.
                unsafe recv(descriptor, &byte, 1, Int32(MSG_DONTWAIT))
            }
            if result == -Int(EAGAIN) { return isAny }
            // A failure says that messages were lost (ENOBUFS), and the kernel tells of it once.
            isAny = true
        }
        return isAny
    }
}
