// Reports that this machine's network has changed, from a netlink socket.
import CLinux
import Glibc

/// Reports when a route, an address or a link of this machine is added, removed or changed.
///
/// It does not report what has changed: one change of a network causes dozens of messages, some
/// have no consequence (a router that repeats an announcement), and messages that arrive too fast
/// are lost. So the caller must check what it depends on, for example with `NetworkRoutes`.
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
    /// Messages read in a row before the loop serves others.
    private static let turnMessagesMax = 256

    /// Begins to watch; changes from now on are reported.
    /// - Parameters:
    ///   - loop: The loop of the watch.
    ///   - spacing: The first change is reported at once; changes within this time after it are
    ///     reported together at its end.
    ///   - changed: Called on the loop; it may call `close`.
    /// - Throws: When the kernel, or a sandbox, refuses such a socket.
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

    /// Ends the watch; nothing is reported any more.
    package func close() {
        guard changed != nil else { return }
        changed = nil
        loop.poller.remove(descriptor)
        loop.unregister(token)
        _ = Glibc.close(descriptor)
        slot.wake(.cut)
        slot.retire()
    }

    /// Opens a socket on which the kernel reports changes in this thread's network namespace.
    /// - Throws: The error of socket(2) or bind(2).
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

    /// Waits for the spacing; returns whether a change came meanwhile.
    private func rest() async -> Bool {
        let end = loop.deadline(in: spacing)
        var isChange = false
        while isOpen, loop.now < end {
            let woken = await slot.park(for: .ready | .cut, until: end)
            // Read at once: unread messages would wake the loop again and again.
            if woken.meets(.ready), takeMessages() { isChange = true }
        }
        return isChange
    }

    /// Drops all pending messages; returns false when there were none.
    private func takeMessages() -> Bool {
        var isAny = false
        for _ in 0..<Self.turnMessagesMax where isOpen {
            var byte: UInt8 = 0
            let result = SystemCall.value {
                // Safety: the kernel writes one byte at most, and drops the rest of the message.
                unsafe recv(descriptor, &byte, 1, Int32(MSG_DONTWAIT))
            }
            if result == -Int(EAGAIN) { return isAny }
            // A failure means that messages were lost (ENOBUFS); the kernel reports that once.
            isAny = true
        }
        return isAny
    }
}
