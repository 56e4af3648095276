// What a command sees in `lupin exec --confine`, and why.
import LupinConfinement
import LupinCore
import LupinIO
import LupinPolicy
import LupinProxy
import LupinRules

/// What the user gives a confined command, and keeps from it.
struct ConfinedGifts: Sendable {
    var home = HomeMode.readOnly
    var hidden: [String] = []
    var shown: [String] = []
    var writable: [String] = []
    /// Whether connections that ignore the proxy variables are led to lupin where that is possible.
    var isRedirecting = true
    /// Where lupin writes what the command did: a tape.
    var records: [String] = []
    /// What it answers the command from: a tape.
    var replayed: [String] = []
}

/// Why a command is not confined: something would not hold.
struct ConfinedRefusal: Error {
    /// A sentence for users.
    let message: String
}

/// A view of the file system, with the reason for each of its places.
struct ConfinedPlan: Sendable {
    /// Why something is as it is; the order of `--explain`.
    enum Reason: String, Sendable, CaseIterable {
        case given = "given by --write"
        case workingFolder = "the working folder"
        case shared = "the home, by --home shared"
        case temporary = "temporary files, of this run alone"
        case privateHome = "a home of this run alone, by --home private"
        case cache = "caches of tools"
        case shown = "given by --show"
        case tool = "programs and settings without secrets"
        case system = "the system's own"
        case certificates = "certificates that lupin reads, which are no secret"
        case hidden = "hidden by --hide"
        case lupin = "lupin's own: rules, keys, tokens, records, sockets"
        case credentials = "credentials and what else is not known to have none"
        case others = "for root alone"
        case socket = "sockets, which lead out"

        /// Whether the user gave it.
        var isGift: Bool { [.given, .workingFolder, .shown].contains(self) }
    }

    private(set) var view = ConfinedView()
    private(set) var reasons: [String: Reason] = [:]
    /// The places that the user gave.
    private(set) var gifts: [String] = []
    /// Folders of lupin's own that must be made first, since only what is there can be covered.
    private(set) var missing: [String] = []
    /// What the user may wonder about.
    var remarks: [String] = []
    /// Why work in the working folder does not last; nil where it does.
    private(set) var loss: String?
    /// With those by which their files are reached, too.
    let homes: [String]
    let ownHomes: [String]
    let isRedirecting: Bool
    /// What the user gives by `--show`.
    let shown: [String]
    let environment: [String: String]
    /// By which other paths files are reached.
    let roads: MountRoads
    /// Certificates that lupin reads, by their paths without links.
    private var certificates: Set<String> = []
    /// What shows parts of places by other paths, with what it shows.
    private var parts: [(path: String, original: String)] = []

    /// - Parameters:
    ///   - configuration: That of the command's proxy.
    ///   - admin: `admin` as it is written.
    ///   - gifts: What the user said.
    ///   - environment: The variables of this process.
    /// - Throws: What would not hold.
    init(
        _ configuration: Configuration,
        admin: AdminSettings,
        _ gifts: ConfinedGifts,
        _ environment: [String: String]
    ) throws(ConfinedRefusal) {
        guard let mounts = WholeFile.content(of: "/proc/self/mountinfo", bytesMax: 4 << 20) else {
            throw ConfinedRefusal(
                message: "/proc/self/mountinfo, the list of mounts, can't be read"
            )
        }
        let roads = MountRoads(table: String(decoding: mounts, as: UTF8.self))
        self.roads = roads
        self.environment = environment
        isRedirecting = gifts.isRedirecting
        shown = gifts.shown
        let accounts = [ProcessOwner.accountHome, ProcessOwner.outerHome]
        let homes = ([ProcessOwner.home(environment)] + accounts)
            .compactMap { $0.flatMap(PublicFile.target) }
        ownHomes = homes.reduce(into: []) { if $1 != "/", !$0.contains($1) { $0.append($1) } }
        self.homes = (ownHomes + ownHomes.flatMap(roads.otherPaths)).reduce(into: []) {
            if $1 != "/", !$0.contains($1) { $0.append($1) }
        }
        var written = configuration
        written.settings.admin = admin
        let own = try ConfinedBelongings(written, environment)
        let trails = (own.all + gifts.records.map { Belonging(.served, $0) })
            .map { ($0, PathTrail($0.path, from: "/")) }
        // What is added first stays.
        for path in gifts.hidden { add(.absent, target(path), .hidden) }
        // In the project it is the command's, too.
        for tape in (gifts.records + gifts.replayed).map(target)
        where homes.contains(where: { CanonicalPath.isWithin(tape, $0) })
            && !CanonicalPath.isWithin(tape, ProcessOwner.directory)
        {
            add(.absent, tape, .lupin)
        }
        for (belonging, trail) in trails where !Self.isMadeAnew(trail.target) {
            if isShown(belonging, at: trail.target) {
                certificates.insert(trail.target)
            } else if belonging.kind != .served {
                // What is served is for the command, too.
                add(.absent, trail.target, .lupin)
            }
        }
        try give(gifts)
        addTemporary()
        addHomes(gifts.home)
        if gifts.home == .readOnly { addVariables() }
        addSystem()
        addParts()
        for path in certificates { keep(path) }
        try check(trails, own.lasting)
        missing = own.folders.map(target).filter {
            view.isWritable(CanonicalPath.parent(of: $0)) && !PublicFile.exists($0)
        }
    }

