// Which TCP sockets a proxy in this process holds: what it must not leave when it has stopped.
import Foundation
import Glibc
import Synchronization

/// One socket that this process has a descriptor of, and that is none of the kit's.
package struct OpenSocket: Sendable, CustomStringConvertible {
    /// What a socket is between.
    package struct Ends: Sendable {
        package var local: UInt16
        /// 0 where it is connected to nobody.
        package var remote: UInt16
        /// The IPv4 addresses as numbers; 0 for IPv6, and where it is connected to nobody.
        package var localHost: UInt32
        package var remoteHost: UInt32
    }

    package var ends: Ends
    package var isListening: Bool
    /// The peer has sent FIN, and this side has not yet.
    package var isLeft: Bool
    /// By which algorithm it sends, such as `bbr`.
    package var congestionControl: String
    /// Whether the kernel acknowledges at once what comes next, as after TCP_QUICKACK; a connection
    /// that answers what it gets is left by that.
    package var acknowledgesAtOnce: Bool
    /// What tells it from a later socket with the same descriptor and port.
    package var inode: UInt64
    /// The kernel's number for the state of its connection.
    private var state: UInt8

    package var description: String { "\(ends.local) -> \(ends.remote) (state \(state))" }

    /// Sockets of the kit by their inodes, which no other socket gets later.
    ///
    /// The kernel gives a port anew, and then a socket of another test would pass for a proxy's.
    private static let ofTheKit = Mutex<Set<UInt64>>([])

    /// Has a socket pass for no proxy's from now on.
    static func leaveOut(_ descriptor: Int32) {
        guard let inode = socketInode(descriptor) else { return }
        _ = ofTheKit.withLock { $0.insert(inode) }
    }

    /// The internet sockets among this process's descriptors that are wanted by their ends,
    /// without the kit's.
    ///
    /// The descriptors are asked one by one: the kernel's table of connections also holds
    /// thousands that wait for their time to be over. There may be ten thousand descriptors, most
    /// of them other tests'; so little is asked of those that are not wanted.
    package static func all(_ isWanted: (Ends) -> Bool) -> [OpenSocket] {
        let found = (0..<descriptorsMax()).compactMap { OpenSocket($0, isWanted) }
        return ofTheKit.withLock { own in found.filter { !own.contains($0.inode) } }
    }

    /// Those of all sockets among this process's descriptors.
    package static var inodes: Set<UInt64> {
        Set((0..<descriptorsMax()).compactMap { socketInode($0) })
    }

    /// All descriptors of this process are below: the size of the kernel's table of them.
    private static func descriptorsMax() -> Int32 {
        let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
        let line = status.split(separator: "\n").first { $0.hasPrefix("FDSize:") }
        return line?.split(separator: "\t").last.flatMap { Int32($0) } ?? 1 << 16
    }

    private init?(_ descriptor: Int32, _ isWanted: (Ends) -> Bool) {
        // Safety: both functions write what `end(of:_:)` tells them to at most.
        guard let here = unsafe OpenSocket.end(of: descriptor, getsockname) else { return nil }
        let there = unsafe OpenSocket.end(of: descriptor, getpeername) ?? (0, 0)
        ends = Ends(
            local: here.port,
            remote: there.port,
            localHost: here.host,
            remoteHost: there.host
        )
        guard isWanted(ends), let inode = OpenSocket.socketInode(descriptor) else { return nil }
        self.inode = inode
        var isListening: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        // Safety: getsockopt fills the integer it is given.
        unsafe getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &isListening, &length)
        self.isListening = isListening != 0
        var isQuick: Int32 = 0
        // Safety: getsockopt fills the integer it is given.
        unsafe getsockopt(descriptor, Int32(IPPROTO_TCP), TCP_QUICKACK, &isQuick, &length)
        acknowledgesAtOnce = isQuick != 0
        var state: UInt8 = 0
        length = 1
        // Safety: getsockopt fills the byte it is given, the first of `tcp_info`.
        unsafe getsockopt(descriptor, Int32(IPPROTO_TCP), TCP_INFO, &state, &length)
        self.state = state
        congestionControl = Self.congestionControl(of: descriptor)
        isLeft = state == Self.closeWait
    }

    /// TCP_CLOSE_WAIT of the kernel.
    private static let closeWait: UInt8 = 8

    private static func congestionControl(of descriptor: Int32) -> String {
        var name = [UInt8](repeating: 0, count: 16)
        var length = socklen_t(name.count)
        // Safety: getsockopt writes `length` bytes at most, which are there.
        unsafe getsockopt(descriptor, Int32(IPPROTO_TCP), TCP_CONGESTION, &name, &length)
        return String(decoding: name.prefix { $0 != 0 }, as: UTF8.self)
    }

    private static func socketInode(_ descriptor: Int32) -> UInt64? {
        var status = stat()
        // Safety: fstat fills the struct it is given.
        guard unsafe fstat(descriptor, &status) == 0 else { return nil }
        return status.st_mode & S_IFMT == S_IFSOCK ? UInt64(status.st_ino) : nil
    }

    private typealias Asking = (
        Int32, UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>
    ) -> Int32

    private static func end(
        of descriptor: Int32,
        _ ask: Asking
    ) -> (host: UInt32, port: UInt16)? {
        var form = sockaddr_in6()
        var length = socklen_t(MemoryLayout<sockaddr_in6>.size)
        // Safety: `ask` writes at most `length` bytes to the form; every form begins as sockaddr.
        let code = unsafe withUnsafeMutablePointer(to: &form) {
            unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe ask(descriptor, $0, &length)
            }
        }
        let family = Int32(form.sin6_family)
        guard code == 0, family == AF_INET || family == AF_INET6 else { return nil }
        // The port stands at the same place for both; IPv4 has its address where IPv6 has the
        // flow label.
        let host = family == AF_INET ? UInt32(bigEndian: form.sin6_flowinfo) : 0
        return (host, UInt16(bigEndian: form.sin6_port))
    }
}
