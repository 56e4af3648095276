// The tree of mounts that a confined command sees, made of the view that was asked for.
import CLinux
import Glibc
import LupinIO

/// What a confined command shall see of the file system.
package struct ViewRequest: Sendable {
    let view: ConfinedView
    /// A folder of this run alone, for what the command writes that is dropped.
    let storage: String

    package init(_ view: ConfinedView, storage: String) {
        self.view = view
        self.storage = storage
    }
}

/// The steps of a view, with what they need of the tree as it was.
package struct ConfinedTree {
    private let steps: [ViewStep]
    /// Copies of mounts and new file systems, by where they are to be mounted.
    private var trees: [String: Int32] = [:]
    /// What is shown, and the folders whose changes are dropped, opened by name only.
    private var names: [String: Int32] = [:]
    /// The folders that were emptied; one that is not there, or no more, needs nothing.
    private var emptied: Set<String> = []
    /// Whether something is covered where the command may write.
    private(set) var isCovering = false

    /// Folders with more entries than that appear empty, rather than cost as many mounts.
    private static let entriesMax = 4096
    /// O_PATH: it names a file, whatever is mounted over it.
    private static let byName = 0o10_000_000 | O_CLOEXEC

    /// Takes what is given, while the tree is as outside.
    init(_ request: ViewRequest) throws(ConfinementProblem) {
        steps = request.view.steps(isFolder: Self.isFolder)
        for (number, step) in steps.enumerated() {
            let path = step.path
            switch step {
            case .give: trees[path] = try Self.copy(path)
            case .show, .keep: names[path] = Self.open(path)
            case .refresh:
                trees[path] = try Self.copy(Self.folder(in: request.storage, "\(number)"))
            case .drop:
                let removed = steps.compactMap {
                    if case .remove(let path) = $0 { path } else { nil }
                }
                trees[path] = try Self.overlay(
                    path,
                    without: removed.filter { CanonicalPath.isWithin($0, path) },
                    in: request.storage,
                    number
                )
            case .empty, .freeze, .cover, .remove: break
            }
        }
    }

    /// Mounts all, the outermost first.
    mutating func build() throws(ConfinementProblem) {
        var isPinned = false
        for step in steps {
            switch step {
            case .keep, .cover, .remove:
                // Once, when all is there that these lie in.
                if !isPinned { try pin() }
                isPinned = true
            case .give, .show, .drop, .refresh, .empty, .freeze: break
            }
            switch step {
            case .give(let path), .refresh(let path), .drop(let path): try give(path)
            case .show(let path): try show(path)
            case .empty(let path):
                guard Self.isFolder(path) else { continue }
                try Self.mountEmpty(path)
                emptied.insert(path)
            case .freeze(let path, let names, let withoutDots):
                try freeze(path, without: names, withoutDots: withoutDots)
            case .keep(let path):
                try cover(path, by: names[path].map { "/proc/self/fd/\($0)" })
            case .cover(let path): try cover(path)
            case .remove(let path): try remove(path)
            }
        }
    }

    /// Nothing more can be made in what was emptied and frozen; the descriptors are closed.
    func finish() throws(ConfinementProblem) {
        for step in steps.reversed() {
            switch step {
            case .empty(let path), .freeze(let path, _, _):
                let isMounted = if case .empty = step { emptied.contains(path) } else { true }
                guard isMounted, Self.isFolder(path) else { continue }
                let flags = CONFINE_BIND | CONFINE_REMOUNT | CONFINE_READ_ONLY
                try Confinement.mount("none", at: path, nil, flags | Confinement.quiet)
            case .give, .show, .drop, .refresh, .keep, .cover, .remove: continue
            }
        }
        for descriptor in Array(trees.values) + Array(names.values) { close(descriptor) }
    }

    // MARK: Steps

    private func give(_ path: String) throws(ConfinementProblem) {
        guard let tree = trees[path] else { return }
        try Confinement.makeMountPoint(path, isFolder: Self.isFolder(of: tree))
        try Confinement.attempt("mounting \(path)") { () throws(SystemError) in
            // Safety: the path is NUL-terminated for the call.
            try SystemCall.check { unsafe confine_place(tree, path) }
        }
    }

    private func show(_ path: String) throws(ConfinementProblem) {
        guard let name = names[path] else { return }
        try Confinement.makeMountPoint(path, isFolder: Self.isFolder(of: name))
        try Confinement.bind("/proc/self/fd/\(name)", at: path)
    }

    /// Makes a folder a view of the entries that it has now; nothing appears there later.
    private func freeze(
        _ path: String,
        without left: Set<String>,
        withoutDots: Bool
    ) throws(ConfinementProblem) {
        // What this user can't enter, the command can't either.
        guard let folder = Self.open(path), Self.isFolder(of: folder) else { return }
        defer { close(folder) }
        let source = "/proc/self/fd/\(folder)"
        var entries = (try? ProcessFiles.names(in: source)) ?? []
        if entries.count > Self.entriesMax { entries = [] }
        try Self.mountEmpty(path)
        for name in entries where name != "." && name != ".." && !left.contains(name) {
            if withoutDots, name.hasPrefix(".") { continue }
            try Self.show("\(source)/\(name)", at: "\(path)/\(name)")
        }
    }

    /// Shows an entry of a folder that is frozen; sockets and pipes lead out, and aren't shown.
    private static func show(_ source: String, at mountPoint: String) throws(ConfinementProblem) {
        switch kind(source) {
        case S_IFLNK:
            if let target = ProcessFiles.link(source) {
                // Safety: both paths are NUL-terminated for the call.
                _ = unsafe symlink(target, mountPoint)
            }
        case S_IFDIR, S_IFREG:
            try Confinement.makeMountPoint(mountPoint, isFolder: kind(source) == S_IFDIR)
            do throws(ConfinementProblem) {
                try Confinement.bind(source, at: mountPoint)
            } catch {
                // Such as a mount of another user, which root can't enter either, or what has just
                // been removed.
                guard [EACCES, ENOENT].contains(error.cause.code) else { throw error }
            }
        default: break
        }
    }

    /// Covers what is there, by its name: a link itself, not what it leads to.
    ///
    /// What covers it is read-only, and empty unless there is `content`.
    private mutating func cover(
        _ path: String,
        by content: String? = nil
    ) throws(ConfinementProblem) {
        guard let kind = Self.kind(path), kind != S_IFCHR else { return }
        if Self.isWritable(CanonicalPath.parent(of: path)) { isCovering = true }
        let flags = Self.byName | O_NOFOLLOW
        // Safety: the path is NUL-terminated for the call.
        let name = unsafe Glibc.open(path, flags)
        guard name >= 0 else { return }
        defer { close(name) }
        let empty = kind == S_IFDIR ? Confinement.emptyFolder : Confinement.empty
        let mountPoint = "/proc/self/fd/\(name)"
        try Confinement.bind(content ?? empty, at: mountPoint)
    }

    /// Mounts the folders above what is covered at themselves, since a mount point can't be
    /// renamed: else another could take the place of the whole path, and lupin would read that.
    private func pin() throws(ConfinementProblem) {
        let covered = steps.compactMap { step -> String? in
            switch step {
            case .keep(let path), .cover(let path): path
            case .remove(let path): Self.isFolder(path) ? path : nil
            case .give, .show, .drop, .refresh, .empty, .freeze: nil
            }
        }
        for folder in Self.ancestors(of: covered) where Self.isWritable(folder) {
            try Confinement.bind(folder, at: folder)
        }
    }

    /// The folders above, from the outermost on, but for those that are made anew.
    package static func ancestors(of paths: [String]) -> [String] {
        let folders = Set(paths.flatMap { CanonicalPath.upwards(from: $0).dropFirst() })
        let covered = ["/dev", "/proc", "/sys"]
        return folders.filter { folder in
            folder != "/" && !covered.contains { CanonicalPath.isWithin(folder, $0) }
        }
        .sorted { ($0.utf8.count, $0) < ($1.utf8.count, $1) }
    }

    private mutating func remove(_ path: String) throws(ConfinementProblem) {
        // Else it was removed before its folder was shown.
        guard let kind = Self.kind(path) else { return }
        // Safety: the path is NUL-terminated for the call.
        if kind != S_IFDIR, unsafe unlink(path) == 0 { return }
        try cover(path)
    }

    // MARK: Calls

    static func mountEmpty(_ path: String) throws(ConfinementProblem) {
        try Confinement.mount("tmpfs", at: path, "tmpfs", Confinement.quiet, "mode=755,size=4m")
    }

    private static func copy(_ path: String) throws(ConfinementProblem) -> Int32 {
        var tree: Int32 = -1
        try Confinement.attempt(path) { () throws(SystemError) in
            // Safety: the path is NUL-terminated for the call.
            tree = try SystemCall.check { unsafe confine_copy_tree(path) }
        }
        return tree
    }

    /// The folder as it is, with changes in the storage; where the kernel or the file system
    /// refuses, an empty one.
    private static func overlay(
        _ path: String,
        without removed: [String],
        in storage: String,
        _ number: Int
    ) throws(ConfinementProblem) -> Int32 {
        let upper = try folder(in: storage, "\(number)")
        let work = try folder(in: storage, "\(number)-work")
        for removed in removed { whiteOut(String(removed.dropFirst(path.count)), path, in: upper) }
        if let lower = open(path) {
            defer { close(lower) }
            // Safety: all paths are NUL-terminated for the call.
            let tree = unsafe confine_overlay("/proc/self/fd/\(lower)", upper, work)
            if tree >= 0 { return tree }
        }
        return try copy(upper)
    }

    /// Notes in `upper` that `name`, which begins with a slash, is removed from the folder `lower`.
    ///
    /// A folder, which is not empty, could only be covered otherwise.
    private static func whiteOut(_ name: String, _ lower: String, in upper: String) {
        guard kind(lower + name) != nil else { return }
        for folder in CanonicalPath.upwards(from: name).dropFirst().reversed() where folder != "/" {
            guard isFolder(lower + folder) else { return }
            // Safety: the path is NUL-terminated for the call.
            let made = SystemCall.value { Int(unsafe mkdir(upper + folder, 0o755)) }
            guard made == 0 || made == -Int(EEXIST) else { return }
        }
        // The device 0:0, which everybody may make.
        // Safety: the path is NUL-terminated for the call.
        _ = unsafe mknod(upper + name, S_IFCHR, 0)
    }

    private static func folder(
        in storage: String,
        _ name: String
    ) throws(ConfinementProblem) -> String {
        let path = "\(storage)/\(name)"
        try Confinement.makeMountPoint(path, isFolder: true)
        return path
    }

    private static func open(_ path: String) -> Int32? {
        // Safety: the path is NUL-terminated for the call.
        let raw = unsafe Glibc.open(path, byName)
        return raw < 0 ? nil : raw
    }

    /// The bits of its mode that say what it is; nil where there is nothing.
    static func kind(_ path: String) -> mode_t? {
        var facts = stat()
        // Safety: lstat fills the struct it is given.
        return unsafe lstat(path, &facts) == 0 ? facts.st_mode & S_IFMT : nil
    }

    private static func isFolder(_ path: String) -> Bool { kind(path) == S_IFDIR }

    private static func isFolder(of descriptor: Int32) -> Bool {
        var facts = stat()
        // Safety: fstat fills the struct it is given.
        return unsafe fstat(descriptor, &facts) == 0 && facts.st_mode & S_IFMT == S_IFDIR
    }

    /// Whether the mount lets its folders be changed, whose modes their owner changes.
    private static func isWritable(_ path: String) -> Bool {
        var facts = statvfs()
        // Safety: statvfs fills the struct it is given.
        return unsafe statvfs(path, &facts) == 0 && facts.f_flag & UInt(ST_RDONLY) == 0
    }
}