    /// Whether the command may change what is at a path, or put another thing there.
    func isWritable(_ path: String) -> Bool {
        let trail = PathTrail(path, from: ProcessOwner.directory)
        let paths = [trail.target] + trail.links.map(\.path)
        return (paths + paths.flatMap(roads.otherPaths)).contains(where: view.isWritable)
    }

    /// Where the command writes what stays, by every path.
    var writableEntries: [String] {
        view.writableEntries.flatMap { path in
            [path]
                + roads.others(of: path).map { road in
                    switch road {
                    case .whole(let other), .part(let other, _): other
                    }
                }
        }
    }

    /// Whether the command does not see what is at a path.
    func isAbsent(_ path: String) -> Bool {
        switch view.mark(of: target(path)) {
        case .absent, .dotless, .emptied, .fresh: true
        case .writable, .shown, .dropped, .kept, nil: false
        }
    }

    /// The unix sockets that are given, each by its own path: showing a folder hardly means the
    /// programs that listen in it.
    var givenSockets: Set<ConnectWatch.FileIdentity> {
        Set(shown.map(target).compactMap(ConnectWatch.FileIdentity.init(ofSocket:)))
    }

    mutating func add(_ mark: ViewEntry.Mark, _ path: String, _ reason: Reason) {
        addPath(mark, path, reason)
        guard let other = mark.elsewhere else { return }
        for road in roads.others(of: path) {
            switch road {
            case .whole(let path): addPath(other, path, reason)
            case .part(let path, _) where other == .absent: addPath(.absent, path, reason)
            case .part(let part, let inside): parts.append((part, "\(path)/\(inside)"))
            }
        }
    }

    private mutating func addPath(_ mark: ViewEntry.Mark, _ path: String, _ reason: Reason) {
        view.add(mark, path)
        guard reasons[path] == nil else { return }
        reasons[path] = reason
        if reason.isGift { gifts.append(path) }
    }

    /// What is not seen by one path is not by another; behind all other places, as those decide.
    private mutating func addParts() {
        // As where /home is a bind mount of a folder in /tmp: what lies there is seen by this path.
        let needed = ownHomes + [ProcessOwner.directory]
        for (path, original) in parts where isAbsent(original) {
            let reason = CanonicalPath.upwards(from: original).compactMap { reasons[$0] }.first
            if reason == .temporary, needed.contains(where: { CanonicalPath.isWithin($0, path) }) {
                continue
            }
            addPath(.absent, path, reason ?? .credentials)
        }
    }

    /// Whether a file of lupin's is as visible as its folder: it holds certificates, and no key.
    private func isShown(_ belonging: Belonging, at path: String) -> Bool {
        guard belonging.kind.mayBeShown, let bytes = WholeFile.content(of: path) else {
            return false
        }
        return PEM.holdsCertificatesAlone(bytes)
    }

    /// Has the command change neither what is at a path, nor by which file that name is held.
    private mutating func keep(_ path: String) {
        for entry in [path] + roads.otherPaths(of: path) {
            if view.isWritable(CanonicalPath.parent(of: entry)) {
                addPath(.kept, entry, .certificates)
            }
        }
    }

