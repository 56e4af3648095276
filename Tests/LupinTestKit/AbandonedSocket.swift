// Sockets with a path that a test makes, and the file of one whose process has gone.
import Glibc
import LupinIO

package enum AbandonedSocket {
    /// Leaves the file of a socket at `path` on which nobody listens.
    package static func leave(at path: String) throws { _ = try LocalSocketFile.bound(at: path) }
}

enum LocalSocketFile {
    /// A socket that is bound to `path`; an "@" at its start stands for NUL, as for abstract names.
    static func bound(
        at path: String,
        kind: Int32 = Int32(SOCK_STREAM.rawValue)
    ) throws -> Descriptor {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let bytes = Array(path.utf8)
        // Safety: the buffer is `sun_path`, and its last byte stays 0.
        let fits = unsafe withUnsafeMutableBytes(of: &address.sun_path) { place in
            guard bytes.count < place.count else { return false }
            for i in bytes.indices { unsafe place[i] = bytes[i] }
            if bytes.first == UInt8(ascii: "@") { unsafe place[0] = 0 }
            return true
        }
        guard fits else { throw SocketFailure("\(path) is too long for a socket") }
        let raw = try SystemCall.check {
            socket(AF_UNIX, kind | Int32(SOCK_CLOEXEC.rawValue), 0)
        }
        let owned = Descriptor(owning: raw)
        // A path ends with NUL; an abstract name has exactly these bytes.
        let length = path.hasPrefix("@") ? 2 + bytes.count : MemoryLayout<sockaddr_un>.size
        // Safety: a `sockaddr_un` is what bind(2) takes for AF_UNIX; it is only read.
        try SystemCall.check {
            unsafe withUnsafePointer(to: &address) { pointer in
                unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    unsafe Glibc.bind(raw, $0, socklen_t(length))
                }
            }
        }
        return owned
    }
}
