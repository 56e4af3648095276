// Which TCP sockets this process holds, by their ports: what a stopped proxy must not leave.
import Foundation

enum OpenSockets {
    /// The open sockets whose local and remote port `isMeant`, as `local -> remote`.
    static func open(where isMeant: (_ local: UInt16, _ remote: UInt16) -> Bool) -> [String] {
        let entries = ["/proc/self/net/tcp", "/proc/self/net/tcp6"].flatMap(entries)
        let meant = entries.filter { isMeant($0.local, $0.remote) }
        guard !meant.isEmpty else { return [] }
        let held = inodes()
        return meant.filter { held.contains($0.inode) }.map { "\($0.local) -> \($0.remote)" }
    }

    private static func entries(
        _ path: String
    ) -> [(local: UInt16, remote: UInt16, inode: String)] {
        let table = (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
        return table.split(separator: "\n").dropFirst().compactMap { line in
            let words = line.split(separator: " ")
            guard words.count > 9, let local = port(words[1]), let remote = port(words[2]) else {
                return nil
            }
            return (local, remote, String(words[9]))
        }
    }

    private static func port(_ address: Substring) -> UInt16? {
        address.split(separator: ":").last.flatMap { UInt16($0, radix: 16) }
    }

    /// The inodes of the sockets that this process has descriptors of.
    private static func inodes() -> Set<String> {
        let files = FileManager.default
        let names = (try? files.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
        return Set(
            names.compactMap { name in
                guard
                    let target = try? files.destinationOfSymbolicLink(
                        atPath: "/proc/self/fd/\(name)"),
                    target.hasPrefix("socket:[")
                else { return nil }
                return String(target.dropFirst(8).dropLast())
            })
    }
}