    /// A path without links, whether or not it is there.
    func target(_ path: String) -> String {
        PathTrail(path, from: ProcessOwner.directory).target
    }

    /// Whether a confined command has such folders of its own.
    static func isMadeAnew(_ path: String) -> Bool {
        madeAnew.contains { CanonicalPath.isWithin(path, $0) }
    }

    private static let madeAnew = ["/dev", "/proc", "/sys"]

    // MARK: What is given

    private mutating func give(_ gifts: ConfinedGifts) throws(ConfinedRefusal) {
        for (paths, mark, reason) in [
            (gifts.writable, ViewEntry.Mark.writable, Reason.given),
            (gifts.shown, .shown, .shown),
        ] {
            for path in paths {
                let target = target(path)
                try keepOut(target, "\(path) is", as: mark)
                if target == "/" {
                    throw ConfinedRefusal(message: "\(path) is the whole file system")
                }
                if Self.madeAnew.contains(target) {
                    throw ConfinedRefusal(
                        message: "\(path) is the command's own inside: name what lies in it"
                    )
                }
                if mark == .writable, homes.contains(target), gifts.home != .shared {
                    throw ConfinedRefusal(
                        message: "\(path) is a home, with all credentials in it; give a folder "
                            + "below, or write --home shared if that is meant"
                    )
                }
                add(mark, target, reason)
            }
        }
        let folder = ProcessOwner.directory
        guard PublicFile.exists(folder) else {
            throw ConfinedRefusal(message: "the working folder \(folder) is not there any more")
        }
        if folder == "/" || homes.contains(folder) || Self.temporary.contains(folder) {
            if view.mark(of: folder) != .writable, gifts.home != .shared || folder == "/" {
                let isDropped = [.fresh, .dropped].contains(view.mark(of: folder))
                loss =
                    (isDropped
                        ? "what the command writes to the working folder \(folder) is dropped at "
                            + "its end"
                        : "the working folder \(folder) is read-only inside")
                    + ", since others use it, too; run the command in a folder below"
            }
            return
        }
        try keepOut(folder, "the working folder \(folder) is", as: .writable)
        guard gifts.home != .shared, let keeper = credentials(at: folder) else {
            add(.writable, folder, .workingFolder)
            return noteRepository(around: folder)
        }
        if let gift = gift(of: folder) { return add(gift.mark, folder, gift.reason) }
        throw ConfinedRefusal(
            message: "the working folder \(folder) would show \(keeper), where credentials are: "
                + "run the command in another folder, or give this one by --write \(folder), or "
                + "by --show \(folder) to have it read-only"
        )
    }

    /// Says what git will not be able to do.
    private mutating func noteRepository(around folder: String) {
        let git = "\(folder)/.git"
        let above = CanonicalPath.upwards(from: folder).dropFirst().map { "\($0)/.git" }
        let repository: String?
        if let link = WholeFile.content(of: git, bytesMax: 4096) {
            // A worktree: `gitdir: /repository/.git/worktrees/NAME`.
            let path = String(decoding: link, as: UTF8.self).dropFirst("gitdir: ".count)
            repository = path.firstRange(of: "/worktrees/").map { String(path[..<$0.lowerBound]) }
        } else {
            repository = PublicFile.exists(git) ? nil : above.first(where: PublicFile.exists)
        }
        if let repository, view.mark(of: target(repository)) != .writable {
            remarks.append("git reads \(repository) and can't write to it: --write \(repository)")
        }
        for (path, reason) in reasons where reason == .lupin && CanonicalPath.isWithin(path, folder)
        {
            guard PublicFile.exists(path), repository != nil || PublicFile.exists(git) else {
                continue
            }
            remarks.append(
                "\(path) is empty inside, and git add takes it so: keep it elsewhere, or out of "
                    + "commits"
            )
        }
    }

