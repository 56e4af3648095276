// What a confined command sees of temporary folders, of homes, and of what variables name of them.
import LupinConfinement
import LupinCore
import LupinIO

extension ConfinedPlan {
    static let temporary = ["/tmp", "/var/tmp"]

    mutating func addTemporary() {
        for folder in Self.temporary where PublicFile.target(of: folder) == folder {
            add(.fresh, folder, .temporary)
        }
        let runtime = environment["XDG_RUNTIME_DIR"] ?? "/run/user/\(ProcessOwner.userNumber)"
        for folder in [UserFolder.temporary(environment), runtime] {
            guard let folder = PublicFile.target(of: folder), !Self.isMadeAnew(folder),
                !homes.contains(where: { CanonicalPath.isWithin($0, folder) }), folder != "/"
            else { continue }
            add(.fresh, folder, .temporary)
        }
        // Where its folder is given to the command, that of others lie there, too.
        let temporary = target(UserFolder.temporary(environment))
        guard view.mark(of: temporary) != .fresh else { return }
        for name in PublicFile.names(in: temporary) where name.hasPrefix("lupin-") {
            guard name.count == PrivateFolder.nameLength else { continue }
            add(.absent, "\(temporary)/\(name)", .lupin)
        }
    }

    /// Folders of tools that variables name.
    mutating func addVariables() {
        for name in VariableTable.secrets {
            for path in paths(in: name) { conceal(path, name) }
        }
        for (name, tool) in VariableTable.examined {
            for path in paths(in: name) {
                examine(target(path), of: tool, home: homes.first ?? "/")
            }
        }
        if let all = folders(in: "XDG_CACHE_HOME").first, mayDrop(all) {
            add(.fresh, all, .cache)
        }
        for (name, original) in VariableTable.folders {
            for path in folders(in: name) { addFolder(path, as: original) }
        }
    }

    private func paths(in variable: String) -> [String] {
        VariableTable.paths(in: environment[variable] ?? "", home: homes.first ?? "/")
    }

    /// The folders that a variable names, other than those around a home.
    private func folders(in variable: String) -> [String] {
        paths(in: variable).compactMap { path in
            guard path.hasPrefix("/"), let folder = PublicFile.target(of: path), folder != "/",
                !homes.contains(where: { CanonicalPath.isWithin($0, folder) })
            else { return nil }
            return folder
        }
    }

    /// Has a folder be as one of the home is.
    private mutating func addFolder(_ path: String, as name: String) {
        // Of one that several share no table says what belongs there.
        let original = Self.common.contains(path) ? ".local/lib" : name
        for (name, tool) in HomeTable.examined where CanonicalPath.isWithin(name, original) {
            let settings = path + name.dropFirst(original.count)
            for file in [settings] + CredentialCopies.copies(of: settings, PublicFile.entries) {
                examine(file, of: tool, home: homes.first ?? "/")
            }
        }
        for copy in CredentialCopies.paths(of: original, at: path, list: PublicFile.entries) {
            hide(copy)
        }
        hideExamined(of: original, at: path)
        let entries = VariableTable.entries(
            of: original,
            at: path,
            exists: PublicFile.exists,
            list: PublicFile.entries
        )
        for entry in entries {
            if isGiven(entry.path) { continue }
            switch entry.mark {
            case .absent:
                // In a folder of the system nothing new appears.
                if Self.isSystem(path), !PublicFile.exists(entry.path) { continue }
                leaveOut(entry.path)
            default:
                // A folder with secrets is not shown where it was absent.
                let mark = view.mark(of: entry.path)
                let isAbsent = mark == .dotless && entry.path == path
                if isAbsent, VariableTable.hasSecrets(original) { continue }
                guard mayDrop(entry.path) || mark == .dropped else { continue }
                // What is shown of a folder that is emptied is so by its name.
                let isShown = entry.mark == .shown
                add(entry.mark, isShown ? entry.path : target(entry.path), isShown ? .tool : .cache)
            }
        }
    }

