// The epoll instance of a loop.
import CLinux
import Glibc

/// The events that the kernel reports for one descriptor.
struct Readiness {
    let bits: UInt32

    var isReadable: Bool { bits & ~UInt32(LINUX_EPOLLOUT) != 0 }
    var isWritable: Bool { bits & UInt32(LINUX_EPOLLOUT | LINUX_EPOLLHUP | LINUX_EPOLLERR) != 0 }
    /// The peer has sent FIN.
    var isPeerFinished: Bool { bits & UInt32(LINUX_EPOLLRDHUP) != 0 }
    /// Both directions have ended, or the socket has an error.
    var isBroken: Bool { bits & UInt32(LINUX_EPOLLHUP | LINUX_EPOLLERR) != 0 }
}

/// An epoll instance and room for one batch of its events.
@safe
final class Poller {
    static let batch = 512

    private let epoll: Descriptor
    private let events: UnsafeMutablePointer<epoll_event>

    init() throws(SystemError) {
        epoll = Descriptor(owning: try SystemCall.check { linux_epoll_create() })
        unsafe events = .allocate(capacity: Self.batch)
    }

    deinit { unsafe events.deallocate() }

    /// Watches a socket, edge-triggered, for as long as it is open: for all that can be read, and,
    /// with `needsRoom`, for room to send.
    func addStream(_ descriptor: Int32, token: UInt64, needsRoom: Bool) throws(SystemError) {
        let wanted = needsRoom ? Self.arrivals | UInt32(LINUX_EPOLLOUT) : Self.arrivals
        try SystemCall.check { linux_epoll_add(epoll.raw, descriptor, wanted, token) }
    }

    /// Watches a socket for room to send, too; there may already be some.
    func watchForRoom(_ descriptor: Int32, token: UInt64) {
        let wanted = Self.arrivals | UInt32(LINUX_EPOLLOUT)
        _ = linux_epoll_modify(epoll.raw, descriptor, wanted, token)
    }

    private static let arrivals =
        UInt32(LINUX_EPOLLIN | LINUX_EPOLLRDHUP) | UInt32(LINUX_EPOLLET)

    /// Watches a descriptor for reading, level-triggered.
    func addReader(_ descriptor: Int32, token: UInt64) throws(SystemError) {
        try SystemCall.check {
            linux_epoll_add(epoll.raw, descriptor, UInt32(LINUX_EPOLLIN), token)
        }
    }

    /// Watches a listening socket that other loops watch too: an event wakes only one of them.
    func addSharedListener(_ descriptor: Int32, token: UInt64) throws(SystemError) {
        try SystemCall.check {
            linux_epoll_add(
                epoll.raw,
                descriptor,
                UInt32(LINUX_EPOLLIN) | LINUX_EPOLLEXCLUSIVE,
                token
            )
        }
    }

    func remove(_ descriptor: Int32) {
        _ = linux_epoll_delete(epoll.raw, descriptor)
    }

    /// Waits for events and returns their number; 0 after an interrupted wait.
    func wait(milliseconds: Int32) -> Int {
        // Safety: `events` has room for `batch` entries.
        let count = unsafe epoll_wait(epoll.raw, events, Int32(Self.batch), milliseconds)
        return max(0, Int(count))
    }

    @inline(__always)
    func event(_ i: Int) -> (token: UInt64, readiness: Readiness) {
        // Safety: `i` is below the count that `wait` returned.
        unsafe (
            linux_event_data(events, Int32(i)),
            Readiness(bits: linux_event_bits(events, Int32(i)))
        )
    }
}