    /// Nothing of lupin's is given, nor anything in it; certificates are, to be read.
    private func keepOut(
        _ path: String,
        _ subject: String,
        as mark: ViewEntry.Mark
    ) throws(ConfinedRefusal) {
        let isCertificate = certificates.contains(path)
        if reasons.contains(where: { $0.value == .hidden && CanonicalPath.isWithin(path, $0.key) })
        {
            throw ConfinedRefusal(message: "\(subject) hidden by --hide")
        }
        if isCertificate ? mark == .writable : view.mark(of: path) == .absent {
            throw ConfinedRefusal(
                message: isCertificate
                    ? "\(subject) a file of certificates that lupin reads, which a confined "
                        + "command can't change: --show gives it"
                    : "\(subject) lupin's own, which a confined command never gets"
            )
        }
    }

    // MARK: What is the system's

    private static let runtime = [
        "/run/current-system", "/run/booted-system", "/run/wrappers", "/run/opengl-driver",
        "/run/opengl-driver-32",
    ]

    private mutating func addSystem() {
        for folder in ["/run", "/var/run"] where PublicFile.target(of: folder) == folder {
            add(.emptied, folder, .socket)
        }
        for path in Self.runtime where PublicFile.exists(path) { add(.shown, path, .system) }
        guard ProcessOwner.userNumber == 0 else { return }
        let users = "/home"
        if PublicFile.target(of: users) == users {
            add(.emptied, users, .others)
            let brew = "\(users)/linuxbrew"
            if PublicFile.exists(brew) { add(.shown, brew, .tool) }
        }
        let secrets =
            SystemSecrets.named.compactMap(PublicFile.target)
            + SystemSecrets.settings(PublicFile.entries, Self.facts)
            + SystemSecrets.states(PublicFile.entries, Self.facts)
        for path in secrets where !isGiven(path) { add(.absent, path, .others) }
    }

    private static func facts(_ path: String) -> SystemSecrets.Facts? {
        FileStatus(itself: path).map {
            SystemSecrets.Facts(isPrivate: $0.isPrivate, mayHoldFolders: $0.mayHoldFolders)
        }
    }

    // MARK: What must hold

    /// Whether the command could put a file there, by any path.
    private func canPut(at path: String) -> Bool {
        ([path] + roads.otherPaths(of: path)).contains {
            view.isWritable(CanonicalPath.parent(of: $0))
        }
    }

    /// What lupin reads or writes outside, the command can't change by its name.
    private mutating func check(
        _ trails: [(Belonging, PathTrail)],
        _ lasting: Set<Belonging>
    ) throws(ConfinedRefusal) {
        for (belonging, trail) in trails {
            let paths = [trail.target] + trail.links.map(\.path)
            if lasting.contains(belonging), paths.contains(where: canPut(at:)) {
                // An editor that saves it puts a file there that is not covered.
                throw ConfinedRefusal(
                    message: "a lupin that runs uses \(belonging.path), in a folder that the "
                        + "command may write, so it can't be kept from it: move it elsewhere, or "
                        + "into a folder of its own and add --hide for that, or end that lupin"
                )
            }
            for link in trail.links where canPut(at: link.path) {
                guard link.isLast else {
                    throw ConfinedRefusal(
                        message: "\(link.path) is a link in a folder that the command may write, "
                            + "and lupin uses \(belonging.path) by way of it: name that without "
                            + "the link, or run the command in another folder"
                    )
                }
                if belonging.kind == .served {
                    throw ConfinedRefusal(
                        message: "\(link.path) is a link in a folder that the command may write, "
                            + "and lupin serves or writes what it leads to: name that without it"
                    )
                }
                if certificates.contains(trail.target) {
                    keep(link.path)
                } else {
                    add(.absent, link.path, .lupin)
                }
            }
            guard belonging.kind == .replaced, canPut(at: trail.target) else { continue }
            throw ConfinedRefusal(
                message: "lupin replaces \(belonging.path) in a folder that the command may write, "
                    + "so it can't be kept from it: put it elsewhere, or into a folder of its own "
                    + "and add --hide for that"
            )
        }
    }
}

extension ViewEntry.Mark {
    /// What the same place is by another path; nil where that is as all else.
    fileprivate var elsewhere: Self? {
        switch self {
        case .absent, .emptied, .dotless: self
        // What is there outside is not for the command.
        case .fresh: .emptied
        // Each path where it could be changed has a mark of its own.
        case .writable, .shown, .dropped, .kept: nil
        }
    }
}
