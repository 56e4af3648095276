// Tells which connections a confined command begins, where they fail.
import CLinux
import Glibc
import LupinCore

/// The connections that a confined command begins.
///
/// The kernel asks before each (seccomp_unotify(2)).
/// They are seen and not decided: each goes on as if nobody had asked, since the command's network
/// keeps them in. So it does no harm that the command may change the address after it was read.
package final class ConnectWatch: Sendable {
    private let descriptor: Descriptor

    init(owning descriptor: consuming Descriptor) { self.descriptor = descriptor }

    /// Begins to watch this process, and tells lupin so through `socket`.
    ///
    /// Where the kernel can't do that, nobody is told of connections.
    static func begin(tellingAt socket: Int32) {
        guard let watch = try? CallFilter.watchConnections() else { return }
        var passed = [watch.raw]
        // Safety: the list outlives the call, which reads its one element.
        _ = SystemCall.value { unsafe Int(confine_send(socket, &passed, 1)) }
    }

    /// Calls `note` with every TCP connection to another address than the loopback interface's,
    /// until the command has ended or `slot` is woken by `.cut`.
    ///
    /// Call it in a task of the slot's loop. Meanwhile the program waits.
    package func serve(
        slot: ParkingSlot,
        _ note: (_ program: String?, _ target: SocketAddress) -> Void
    ) async throws(SystemError) {
        _ = try slot.loop.register(watcher: slot, reading: descriptor.raw)
        while true {
            switch state {
            case .asking: if !attend(note) { return }
            case .ended: return
            case .quiet: if await slot.park(for: .ready | .cut).meets(.cut) { return }
            }
        }
    }

    private enum State {
        case asking, quiet, ended
    }

    /// Asked before a call is taken, which would block.
    private var state: State {
        var entry = pollfd(fd: descriptor.raw, events: Int16(POLLIN), revents: 0)
        // Safety: poll fills the one entry it is given, and does not wait.
        guard unsafe poll(&entry, 1, 0) > 0 else { return .quiet }
        if Int32(entry.revents) & POLLIN != 0 { return .asking }
        return .ended
    }

    /// Notes a call, and lets it go on.
    /// - Returns: false where calls can't be taken: a kernel that speaks otherwise.
    private func attend(_ note: (String?, SocketAddress) -> Void) -> Bool {
        var call = seccomp_notif()
        // Safety: the call fills the struct it is given.
        let result = SystemCall.value { unsafe Int(confine_next_call(descriptor.raw, &call)) }
        // The process may have ended meanwhile.
        guard result == 0 else { return result == -Int(ENOENT) || result == -Int(EINTR) }
        if let process = ProcessFiles.process(ofThread: call.pid),
            let target = target(of: call, in: process),
            confine_is_waiting(descriptor.raw, call.id) == 0
        {
            note(ProcessFiles.program(of: process), target)
        }
        _ = SystemCall.value { Int(confine_let_go_on(descriptor.raw, call.id)) }
        return true
    }

    // MARK: Who calls

    /// connect(socket, address, length): the address, if it is one of TCP on another machine.
    private func target(of call: seccomp_notif, in process: Int32) -> SocketAddress? {
        let (socket, place, length) = (call.data.args.0, call.data.args.1, call.data.args.2)
        guard let address = address(in: call.pid, at: place, length) else { return nil }
        let own = address.address.unmapped
        // Linux takes 0.0.0.0 and :: for the loopback interface.
        if own.isLoopback || own == .v4(0) || own == .v6(high: 0, low: 0) { return nil }
        let type = confine_socket_type(process, Int32(truncatingIfNeeded: socket))
        // Where the kernel does not say the type, the connection may be one of TCP.
        return type == Int32(SOCK_STREAM.rawValue) || type < 0 ? address : nil
    }

    /// A socket's address in the memory of a thread.
    private func address(in thread: UInt32, at place: UInt64, _ length: UInt64) -> SocketAddress? {
        let flags = O_RDONLY | O_CLOEXEC
        // Safety: the path is NUL-terminated for the call.
        let raw = try? SystemCall.check { unsafe open("/proc/\(thread)/mem", flags) }
        guard let raw, let offset = Int(exactly: place) else { return nil }
        let memory = Descriptor(owning: raw)
        var storage = sockaddr_storage()
        let count = min(Int(clamping: length), MemoryLayout<sockaddr_storage>.size)
        // Safety: at most as many bytes are filled as the storage has.
        let read = SystemCall.value { unsafe pread(memory.raw, &storage, count, offset) }
        guard read == count else { return nil }
        return SocketAddress(storage)
    }
}
