// A program outside that a confined command must not reach.
import Glibc
import LupinTestKit
import Testing

/// A socket with a path at which a test listens.
final class LocalDoor {
    let path: String
    private let descriptor: Int32

    init(_ path: String) throws {
        self.path = path
        descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let bytes = Array(path.utf8CString)
        try #require(bytes.count <= MemoryLayout.size(ofValue: address.sun_path))
        // Safety: the path was seen to fit; bind reads the address only.
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { room in
            unsafe bytes.withUnsafeBytes { unsafe room.copyMemory(from: $0) }
        }
        let code = unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        try #require(code == 0 && listen(descriptor, 8) == 0)
    }

    func remove() { unsafe unlink(path) }

    /// Gives it another name.
    func rename(to name: String) { unsafe Glibc.rename(path, name) }

    /// Whether somebody has connected.
    var isReached: Bool {
        var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        // Safety: poll fills the one entry it is given, and does not wait.
        return unsafe poll(&entry, 1, 0) > 0
    }

    deinit { close(descriptor) }
}
