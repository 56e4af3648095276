// What a confined command sees of the file system: what was given, and nothing of lupin's.

/// A path with what a confined command sees there, and below up to the next such path.
package struct ViewEntry: Sendable, Hashable {
    package enum Mark: String, Sendable, CaseIterable {
        /// As it is, and what the command writes stays.
        case writable
        /// As it is, read-only.
        case shown
        /// As it is, but what the command writes there is dropped at its end.
        case dropped
        /// A new folder on disk, which is removed at the end.
        case fresh
        /// A folder with nothing but the places below it.
        case emptied
        /// A folder without what begins with a dot, read-only.
        case dotless
        /// As it is, read-only, and nothing else can come to be there.
        case kept
        /// Not there, and nothing can come to be there.
        case absent
    }

    package let mark: Mark
    /// Absolute, without links.
    package let path: String

    package init(_ mark: Mark, _ path: String) {
        self.mark = mark
        self.path = path
    }

    /// Parses what `text` returns.
    package init?(_ text: String) {
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, let mark = Mark(rawValue: String(parts[0])),
            parts[1].hasPrefix("/")
        else { return nil }
        self.init(mark, String(parts[1]))
    }

    /// One argument of a command.
    package var text: String { "\(mark.rawValue):\(path)" }
}

/// One change to the tree of mounts; each needs those before it.
package enum ViewStep: Sendable, Equatable {
    case give(String), show(String), drop(String), refresh(String), empty(String)
    /// The folder becomes a view, in which nothing new appears.
    case freeze(String, without: Set<String>, withoutDots: Bool)
    /// What is there covers itself, read-only.
    case keep(String)
    /// An empty file or folder covers what is there.
    case cover(String)
    /// What is there is taken out of a folder whose changes are dropped.
    case remove(String)

    /// The path that it changes.
    package var path: String {
        switch self {
        case .give(let path), .show(let path), .drop(let path), .refresh(let path),
            .empty(let path), .freeze(let path, _, _), .keep(let path), .cover(let path),
            .remove(let path):
            path
        }
    }
}

