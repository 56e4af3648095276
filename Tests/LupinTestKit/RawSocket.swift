// The system calls of the tests' sockets: non-blocking, bounded by poll, failures as sentences.
import CLinux
import Glibc
import LupinCore
import LupinIO

/// Time that runs out.
struct Countdown {
    private let deadline: UInt64

    init(_ duration: Duration = PlainSocket.timeout) {
        deadline = SystemCall.monotonicMicroseconds() &+ duration.microseconds
    }

    var milliseconds: Int32 {
        let now = SystemCall.monotonicMicroseconds()
        return now < deadline ? Int32((deadline - now) / 1000) + 1 : 0
    }
}

enum RawSocket {
    /// POLLRDHUP, which Glibc's module lacks; HUP and ERR always come along.
    static let hangUp: Int32 = 0x2000

    private static let kind = Int32(
        SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue
    )

    static func make(for address: SocketAddress) throws -> Descriptor {
        let family =
            switch address.address {
            case .v4: AF_INET
            case .v6: AF_INET6
            }
        let descriptor = Descriptor(owning: try SystemCall.check { socket(family, kind, 0) })
        OpenSocket.leaveOut(descriptor.raw)
        return descriptor
    }

    static func makePair() throws -> (PlainSocket, PlainSocket) {
        var ends: [Int32] = [-1, -1]
        // Safety: socketpair fills the two integers it is given.
        try SystemCall.check { unsafe socketpair(AF_UNIX, kind, 0, &ends) }
        return (
            PlainSocket(owning: Descriptor(owning: ends[0])),
            PlainSocket(owning: Descriptor(owning: ends[1]))
        )
    }

    static func connect(
        _ descriptor: Int32,
        to address: SocketAddress,
        by countdown: Countdown
    ) throws {
        let code = unsafe address.withKernelForm { form, length in
            // Safety: connect reads the `length` bytes that the form has.
            unsafe Glibc.connect(descriptor, form, length) == 0 ? 0 : errno
        }
        if code == 0 { return }
        guard code == EINPROGRESS else {
            throw SocketFailure("\(address): \(SystemError(code: code).message)")
        }
        guard wait(descriptor, for: POLLOUT, by: countdown) else {
            throw SocketFailure("\(address) did not answer a connect in time")
        }
        var error: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        // Safety: getsockopt fills the integer it is given.
        unsafe getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &error, &length)
        guard error == 0 else {
            throw SocketFailure("\(address): \(SystemError(code: error).message)")
        }
    }

    static func bind(_ descriptor: Int32, to address: SocketAddress) throws {
        try SystemCall.check {
            // Safety: bind reads the `length` bytes that the form has.
            unsafe address.withKernelForm { unsafe Glibc.bind(descriptor, $0, $1) }
        }
    }

    static func accept(_ listener: Int32) -> Descriptor? {
        var address = sockaddr_storage()
        var length = socklen_t()
        // Safety: accept4 fills the two values it is given. It marks the descriptor at once, so
        // that no child of another test keeps it.
        let accepted = unsafe linux_accept(listener, &address, &length)
        guard accepted >= 0 else { return nil }
        OpenSocket.leaveOut(accepted)
        return Descriptor(owning: accepted)
    }

    /// Ends a TCP connection with RST, whoever else has a descriptor of it.
    static func disconnect(_ descriptor: Int32) {
        // With linger zero closing does the same, where this does nothing: no TCP, or a listener.
        setLingerZero(of: descriptor)
        var form = sockaddr_storage()
        form.ss_family = sa_family_t(AF_UNSPEC)
        // Safety: connect reads the form it is given.
        _ = unsafe linux_connect(descriptor, &form, socklen_t(MemoryLayout<sockaddr>.size))
    }

    /// Sends once: how many bytes went, or `-errno`.
    static func send(_ descriptor: Int32, _ bytes: ArraySlice<UInt8>) -> Int {
        // Safety: the pointer lives for the call, which reads `count` bytes.
        let result = unsafe bytes.withUnsafeBytes {
            unsafe Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
        }
        return result >= 0 ? result : -Int(errno)
    }

    /// Receives once: how many bytes came, 0 at the end, or `-errno`.
    static func receive(_ descriptor: Int32, into bytes: inout [UInt8]) -> Int {
        var result = 0
        let room = 64 << 10
        let more = unsafe [UInt8](unsafeUninitializedCapacity: room) { buffer, count in
            // Safety: the buffer has `room` bytes; `count` says how many recv has filled.
            result = unsafe recv(descriptor, buffer.baseAddress, room, 0)
            count = max(0, result)
        }
        if result < 0 { return -Int(errno) }
        bytes.append(contentsOf: more)
        return result
    }

    /// Waits for one of `events`; false when time ran out.
    static func wait(_ descriptor: Int32, for events: Int32, by countdown: Countdown) -> Bool {
        while true {
            var entry = pollfd(fd: descriptor, events: Int16(events), revents: 0)
            // Safety: poll reads and writes the one entry it is given.
            let count = unsafe poll(&entry, 1, countdown.milliseconds)
            if count > 0 { return true }
            if count == 0 || errno != EINTR { return false }
        }
    }

    static func unreadCount(_ descriptor: Int32) -> Int {
        var byte: UInt8 = 0
        // Safety: recv fills the one byte it is given and leaves it in the socket.
        return unsafe recv(descriptor, &byte, 1, Int32(MSG_PEEK))
    }

    static func set(_ option: Int32, to value: Int32, of descriptor: Int32) {
        var value = value
        // Safety: setsockopt reads the integer it is given.
        unsafe setsockopt(
            descriptor,
            SOL_SOCKET,
            option,
            &value,
            socklen_t(MemoryLayout<Int32>.size)
        )
    }

    private static func setLingerZero(of descriptor: Int32) {
        var value = linger(l_onoff: 1, l_linger: 0)
        // Safety: setsockopt reads the struct it is given.
        unsafe setsockopt(
            descriptor,
            SOL_SOCKET,
            SO_LINGER,
            &value,
            socklen_t(MemoryLayout<linger>.size)
        )
    }
}

extension SocketAddress {
    /// Calls `body` with a sockaddr_in or sockaddr_in6 and its length.
    fileprivate func withKernelForm(
        _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) -> Int32 {
        switch address {
        case .v4(let number):
            var form = sockaddr_in()
            form.sin_family = sa_family_t(AF_INET)
            form.sin_port = port.bigEndian
            form.sin_addr.s_addr = number.bigEndian
            return unsafe Self.pass(&form, to: body)
        case .v6(let high, let low):
            var form = sockaddr_in6()
            form.sin6_family = sa_family_t(AF_INET6)
            form.sin6_port = port.bigEndian
            // Safety: an in6_addr has the 16 bytes of two integers.
            unsafe withUnsafeMutableBytes(of: &form.sin6_addr) { bytes in
                unsafe bytes.storeBytes(of: high.bigEndian, toByteOffset: 0, as: UInt64.self)
                unsafe bytes.storeBytes(of: low.bigEndian, toByteOffset: 8, as: UInt64.self)
            }
            return unsafe Self.pass(&form, to: body)
        }
    }

    private static func pass<Form>(
        _ form: inout Form,
        to body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) -> Int32 {
        // Safety: the form outlives the call and every form begins as a sockaddr does.
        unsafe withUnsafePointer(to: &form) {
            unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe body($0, socklen_t(MemoryLayout<Form>.size))
            }
        }
    }
}
