// Messages to the kernel's network configuration (netlink(7)), and its answers.
import CLinux
import Glibc

/// Messages that are sent in one piece, so that all of them hold or none.
package struct NetlinkMessages {
    package private(set) var bytes: [UInt8] = []
    private var number: UInt32 = 0

    package init() {}

    /// Appends a message: its fixed part, then attributes.
    package mutating func append(
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
    package mutating func add(_ type: UInt16, _ value: [UInt8]) {
        nest(type) { $0.bytes += value }
    }

    package mutating func add(_ type: UInt16, _ text: String) { add(type, Array(text.utf8) + [0]) }

    /// The kernel's tables have their numbers in the network's order.
    package mutating func add(_ type: UInt16, network value: UInt32) {
        add(type, Self.native(value.bigEndian))
    }

    /// Appends an attribute that consists of attributes.
    package mutating func nest(_ type: UInt16, _ content: (inout NetlinkMessages) -> Void) {
        let start = bytes.count
        bytes += Self.native(UInt16(0)) + Self.native(type)
        content(&self)
        // Bounded: lupin's longest message has some hundred bytes.
        write(Self.native(UInt16(truncatingIfNeeded: bytes.count - start)), at: start)
        while !bytes.count.isMultiple(of: 4) { bytes.append(0) }
    }

    private mutating func write(_ value: [UInt8], at offset: Int) {
        bytes.replaceSubrange(offset..<(offset + value.count), with: value)
    }

    /// The number in the machine's order.
    package static func native<Number: FixedWidthInteger>(_ value: Number) -> [UInt8] {
        let isLittle = UInt16(1).littleEndian == 1
        let size = Number.bitWidth / 8
        return (0..<size).map { index in
            UInt8(truncatingIfNeeded: value >> Number(8 * (isLittle ? index : size - 1 - index)))
        }
    }

    // MARK: Sending

    /// Sends all messages; the last one that does something must ask for an answer.
    /// - Throws: The first error that the kernel answers with.
    package func send(to protocolNumber: Int32) throws(SystemError) {
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
        while let message = NetlinkPiece(message: &rest) {
            guard message.type == REDIRECT_ANSWER, message.content.count >= 4 else { continue }
            codes.append(Int32(bitPattern: message.number(at: 0)))
        }
        return codes
    }
}

/// A message of the kernel's, or an attribute in one.
package struct NetlinkPiece {
    package let type: UInt16
    /// Behind the head.
    package let content: ArraySlice<UInt8>

    /// Takes the next message: behind its head of 16 bytes is a fixed part, then attributes.
    package init?(message rest: inout ArraySlice<UInt8>) { self.init(&rest, head: 16, width: 4) }

    /// Takes the next attribute.
    package init?(attribute rest: inout ArraySlice<UInt8>) { self.init(&rest, head: 4, width: 2) }

    /// A head begins with the length of all and the type; pieces begin at every fourth byte.
    private init?(_ rest: inout ArraySlice<UInt8>, head: Int, width: Int) {
        guard rest.count >= head else { return nil }
        let length = Int(Self.number(rest.prefix(width)))
        guard length >= head, length <= rest.count else { return nil }
        type = UInt16(truncatingIfNeeded: Self.number(rest.dropFirst(width).prefix(2)))
        content = rest.prefix(length).dropFirst(head)
        rest = rest.dropFirst((length + 3) & ~3)
    }

    /// The number of four bytes at an offset, in the machine's order.
    package func number(at offset: Int) -> UInt32 {
        Self.number(content.dropFirst(offset).prefix(4))
    }

    private static func number(_ bytes: ArraySlice<UInt8>) -> UInt32 {
        let isLittle = UInt16(1).littleEndian == 1
        return (isLittle ? Array(bytes.reversed()) : Array(bytes)).reduce(0) {
            $0 << 8 | UInt32($1)
        }
    }
}
