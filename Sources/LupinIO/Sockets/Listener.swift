// Listening sockets: bound once, watched by every loop, accepted from fairly.
import CLinux
import Glibc
import Synchronization

/// A bound and listening socket that all loops share.
package final class ListeningSocket: Sendable {
    private let descriptor: Int32
    private let isOpen = Atomic(true)
    /// The bound address, with the port that the kernel chose if 0 was requested.
    package let address: SocketAddress
    /// By which the kernel identifies it.
    package let inode: UInt64

    /// Binds and listens.
    /// - Throws: The kernel's error, such as EADDRINUSE.
    package init(_ wanted: SocketAddress) throws(SystemError) {
        let owned = Descriptor(owning: try SystemCall.check { linux_socket(wanted.family) })
        let raw = owned.raw
        try SystemCall.check { linux_set_option(raw, Int32(SOL_SOCKET), SO_REUSEADDR, 1) }
        try Self.prepare(raw, wanted)
        if wanted.family == AF_INET6 {
            try SystemCall.check { linux_set_option(raw, Int32(IPPROTO_IPV6), IPV6_V6ONLY, 1) }
        }
        // Safety: the kernel's form of the address outlives the call, which only reads it.
        try SystemCall.check { unsafe wanted.withKernelForm { unsafe linux_bind(raw, $0, $1) } }
        try SystemCall.check { listen(raw, 4096) }
        address = SocketAddress.local(of: raw) ?? wanted
        inode = Self.inode(of: raw)
        descriptor = owned.release()
    }

    /// Accepts from a socket that another process keeps open, too.
    /// - Throws: The kernel's error.
    package init(_ passed: PassedSocket, at wanted: SocketAddress) throws(SystemError) {
        let owned = try passed.duplicate()
        try Self.prepare(owned.raw, wanted)
        address = wanted
        inode = Self.inode(of: owned.raw)
        descriptor = owned.release()
    }

    private static func inode(of raw: Int32) -> UInt64 {
        FileStatus(raw)?.identity.last ?? 0
    }

    deinit { close() }

    /// Sets what accepted sockets inherit: one call for all connections.
    private static func prepare(
        _ raw: Int32,
        _ address: SocketAddress
    ) throws(SystemError) {
        try SystemCall.check { linux_set_option(raw, Int32(IPPROTO_TCP), TCP_NODELAY, 1) }
        Channel.enableKeepAlive(raw)
        address.sendUnpaced(by: raw)
    }

    /// Refuses connections from now on, including those that wait, unless another process has the
    /// socket, too.
    ///
    /// Call it when no loop watches the socket any more.
    package func close() {
        guard isOpen.exchange(false, ordering: .relaxed) else { return }
        _ = Glibc.close(descriptor)
    }

    package var raw: Int32 { descriptor }
}

/// A listening socket that a loop may stop watching: the poller tells of waiting connections again
/// and again, so a loop that accepts none for a while would not come to rest.
package protocol PausableListener: AnyObject {
    /// Stops watching; waiting connections stay in the kernel's queue.
    func pause()

    /// Watches again.
    func resume() throws(SystemError)

    /// Whether a connection waits in the kernel's queue.
    var hasWaiting: Bool { get }
}

/// One loop's watch on a listening socket.
package final class Listener: PausableListener {
    /// The result of an attempt to accept.
    package enum Accepted {
        case connection(Channel)
        case blocked
        /// No descriptor or memory is left: stop accepting for a while.
        case exhausted
    }

    private let socket: ListeningSocket
    private let loop: EventLoop
    /// Whether other loops watch the same socket, so that they must take turns.
    private let isShared: Bool
    private let token: UInt64
    private var isWatching = false

    /// Wakes `slot` with `.ready` when a connection waits.
    package init(
        _ socket: ListeningSocket,
        on loop: EventLoop,
        slot: ParkingSlot,
        isShared: Bool
    ) throws(SystemError) {
        self.socket = socket
        self.loop = loop
        self.isShared = isShared
        token = loop.register(watcher: slot)
        try resume()
    }

    package var address: SocketAddress { socket.address }

    package func pause() {
        guard isWatching else { return }
        isWatching = false
        loop.poller.remove(socket.raw)
    }

    package func resume() throws(SystemError) {
        guard !isWatching else { return }
        if isShared {
            try loop.poller.addSharedListener(socket.raw, token: token)
        } else {
            try loop.poller.addReader(socket.raw, token: token)
        }
        isWatching = true
    }

    package func close() {
        pause()
        loop.unregister(token)
    }

    package var hasWaiting: Bool { SystemCall.isReadable(socket.raw) }

    /// Has another loop get the next connection.
    ///
    /// The kernel offers each to the first loop that waits, in the order in which they began to
    /// watch; so this one begins anew, behind the others.
    package func passTurn() throws(SystemError) {
        guard isShared, isWatching else { return }
        pause()
        try resume()
    }

    /// Accepts one connection.
    package func accept() throws(SystemError) -> Accepted {
        var storage = sockaddr_storage()
        var length: socklen_t = 0
        // Safety: accept4 fills the storage it is given.
        let result = SystemCall.value { Int(unsafe linux_accept(socket.raw, &storage, &length)) }
        if result >= 0 {
            let accepted = Descriptor(owning: Int32(result))
            let channel = try Channel(owning: accepted, on: loop, peer: SocketAddress(storage))
            channel.waitForNews()
            return .connection(channel)
        }
        let code = Int32(-result)
        if SystemError.descriptorsExhausted.contains(code) { return .exhausted }
        // All other errors concern one connection that is gone: there may be others.
        if code == EAGAIN { return .blocked }
        if code == EBADF || code == EINVAL || code == ENOTSOCK { throw SystemError(code: code) }
        return .blocked
    }
}
