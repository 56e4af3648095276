// Parses lines of /proc/net/tcp, and finds the client's end of a connection.
import LupinCore

/// One TCP socket of this network namespace, as proc_pid_net(5) lists it.
package struct SocketTableEntry: Sendable, Equatable {
    package var local: SocketAddress
    package var remote: SocketAddress
    /// The user who made the socket.
    package var uid: UInt32
    /// The inode in `socket:[…]`; 0 when no process holds the socket any more.
    package var inode: UInt64

    package init(local: SocketAddress, remote: SocketAddress, uid: UInt32, inode: UInt64) {
        self.local = local
        self.remote = remote
        self.uid = uid
        self.inode = inode
    }

    /// Parses a line of /proc/net/tcp or /proc/net/tcp6; returns nil for the heading and for
    /// invalid lines.
    package init?(line: ArraySlice<UInt8>) {
        var words = Words(rest: line)
        _ = words.next()
        guard let local = words.next().flatMap(SocketTableEntry.address),
            let remote = words.next().flatMap(SocketTableEntry.address)
        else { return nil }
        // State, queues, timer, retransmissions.
        for _ in 0..<4 { _ = words.next() }
        guard let uid = words.next().flatMap({ NumberReader.unsigned($0.span) }),
            words.next() != nil,
            let inode = words.next().flatMap({ NumberReader.unsigned($0.span) })
        else { return nil }
        self.init(
            local: local,
            remote: remote,
            uid: UInt32(truncatingIfNeeded: uid),
            inode: inode
        )
    }

    /// The entry of the socket at `local` that is connected to `remote` and belongs to a process.
    ///
    /// An IPv4-mapped address counts as the IPv4 address (RFC 4291 §2.5.5.2): the two ends of a
    /// connection may use different forms.
    package static func find(
        in table: [UInt8],
        local: SocketAddress,
        remote: SocketAddress
    ) -> SocketTableEntry? {
        let (local, remote) = (local.unmapped, remote.unmapped)
        let port = portDigits(local.port)
        let bytes = table.span
        var start = 0
        while start < bytes.count {
            let isCandidate = firstPort(of: bytes, at: start, is: port)
            var end = start
            while end < bytes.count, bytes[end] != 0x0A { end &+= 1 }
            if isCandidate, let entry = SocketTableEntry(line: table[start..<end]),
                entry.inode != 0, entry.local.unmapped == local,
                entry.remote.unmapped == remote
            {
                return entry
            }
            start = end &+ 1
        }
        return nil
    }

    /// Whether the line at `start` may have a local port with these four digits.
    ///
    /// The digits follow the line's second colon. Tables of busy machines have 100,000 lines.
    private static func firstPort(
        of bytes: Span<UInt8>,
        at start: Int,
        is digits: [UInt8]
    ) -> Bool {
        var i = start
        for _ in 0..<2 {
            while i < bytes.count, bytes[i] != 0x3A {
                if bytes[i] == 0x0A { return false }
                i &+= 1
            }
            i &+= 1
        }
        guard i &+ 4 <= bytes.count else { return false }
        for offset in 0..<4 where bytes[i &+ offset] != digits[offset] { return false }
        return true
    }

    private static func portDigits(_ port: UInt16) -> [UInt8] {
        let digits = String(UInt32(port) | 0x10000, radix: 16, uppercase: true)
        return Array(digits.utf8.dropFirst())
    }

    /// Parses `0100007F:1F90`: each 32-bit word of the address, made of bytes in network order, is
    /// a number in the machine's byte order; the port is a plain number.
    private static func address(_ text: ArraySlice<UInt8>) -> SocketAddress? {
        guard let colon = text.firstIndex(of: 0x3A) else { return nil }
        let (digits, portDigits) = (text[..<colon], text[(colon + 1)...])
        guard let port = NumberReader.hexadecimal(portDigits.span, max: 65535) else { return nil }
        var words: [UInt64] = []
        guard digits.count == 8 || digits.count == 32 else { return nil }
        for start in stride(from: digits.startIndex, to: digits.endIndex, by: 8) {
            let eight = digits[start..<start + 8]
            guard let word = NumberReader.hexadecimal(eight.span) else { return nil }
            words.append(UInt64(UInt32(bigEndian: UInt32(truncatingIfNeeded: word))))
        }
        let address: IPAddress =
            words.count == 1
            ? .v4(UInt32(truncatingIfNeeded: words[0]))
            : .v6(high: words[0] << 32 | words[1], low: words[2] << 32 | words[3])
        return SocketAddress(address: address, port: UInt16(truncatingIfNeeded: port))
    }
}

/// The words of a line, separated by spaces.
private struct Words {
    var rest: ArraySlice<UInt8>

    mutating func next() -> ArraySlice<UInt8>? {
        rest = rest.drop { $0 == 0x20 }
        guard !rest.isEmpty else { return nil }
        let word = rest.prefix { $0 != 0x20 }
        rest = rest.dropFirst(word.count)
        return word
    }
}