    /// Has settings absent in folders of tools that may hold a credential.
    private mutating func hideExamined(of folder: String? = nil, at path: String) {
        let home = homes.first ?? "/"
        for (file, tool) in ToolContents.examined(of: folder, at: path, list: PublicFile.entries) {
            for (path, _) in ExaminedSettings(file, of: tool, home: home).absent { hide(path) }
        }
    }

    /// Has a file with credentials absent by each of its names, unless it is given.
    private mutating func hide(_ path: String) {
        for path in [path, target(path)] where !isGiven(path) && !Self.isMadeAnew(path) {
            add(.absent, path, .credentials)
        }
    }

    /// Has absent what a table doesn't name of a folder, and the file that it is a link to.
    private mutating func leaveOut(_ path: String) {
        // Where nothing else is, it needs no place of its own.
        if view.mark(of: path) != .emptied { add(absence(of: path), path, .credentials) }
        guard ProcessFiles.link(path) != nil, FileStatus(path: path)?.isRegular == true else {
            return
        }
        let target = target(path)
        // It is no program, and not decided about.
        if Self.isSystem(target) || isGiven(target) || view.mark(of: target) != nil { return }
        add(.absent, target, .credentials)
    }

    /// How a place is absent: what is given below stays.
    private func absence(of path: String) -> ViewEntry.Mark {
        gifts.contains { CanonicalPath.isWithin($0, path) } ? .emptied : .absent
    }

    /// Whether a folder is neither given, nor new, nor not to be seen.
    private func mayDrop(_ folder: String) -> Bool {
        switch view.mark(of: folder) {
        case nil, .dotless, .shown: !isGiven(folder)
        case .writable, .dropped, .fresh, .emptied, .kept, .absent: false
        }
    }

    /// Has what a variable names absent, unless it is given or more than settings.
    private mutating func conceal(_ path: String, _ variable: String) {
        let around = homes + [ProcessOwner.directory]
        guard let target = PublicFile.target(of: path), !Self.isMadeAnew(target), !isGiven(target),
            !Self.isSystem(target), !Self.tops.contains(target),
            !around.contains(where: { CanonicalPath.isWithin($0, target) })
        else { return }
        switch view.mark(of: target) {
        // The command does not see it, or only what the table of the home names of it.
        case .absent, .dotless, .emptied, .fresh: return
        case nil, .shown, .dropped, .kept, .writable: break
        }
        add(absence(of: target), target, .credentials)
        remarks.append("\(variable) names \(path), which is absent: --show gives it")
    }

    /// Whether programs can't do without what is at a path.
    private static func isSystem(_ path: String) -> Bool {
        ["/usr", "/bin", "/sbin", "/lib", "/lib64", "/nix/store"].contains {
            CanonicalPath.isWithin(path, $0)
        }
    }

    /// Folders in which more lies than what a variable means.
    private static let tops: Set = [
        "/etc", "/home", "/opt", "/root", "/run", "/srv", "/tmp", "/var",
    ]
    /// The same, with those of the system's programs.
    private static let common = tops.union([
        "/usr", "/usr/bin", "/usr/lib", "/usr/share", "/usr/local", "/usr/local/bin",
        "/usr/local/lib", "/usr/local/share",
    ])

    /// Whether the user gave a path, or the folder around it that decides about it.
    func isGiven(_ path: String) -> Bool {
        for folder in CanonicalPath.upwards(from: path) {
            if let reason = reasons[folder] { return reason.isGift }
            // A folder around a home gives nothing in it.
            if homes.contains(folder) { return false }
        }
        return false
    }

