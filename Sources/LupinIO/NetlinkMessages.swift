// Messages to the kernel's network configuration (netlink(7)), and its answers.
import CLinux
import Glibc
import LupinCore

/// Messages that are sent in one piece, so that all of them hold or none.
struct NetlinkMessages {
    private(set) var bytes: [UInt8] = []
    private var number: UInt32 = 0

    /// Appends a message: its fixed part, then attributes.
    mutating func append(
        _ type: UInt16,
        _ flags: UInt16,
        _ fixed: [UInt8],
        _ attributes: (inout NetlinkMessages) -> Void = { _ in }
    ) {
        number += 1
        let start = bytes.count
        let (length, sender) = (UInt32(0), UInt32(0))
        bytes += Self.native(length) + Self.native(type) + Self.native(flags)
        bytes += Self.native(number) + Self.native(sender) + fixed
        attributes(&self)
        write(Self.native(UInt32(bytes.count - start)), at: start)
    }

    /// Appends an attribute of the message that was begun last.
    mutating func add(_ type: UInt16, _ value: [UInt8]) {
        nest(type) { $0.bytes += value }
    }

    mutating func add(_ type: UInt16, _ text: String) { add(type, Array(text.utf8) + [0]) }

    /// The kernel's tables have their numbers in the network's order.
    mutating func add(_ type: UInt16, network value: UInt32) {
        add(type, Self.native(value.bigEndian))
    }

    /// Appends an attribute that consists of attributes.
    mutating func nest(_ type: UInt16, _ content: (inout NetlinkMessages) -> Void) {
        let start = bytes.count
        bytes += Self.native(UInt16(0)) + Self.native(type)
        content(&self)
        // Bounded: lupin's longest message has some hundred bytes.
        write(Self.native(UInt16(truncatingIfNeeded: bytes.count - start)), at: start)
        while !bytes.count.isMultiple(of: 4) { bytes.append(0) }
    }

    private mutating func write(_ value: [UInt8], at place: Int) {
        bytes.replaceSubrange(place..<(place + value.count), with: value)
    }

    /// The number in the machine's order.
    static func native<Number: FixedWidthInteger>(_ value: Number) -> [UInt8] {
        let isLittle = UInt16(1).littleEndian == 1
        let size = Number.bitWidth / 8
        return (0..<size).map { index in
            UInt8(truncatingIfNeeded: value >> Number(8 * (isLittle ? index : size - 1 - index)))
        }
    }

    // MARK: Sending

    /// Sends all messages; the last one that does something must ask for an answer.
    /// - Throws: The first error that the kernel answers with.
    func send(to protocolNumber: Int32) throws(SystemError) {
        let socket = Descriptor(
            owning: try SystemCall.check { redirect_socket(protocolNumber) }
        )
        let sent = SystemCall.value {
            // Safety: the bytes outlive the call, which reads `count` of them.
            unsafe bytes.withUnsafeBytes { bytes in
                unsafe Glibc.send(socket.raw, bytes.baseAddress, bytes.count, 0)
            }
        }
        guard sent == bytes.count else {
            throw SystemError(code: sent < 0 ? Int32(truncatingIfNeeded: -sent) : EIO)
        }
        var isAnswered = false
        var room = [UInt8](repeating: 0, count: 8192)
        while true {
            let count = SystemCall.value {
                // Safety: recv writes at most as many bytes as the array has.
                unsafe room.withUnsafeMutableBytes { room in
                    unsafe recv(socket.raw, room.baseAddress, room.count, Int32(MSG_DONTWAIT))
                }
            }
            // The kernel has done everything, and answered, before the call to send returned.
            if count <= 0 { break }
            for code in Self.errors(in: room[..<count]) {
                if code != 0 { throw SystemError(code: -code) }
                isAnswered = true
            }
        }
        if !isAnswered { throw SystemError(code: EIO) }
    }

    /// The codes of the answers among messages: 0 for what was done, else a negated errno.
    static func errors(in bytes: ArraySlice<UInt8>) -> [Int32] {
        var codes: [Int32] = []
        var rest = bytes
        while rest.count >= 20 {
            let length = Int(number(rest.prefix(4)))
            guard length >= 16, length <= rest.count else { break }
            let type = UInt16(truncatingIfNeeded: number(rest.dropFirst(4).prefix(2)))
            if type == REDIRECT_ANSWER, length >= 20 {
                codes.append(Int32(bitPattern: number(rest.dropFirst(16).prefix(4))))
            }
            rest = rest.dropFirst((length + 3) & ~3)
        }
        return codes
    }

    private static func number(_ bytes: ArraySlice<UInt8>) -> UInt32 {
        let isLittle = UInt16(1).littleEndian == 1
        return (isLittle ? Array(bytes.reversed()) : Array(bytes)).reduce(0) {
            $0 << 8 | UInt32($1)
        }
    }
}
