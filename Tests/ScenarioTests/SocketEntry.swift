// What the kernel's table of TCP sockets says: who is connected, and how much waits.
import Foundation

/// One line of `/proc/self/net/tcp` or `tcp6`.
struct SocketEntry {
    var local: UInt16
    var remote: UInt16
    /// Bytes sent and not yet received on the other side, and received and not yet read.
    var queuedBytes: Int

    /// All sockets of this network namespace that somebody may hold.
    static func all() -> [SocketEntry] {
        entries("/proc/self/net/tcp", addressDigits: 8)
            + entries("/proc/self/net/tcp6", addressDigits: 32)
    }

    /// Bytes in the queues of all sockets that have one of `ports` at either end.
    static func queuedBytes(ports: Set<UInt16>) -> Int {
        all().reduce(0) { sum, entry in
            let isMeant = ports.contains(entry.local) || ports.contains(entry.remote)
            return sum + (isMeant ? entry.queuedBytes : 0)
        }
    }

    private static func entries(_ path: String, addressDigits: Int) -> [SocketEntry] {
        // Behind the number: two addresses, each with a colon and four digits of a port.
        let stateOffset = 2 + 2 * (addressDigits + 6)
        return wholeFile(path).split(separator: 0x0A).dropFirst().compactMap { line in
            // Thousands of lines are about connections that have ended (TIME_WAIT, 06).
            guard let colon = line.prefix(12).firstIndex(of: 0x3A),
                line.count > colon - line.startIndex + stateOffset + 2,
                line[(colon + stateOffset)...].prefix(2) != Data("06".utf8)
            else { return nil }
            return SocketEntry(String(decoding: line, as: UTF8.self))
        }
    }

    private init?(_ line: String) {
        let words = line.split(separator: " ")
        guard words.count > 4, let local = Self.port(words[1]), let remote = Self.port(words[2])
        else { return nil }
        self.local = local
        self.remote = remote
        let queues = words[4].split(separator: ":").compactMap { Int($0, radix: 16) }
        queuedBytes = queues.reduce(0, +)
    }

    private static func port(_ address: Substring) -> UInt16? {
        address.split(separator: ":").last.flatMap { UInt16($0, radix: 16) }
    }

    /// Such files have no size and come page by page: one read brings the first page only.
    private static func wholeFile(_ path: String) -> Data {
        guard let file = FileHandle(forReadingAtPath: path) else { return Data() }
        defer { try? file.close() }
        var bytes = Data()
        while let more = try? file.read(upToCount: 1 << 20), !more.isEmpty { bytes += more }
        return bytes
    }
}
