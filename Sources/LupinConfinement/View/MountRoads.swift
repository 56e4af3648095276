// By which other paths a place is reached, since its file system is mounted more than once.

/// The mounts that a process sees, as `/proc/self/mountinfo` lists them (proc_pid_mountinfo(5)).
///
/// Bind mounts, and file systems that are mounted twice, show the same files by several paths. What
/// another file system shows of them, as FUSE may, the table doesn't tell.
package struct MountRoads: Sendable {
    /// Another path to a place, or to something in it.
    package enum Road: Sendable, Equatable {
        /// The place itself.
        case whole(String)
        /// What is at `inside`, a relative path, of the place.
        case part(String, inside: String)
    }

    private struct Mount: Equatable {
        let number: String
        /// That of the mount in which its point lies.
        let parent: String
        /// `major:minor` of the file system.
        let device: String
        /// The folder of the file system that is mounted.
        let root: String
        let point: String
    }

    private let mounts: [Mount]
    private let top: Mount?
    /// By the number of the mount in which they lie, and by their points: a plan asks for each of
    /// its places, and a home may have very many mounts.
    private let inside: [String: [String: Mount]]

    package init(table: String) {
        let mounts = table.split(separator: "\n").compactMap { line -> Mount? in
            // ID, parent's ID, major:minor, root, mount point
            let fields = line.split(separator: " ", maxSplits: 5)
            guard fields.count > 4 else { return nil }
            return Mount(
                number: String(fields[0]),
                parent: String(fields[1]),
                device: String(fields[2]),
                root: Self.unescaped(fields[3]),
                point: Self.unescaped(fields[4])
            )
        }
        let numbers = Set(mounts.map(\.number))
        top = mounts.first { $0.point == "/" && !numbers.contains($0.parent) }
        inside = Dictionary(grouping: mounts, by: \.parent).mapValues { mounts in
            Dictionary(mounts.map { ($0.point, $0) }) { first, _ in first }
        }
        self.mounts = mounts
    }

    /// The other roads to an absolute path without links, and into what lies below it.
    package func others(of path: String) -> [Road] {
        guard let own = mount(of: path) else { return [] }
        let target = Self.join(own.root, Self.rest(of: path, below: own.point))
        var roads: [Road] = []
        for mount in mounts where mount.device == own.device && mount != own {
            if CanonicalPath.isWithin(target, mount.root) {
                let other = Self.join(mount.point, Self.rest(of: target, below: mount.root))
                if other != path, self.mount(of: other) == mount { roads.append(.whole(other)) }
            } else if CanonicalPath.isWithin(mount.root, target) {
                let inside = Self.rest(of: mount.root, below: target)
                roads.append(.part(mount.point, inside: inside))
            }
        }
        // File systems that are mounted in the place may be mounted elsewhere, too.
        for inner in mounts where inner.point != path && CanonicalPath.isWithin(inner.point, path) {
            let inside = Self.rest(of: inner.point, below: path)
            for mount in mounts where mount.device == inner.device && mount != inner {
                if CanonicalPath.isWithin(inner.root, mount.root) {
                    let rest = Self.rest(of: inner.root, below: mount.root)
                    roads.append(.part(Self.join(mount.point, rest), inside: inside))
                } else if CanonicalPath.isWithin(mount.root, inner.root) {
                    let rest = Self.rest(of: mount.root, below: inner.root)
                    roads.append(.part(mount.point, inside: Self.join(inside, rest)))
                }
            }
        }
        return roads
    }

    /// The other paths of the place itself.
    package func otherPaths(of path: String) -> [String] {
        others(of: path).compactMap { road in
            if case .whole(let other) = road { other } else { nil }
        }
    }

    /// The mount that shows what is at a path, found as the kernel goes there: into the first mount
    /// on the way, from there into the next.
    private func mount(of path: String) -> Mount? {
        let folders = CanonicalPath.upwards(from: path).reversed()
        var found = top
        // A table has no circles; one that was read while it changed may.
        for _ in mounts {
            let inner = found.flatMap { inside[$0.number] } ?? [:]
            let next = folders.lazy.compactMap { inner[$0] }.first { $0 != found }
            guard let next else { break }
            found = next
        }
        return found
    }

    /// The relative path; empty for the folder itself.
    private static func rest(of path: String, below folder: String) -> String {
        String(path.dropFirst(folder == "/" ? 1 : folder.count + 1))
    }

    private static func join(_ folder: String, _ rest: String) -> String {
        if rest.isEmpty { return folder }
        return folder.hasSuffix("/") ? folder + rest : "\(folder)/\(rest)"
    }

    /// Undoes `\040` and the like, by which the kernel writes blanks, line ends and backslashes.
    private static func unescaped(_ text: Substring) -> String {
        var bytes: [UInt8] = []
        var rest = text.utf8
        while let byte = rest.popFirst() {
            let digits = rest.prefix(3)
            if byte == 0x5C, digits.count == 3, digits.allSatisfy({ 0x30...0x37 ~= $0 }) {
                bytes.append(digits.reduce(0) { $0 &* 8 &+ ($1 - 0x30) })
                rest = rest.dropFirst(3)
            } else {
                bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