/// What a confined command sees of the file system: everything read-only, but for these places.
package struct ConfinedView: Sendable, Equatable {
    /// At most one for a path: the first that was added stays.
    package private(set) var entries: [ViewEntry] = []
    private var marks: [String: ViewEntry.Mark] = [:]

    package init(_ entries: [ViewEntry] = []) { for entry in entries { add(entry) } }

    package mutating func add(_ mark: ViewEntry.Mark, _ path: String) {
        add(ViewEntry(mark, path))
    }

    private mutating func add(_ entry: ViewEntry) {
        guard marks[entry.path] == nil else { return }
        marks[entry.path] = entry.mark
        entries.append(entry)
    }

    /// The mark that decides about a path; nil where all is as outside, but read-only.
    package func mark(of path: String) -> ViewEntry.Mark? {
        for folder in CanonicalPath.upwards(from: path) {
            guard let mark = marks[folder] else { continue }
            // Below an entry that is shown, all is as outside.
            if mark == .dotless, folder != path, !CanonicalPath.isDotted(path, below: folder) {
                return nil
            }
            return mark
        }
        return nil
    }

    /// Whether the command does not see what is at a path outside.
    package func isAbsent(_ path: String) -> Bool {
        switch mark(of: path) {
        case .absent, .dotless, .emptied, .fresh: true
        case .writable, .shown, .dropped, .kept, nil: false
        }
    }

    /// The writable paths, without those that lie below another one.
    package var writableEntries: [String] {
        entries.filter { $0.mark == .writable && !isWritable(CanonicalPath.parent(of: $0.path)) }
            .map(\.path)
    }

    /// What it is kept from where it may write, by something that lies over it.
    package var coveredPlaces: [String] {
        entries.filter { entry in
            (entry.mark == .absent || entry.mark == .kept)
                && isWritable(CanonicalPath.parent(of: entry.path))
        }
        .map(\.path)
    }

    /// Whether the command could put another file there.
    package func isWritable(_ path: String) -> Bool { mark(of: path) == .writable }

    /// What is to be done, the outermost first.
    ///
    /// `isFolder` tells whether there is a folder at a path, outside.
    package func steps(isFolder: (String) -> Bool) -> [ViewStep] {
        var early: [ViewStep] = []
        var late: [ViewStep] = []
        var withouts: [String: Set<String>] = [:]
        for entry in entries {
            let path = entry.path
            switch entry.mark {
            case .writable: early.append(.give(path))
            case .shown: early.append(.show(path))
            case .dropped: early.append(.drop(path))
            case .fresh: early.append(.refresh(path))
            case .emptied: early.append(.empty(path))
            case .dotless:
                if mark(of: CanonicalPath.parent(of: path)) != nil { early.append(.show(path)) }
                withouts[path, default: []].formUnion([])
            // Elsewhere nobody can change it.
            case .kept: if isWritable(CanonicalPath.parent(of: path)) { late.append(.keep(path)) }
            case .absent:
                switch mark(of: CanonicalPath.parent(of: path)) {
                case .writable: late.append(.cover(path))
                case .dropped: late.append(.remove(path))
                // Nothing is there.
                case .fresh, .emptied, .kept, .absent: break
                case .shown, nil: freeze(path, &withouts, &late, isFolder)
                case .dotless:
                    if marks[CanonicalPath.parent(of: path)] == .dotless {
                        freeze(path, &withouts, &late, isFolder)
                    }
                }
            }
        }
        early += withouts.map { path, names in
            .freeze(path, without: names, withoutDots: marks[path] == .dotless)
        }
        return early.sorted(by: ConfinedView.isBefore) + late.sorted(by: ConfinedView.isBefore)
    }

    /// Has nothing appear at a path, by the innermost folder above it that is there.
    private func freeze(
        _ path: String,
        _ withouts: inout [String: Set<String>],
        _ late: inout [ViewStep],
        _ isFolder: (String) -> Bool
    ) {
        var entry = path
        while entry != "/", !isFolder(CanonicalPath.parent(of: entry)) {
            entry = CanonicalPath.parent(of: entry)
        }
        let folder = CanonicalPath.parent(of: entry)
        // The root can't be covered.
        if folder == "/" {
            late.append(.cover(entry))
        } else {
            withouts[folder, default: []].insert(CanonicalPath.name(of: entry))
        }
    }

    /// The outermost first; a folder is there before it is frozen.
    private static func isBefore(_ a: ViewStep, _ b: ViewStep) -> Bool {
        func order(_ step: ViewStep) -> (Int, String, Int) {
            let isFreeze = if case .freeze = step { 1 } else { 0 }
            return (CanonicalPath.depth(of: step.path), step.path, isFreeze)
        }
        return order(a) < order(b)
    }
}

/// Questions about absolute paths without links.
package enum CanonicalPath {
    /// The path and the folders above it, the innermost first.
    package static func upwards(from path: String) -> [String] {
        var paths = [path]
        while let last = paths.last, last != "/" { paths.append(parent(of: last)) }
        return paths
    }

    /// The folder above; "/" for the root itself.
    package static func parent(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/"), slash > path.startIndex else { return "/" }
        return String(path[..<slash])
    }

    package static func name(of path: String) -> String {
        path.lastIndex(of: "/").map { String(path[path.index(after: $0)...]) } ?? path
    }

    package static func depth(of path: String) -> Int {
        path == "/" ? 0 : path.utf8.count { $0 == 0x2F }
    }

    /// Whether a path is that folder, or lies below it.
    package static func isWithin(_ path: String, _ folder: String) -> Bool {
        path == folder || folder == "/" || path.hasPrefix(folder + "/")
    }

    /// Whether the first name below the folder begins with a dot.
    static func isDotted(_ path: String, below folder: String) -> Bool {
        path.dropFirst(folder.count + 1).hasPrefix(".")
    }
}
