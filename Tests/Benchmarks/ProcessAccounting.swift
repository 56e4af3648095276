// What processes cost, as `/proc` knows it: processor time and memory of a child and its own.
import Foundation

/// One look at every process of the machine.
struct ProcessTable {
    /// Seconds of processor time, those of ended and awaited children too.
    struct Usage {
        var user = 0.0
        var system = 0.0
        var total: Double { user + system }
    }

    private struct Row {
        var parent: Int32
        var group: Int32
        var usage: Usage
    }

    /// When it was looked, in seconds of the system's uptime.
    let time = ProcessInfo.processInfo.systemUptime
    private var rows: [Int32: Row] = [:]

    private static let ticksPerSecond = Double(max(1, sysconf(Int32(_SC_CLK_TCK))))

    init() {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
        for case let process? in names.map({ Int32($0) }) {
            guard let data = FileManager.default.contents(atPath: "/proc/\(process)/stat") else {
                continue
            }
            rows[process] = Self.row(String(decoding: data, as: UTF8.self))
        }
    }

    /// The child, its process group, and all descendants.
    func family(of root: Int32) -> Set<Int32> {
        var family = Set(rows.filter { $0.key == root || $0.value.group == root }.keys)
        var isGrowing = true
        while isGrowing {
            let more = rows.filter { family.contains($0.value.parent) && !family.contains($0.key) }
            family.formUnion(more.keys)
            isGrowing = !more.isEmpty
        }
        return family
    }

    func usage(of processes: Set<Int32>) -> Usage {
        processes.reduce(into: Usage()) { sum, process in
            guard let row = rows[process] else { return }
            sum.user += row.usage.user
            sum.system += row.usage.system
        }
    }

    /// What all processes used that are not of this one's family.
    var foreignSeconds: Double {
        let ours = family(of: ProcessInfo.processInfo.processIdentifier)
        return usage(of: Set(rows.keys).subtracting(ours)).total
    }

    /// Reads proc_pid_stat(5), where the second field is a name in parentheses with anything in it.
    private static func row(_ text: String) -> Row? {
        guard let end = text.lastIndex(of: ")") else { return nil }
        let fields = text[text.index(after: end)...].split(separator: " ")
        guard fields.count > 14, let parent = Int32(fields[1]), let group = Int32(fields[2]) else {
            return nil
        }
        let ticks = fields[11...14].map { Double($0) ?? 0 }
        let usage = Usage(
            user: (ticks[0] + ticks[2]) / ticksPerSecond,
            system: (ticks[1] + ticks[3]) / ticksPerSecond
        )
        return Row(parent: parent, group: group, usage: usage)
    }
}

/// Memory of a child and its own.
enum MemoryUse {
    /// Resident now, in KiB.
    static func resident(_ root: Int32) -> Int { sum("VmRSS:", of: root) }
    /// The most that was resident, in KiB.
    static func peak(_ root: Int32) -> Int { sum("VmHWM:", of: root) }

    private static func sum(_ name: String, of root: Int32) -> Int {
        ProcessTable().family(of: root).reduce(0) { sum, process in
            let data = FileManager.default.contents(atPath: "/proc/\(process)/status") ?? Data()
            let lines = String(decoding: data, as: UTF8.self).split(separator: "\n")
            let line = lines.first { $0.hasPrefix(name) }
            return sum
                + (line?.split(whereSeparator: \.isWhitespace).dropFirst().first
                    .flatMap { Int($0) } ?? 0)
        }
    }
}

/// Who listens.
enum ListeningPort {
    /// Whether some process listens on the TCP port, without connecting to it.
    static func isOpen(_ port: UInt16) -> Bool {
        ["/proc/net/tcp", "/proc/net/tcp6"].contains { path in
            // Not `contents(atPath:)`: it stops at the end of the first page.
            let file = FileHandle(forReadingAtPath: path)
            let data = (try? file?.readToEnd()) ?? Data()
            return String(decoding: data, as: UTF8.self).split(separator: "\n").dropFirst()
                .contains { line in
                    // sl, local address:port in hexadecimal, remote address:port, state.
                    let fields = line.split(separator: " ", maxSplits: 4)
                    guard fields.count > 3, fields[3] == "0A" else { return false }
                    return fields[1].split(separator: ":").last
                        .flatMap { UInt16($0, radix: 16) } == port
                }
        }
    }
}
