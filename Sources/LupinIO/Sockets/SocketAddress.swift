// An IP address with a port, and its kernel form.
import CLinux
import Glibc
package import LupinCore

/// An IP address with a port.
package struct SocketAddress: Hashable, Sendable, CustomStringConvertible {
    package var address: IPAddress
    package var port: UInt16

    package init(address: IPAddress, port: UInt16) {
        self.address = address
        self.port = port
    }

    /// `127.0.0.1:80`, `[::1]:80`.
    package var description: String {
        switch address {
        case .v4: "\(address.text):\(port)"
        case .v6: "[\(address.text)]:\(port)"
        }
    }

    var family: Int32 {
        switch address {
        case .v4: AF_INET
        case .v6: AF_INET6
        }
    }

    /// Calls `body` with the address in the kernel's form.
    func withKernelForm(
        _ body: (UnsafePointer<sockaddr_storage>, socklen_t) -> Int32
    ) -> Int32 {
        var storage = sockaddr_storage()
        let bytes = networkBytes
        // Safety: `bytes` has the 4 or 16 bytes that the family says; `storage` outlives the call.
        let length = unsafe bytes.withUnsafeBufferPointer { pointer in
            guard let base = pointer.baseAddress else { return socklen_t(0) }
            return unsafe linux_make_address(family, base, port, &storage)
        }
        return unsafe body(&storage, length)
    }

    /// The IPv4 address of an IPv4-mapped IPv6 address (RFC 4291 §2.5.5.2); else itself.
    var unmapped: SocketAddress { SocketAddress(address: address.unmapped, port: port) }

    init?(_ storage: sockaddr_storage) {
        var storage = storage
        var bytes = [UInt8](repeating: 0, count: 16)
        var port: UInt16 = 0
        // Safety: `bytes` has room for the 16 bytes that are written at most.
        let count = unsafe bytes.withUnsafeMutableBufferPointer { pointer in
            guard let base = pointer.baseAddress else { return Int32(0) }
            return unsafe linux_read_address(&storage, base, &port)
        }
        let number = { (range: Range<Int>) in
            bytes[range].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        }
        switch count {
        case 4: address = .v4(UInt32(number(0..<4)))
        case 16: address = .v6(high: number(0..<8), low: number(8..<16))
        default: return nil
        }
        self.port = port
    }

    /// An address as programs give it to the kernel; nil for other families than IP.
    package init?(kernelForm bytes: [UInt8]) {
        var storage = sockaddr_storage()
        let count = min(bytes.count, MemoryLayout<sockaddr_storage>.size)
        // Safety: the storage has room for `count` bytes.
        unsafe withUnsafeMutableBytes(of: &storage) { room in
            unsafe room.copyBytes(from: bytes.prefix(count))
        }
        self.init(storage)
    }

    package static func local(of descriptor: Int32) -> SocketAddress? {
        var storage = sockaddr_storage()
        // Safety: getsockname fills the storage it is given.
        guard unsafe linux_local_address(descriptor, &storage) == 0 else { return nil }
        return SocketAddress(storage)
    }

    var networkBytes: [UInt8] {
        switch address {
        case .v4(let number):
            (0..<4).map { UInt8(truncatingIfNeeded: number >> (24 - 8 * UInt32($0))) }
        case .v6(let high, let low):
            [high, low].flatMap { half in
                (0..<8).map { UInt8(truncatingIfNeeded: half >> (56 - 8 * UInt64($0))) }
            }
        }
    }
}
