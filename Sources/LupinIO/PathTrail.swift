// Where a path leads, and by which links.
import CLinux
import Glibc
import LupinCore

/// A path that was followed to its end, whether or not anything is there.
package struct PathTrail: Sendable, Equatable {
    /// A link on the way.
    package struct Link: Sendable, Equatable {
        /// Its path, in which nothing else is a link.
        package let path: String
        /// Whether it is the last name of the path, rather than a folder on the way.
        package let isLast: Bool
    }

    /// The path without links.
    package private(set) var target = "/"
    package private(set) var links: [Link] = []

    /// The kernel's own bound.
    private static let linksMax = 40

    /// Follows a path; one that is relative begins in `folder`.
    package init(_ path: String, from folder: String) {
        var rest = Self.parts(path.hasPrefix("/") ? path : "\(folder)/\(path)")
        while let name = rest.popLast() {
            if name == ".." {
                target = PlacePath.parent(of: target)
                continue
            }
            let place = target == "/" ? "/\(name)" : "\(target)/\(name)"
            guard links.count < Self.linksMax, let link = ProcessFiles.link(place) else {
                target = place
                continue
            }
            links.append(Link(path: place, isLast: rest.isEmpty))
            if link.hasPrefix("/") { target = "/" }
            rest += Self.parts(link)
        }
    }

    /// The names of a path, the last one first.
    private static func parts(_ path: String) -> [Substring] {
        path.split(separator: "/").filter { $0 != "." }.reversed()
    }
}

/// Sockets with a path on this machine.
package enum PathSockets {
    private static let tableBytesMax = 16 << 20

    /// The paths of all that are open in this network namespace, as they were bound: relative ones,
    /// too.
    package static func bound() -> [String] {
        let table = ProcessFiles.content(of: "/proc/net/unix", bytesMax: tableBytesMax) ?? []
        let lines = String(decoding: table, as: UTF8.self).split(separator: "\n").dropFirst()
        // Seven columns, and the path of those that have one; abstract ones begin with "@".
        return lines.compactMap { line in
            let columns = line.split(separator: " ", maxSplits: 7, omittingEmptySubsequences: true)
            return columns.count == 8 && !columns[7].hasPrefix("@") ? String(columns[7]) : nil
        }
    }

    /// The working folders of this user's processes, where relative paths may begin.
    package static func folders() -> [String] {
        let processes = ProcessFiles.numbers(in: "/proc", countMax: 1 << 16)
        return Array(Set(processes.compactMap { ProcessFiles.link("/proc/\($0)/cwd") }))
    }

    /// Whether there is a socket at a path.
    package static func isOne(_ path: String) -> Bool {
        var facts = stat()
        // Safety: lstat fills the struct it is given.
        return unsafe lstat(path, &facts) == 0 && facts.st_mode & S_IFMT == S_IFSOCK
    }
}
