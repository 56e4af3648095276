// The only place that reads errno: calls are repeated on EINTR and failures become values.
import CLinux
import Glibc

/// A failed system call.
package struct SystemError: Error, Equatable, Sendable {
    /// The errno value, positive.
    package let code: Int32

    package init(code: Int32) { self.code = code }

    /// The kernel's message for it.
    package var message: String {
        if self == .unannouncedEnd { return "The connection ended without a farewell" }
        switch self {
        case .foreignFile:
            return "it belongs to another user, who could read what is written to it"
        case .openFile: return "others may write to it"
        case .sharedFile: return "it has another name, too, which may be another user's"
        default: break
        }
        // Safety: strerror returns a static or thread-local C string; it is copied at once.
        guard let text = unsafe strerror(code) else { return "error \(code)" }
        return unsafe String(cString: text)
    }

    package static let wouldBlock = SystemError(code: EAGAIN)
    package static let addressInUse = SystemError(code: EADDRINUSE)
    /// A filtered connection ended without the end message that the filter expects; the code is not
    /// one of the kernel's.
    package static let unannouncedEnd = SystemError(code: 0)
    /// Another user may have put the file there, or may change it; the codes are not the kernel's.
    package static let foreignFile = SystemError(code: -1)
    package static let openFile = SystemError(code: -2)
    package static let sharedFile = SystemError(code: -3)
    package static let descriptorsExhausted: Set<Int32> = [EMFILE, ENFILE, ENOBUFS, ENOMEM]
}

package enum SystemCall {
    /// Runs a call, and repeats it on EINTR; returns a failure as `-errno`.
    @inline(__always)
    package static func value(_ call: () -> Int) -> Int {
        while true {
            let result = call()
            if result >= 0 { return result }
            let code = errno
            if code != EINTR { return -Int(code) }
        }
    }

    /// Runs a call that a signal shall end; returns a failure as `-errno`.
    package static func once(_ call: () -> Int) -> Int {
        let result = call()
        return result >= 0 ? result : -Int(errno)
    }

    /// Whether a read, or an accept, would not wait.
    static func isReadable(_ descriptor: Int32) -> Bool {
        var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        // Safety: poll fills the one entry it is given, and does not wait.
        return value { Int(unsafe poll(&entry, 1, 0)) } > 0
    }

    /// Runs a call that is not on the hot path.
    /// - Throws: The errno value.
    @discardableResult
    package static func check(_ call: () -> Int32) throws(SystemError) -> Int32 {
        let result = value { Int(call()) }
        guard result >= 0 else { throw SystemError(code: Int32(-result)) }
        return Int32(result)
    }

    /// Monotonic time in microseconds.
    package static func monotonicMicroseconds() -> UInt64 {
        var time = timespec()
        // Safety: clock_gettime fills the struct it is given and keeps no pointer.
        unsafe clock_gettime(CLOCK_MONOTONIC, &time)
        return UInt64(time.tv_sec) &* 1_000_000 &+ UInt64(time.tv_nsec) / 1000
    }

    /// Time of day in microseconds since 1970.
    package static func wallMicroseconds() -> Int64 {
        var time = timespec()
        // Safety: as above.
        unsafe clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) &* 1_000_000 &+ Int64(time.tv_nsec) / 1000
    }

    /// Processors that this process may run on, at least 1.
    package static var processorCount: Int { Int(linux_cpu_count()) }

    /// Raises the soft limit of open descriptors to the hard one; returns the limit in force.
    package static func raiseDescriptorLimit() -> Int {
        var limit = rlimit()
        // Safety: both calls only use the struct they are given.
        guard unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else {
            return 1024
        }
        limit.rlim_cur = limit.rlim_max
        unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        return Int(clamping: limit.rlim_cur)
    }

    /// The limit of open descriptors in force.
    package static var descriptorLimit: Int {
        var limit = rlimit()
        // Safety: the call fills the struct it is given.
        let result = unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        return result == 0 ? Int(clamping: limit.rlim_cur) : 1024
    }

    /// Gives whole free pages of the heap back to the kernel.
    package static func trimHeap() { _ = linux_trim_heap() }

    /// Makes a peer's disconnect fail as EPIPE instead of ending the process with SIGPIPE.
    package static func ignoreBrokenPipes() {
        _ = signal(SIGPIPE, SIG_IGN)
    }
}

extension SystemError {
    /// Whether the peer's host refused the connection, because nothing listens there.
    package var isRefusal: Bool { code == ECONNREFUSED }
}