    mutating func addHomes(_ mode: HomeMode) {
        for home in ownHomes where mode == .readOnly { hideCredentials(of: home) }
        for home in ownHomes {
            let entries = HomeTable.entries(
                of: home,
                mode,
                exists: PublicFile.exists,
                list: PublicFile.entries
            )
            for entry in entries where !isGiven(entry.path) {
                switch entry.mark {
                case .writable: add(.writable, entry.path, .shared)
                case .fresh:
                    add(.fresh, entry.path, mode == .private ? .privateHome : .cache)
                case .dropped: add(.dropped, entry.path, .cache)
                case .shown, .kept: add(entry.mark, entry.path, .tool)
                case .dotless, .emptied: add(entry.mark, entry.path, .credentials)
                case .absent: leaveOut(entry.path)
                }
            }
            if mode == .readOnly { addOtherNames(in: home) }
        }
    }

    /// Has files absent that hold credentials, or may, by their names.
    private mutating func hideCredentials(of home: String) {
        for (name, tool) in HomeTable.examined {
            let path = "\(home)/\(name)"
            examine(path, of: tool, home: home)
            // Those in the home itself are absent.
            guard name.contains("/") else { continue }
            for copy in CredentialCopies.copies(of: path, PublicFile.entries) {
                examine(copy, of: tool, home: home)
            }
        }
        for path in CredentialCopies.paths(at: home, list: PublicFile.entries) { hide(path) }
        hideExamined(at: home)
    }

    /// What is absent of a home is so by its other name, too.
    private mutating func addOtherNames(in home: String) {
        func other(of path: String) -> String? {
            guard let target = PublicFile.target(of: path), target != path,
                view.mark(of: target) == nil
            else { return nil }
            return target
        }
        for name in PublicFile.names(in: home) where name.hasPrefix(".") {
            let path = "\(home)/\(name)"
            guard view.mark(of: path) == .dotless, let target = other(of: path) else { continue }
            add(.absent, target, .credentials)
        }
        for name in ToolContents.known {
            if let target = other(of: "\(home)/\(name)") { addFolder(target, as: name) }
        }
    }

    /// The folder of credentials that a folder is, lies in or holds, by any path; nil for none.
    ///
    /// A folder around a whole home shows none: what is absent there is so in it.
    func credentials(at folder: String) -> String? {
        let paths = [folder] + roads.otherPaths(of: folder)
        let inHomes = paths.filter { path in
            ownHomes.contains { CanonicalPath.isWithin(path, $0) }
        }
        return credentialFolders.first { keeper in
            inHomes.contains {
                CanonicalPath.isWithin($0, keeper) || CanonicalPath.isWithin(keeper, $0)
            }
        }
    }

    /// Whether a folder is one of credentials, or lies in one.
    private func isAmongCredentials(_ folder: String) -> Bool {
        credentialFolders.contains { CanonicalPath.isWithin(folder, $0) }
    }

    private var credentialFolders: [String] {
        ownHomes
            .flatMap { home in HomeTable.credentialFolders.map { "\(home)/\($0)" } }
            .filter(PublicFile.exists)
    }

    /// How the user gave a folder of credentials: giving a folder around it does not count.
    ///
    /// Ask it before anything else is given.
    func gift(of folder: String) -> (mark: ViewEntry.Mark, reason: Reason)? {
        for path in [folder] + roads.otherPaths(of: folder) {
            let paths = CanonicalPath.upwards(from: path)
            guard let entry = paths.first(where: { reasons[$0] != nil }), !homes.contains(entry),
                entry == path || isAmongCredentials(entry),
                let mark = view.mark(of: entry), let reason = reasons[entry]
            else { continue }
            return (mark, reason)
        }
        return nil
    }

    /// Has settings absent that may hold a credential, unless they are given.
    private mutating func examine(_ path: String, of tool: ToolSettings.Tool, home: String) {
        for (path, remark) in ExaminedSettings(path, of: tool, home: home).absent {
            let target = target(path)
            if isGiven(target) || view.mark(of: target) == .absent { continue }
            add(.absent, target, .credentials)
            remarks.append(remark)
        }
    }
}
