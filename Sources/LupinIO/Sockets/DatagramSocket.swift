// A socket for short questions and answers (UDP).
import CLinux
import Glibc

/// A bound socket whose questions are answered one by one.
package final class DatagramSocket: Sendable {
    /// What came, and from whom.
    package struct Datagram {
        package let bytes: [UInt8]
        fileprivate let sender: sockaddr_storage
        fileprivate let senderLength: socklen_t
    }

    /// The most bytes of a question; longer ones are cut.
    package static let datagramBytesMax = 4096

    private let descriptor: Descriptor

    /// Opens and binds one.
    package init(_ address: SocketAddress) throws(SystemError) {
        let owned = Descriptor(
            owning: try SystemCall.check { redirect_datagram_socket(address.family) }
        )
        let raw = owned.raw
        // Safety: the kernel's form of the address outlives the call, which only reads it.
        try SystemCall.check { unsafe address.withKernelForm { unsafe linux_bind(raw, $0, $1) } }
        descriptor = owned
    }

    package init(owning descriptor: consuming Descriptor) { self.descriptor = descriptor }

    package var raw: Int32 { descriptor.raw }

    /// Answers every question that comes, until `slot` is woken by `.cut`.
    ///
    /// Call it in a task of the slot's loop. What can't be answered at once is dropped: clients of
    /// UDP ask again.
    package func serve(
        slot: ParkingSlot,
        _ answer: (Datagram) -> [UInt8]?
    ) async throws(SystemError) {
        _ = try slot.loop.register(watcher: slot, reading: raw)
        while true {
            while let datagram = receive() {
                if let bytes = answer(datagram) { reply(bytes, to: datagram) }
            }
            if await slot.park(for: .ready | .cut).meets(.cut) { return }
        }
    }

    /// The next question that waits.
    private func receive() -> Datagram? {
        var bytes = [UInt8](repeating: 0, count: Self.datagramBytesMax)
        var (sender, length) = (sockaddr_storage(), socklen_t(0))
        let count = SystemCall.value {
            // Safety: the call fills the storage, and at most as many bytes as the array has.
            unsafe bytes.withUnsafeMutableBytes { room in
                guard let base = room.baseAddress else { return -1 }
                return unsafe redirect_receive(raw, base, room.count, &sender, &length)
            }
        }
        guard count >= 0 else { return nil }
        bytes.removeLast(bytes.count - count)
        return Datagram(bytes: bytes, sender: sender, senderLength: length)
    }

    private func reply(_ bytes: [UInt8], to datagram: Datagram) {
        var sender = datagram.sender
        _ = SystemCall.value {
            // Safety: bytes and storage outlive the call, which reads them.
            unsafe bytes.withUnsafeBytes { bytes in
                guard let base = bytes.baseAddress else { return 0 }
                return unsafe redirect_reply(
                    raw,
                    base,
                    bytes.count,
                    &sender,
                    datagram.senderLength
                )
            }
        }
    }
}
