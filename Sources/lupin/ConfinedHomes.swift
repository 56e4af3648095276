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
    private mutating func addFolder(_ path: String, as original: String) {
        for (name, tool) in HomeTable.examined where CanonicalPath.isWithin(name, original) {
            let settings = path + name.dropFirst(original.count)
            for file in [settings] + CredentialCopies.copies(of: settings, PublicFile.entries) {
                examine(file, of: tool, home: homes.first ?? "/")
            }
        }
        for copy in CredentialCopies.paths(of: original, at: path, list: PublicFile.entries) {
            hide(copy)
        }
        for entry in VariableTable.entries(of: original, at: path, exists: PublicFile.exists) {
            if isGiven(entry.path) { continue }
            switch entry.mark {
            case .absent:
                // In a folder of the system nothing new appears.
                if Self.isSystem(path), !PublicFile.exists(entry.path) { continue }
                hide(entry.path)
            default:
                // A folder with secrets is not shown where it was absent.
                let mark = view.mark(of: entry.path)
                let isAbsent = mark == .dotless && entry.path == path
                if isAbsent, VariableTable.hasSecrets(original) { continue }
                guard mayDrop(entry.path) || mark == .dropped else { continue }
                add(entry.mark, target(entry.path), .cache)
            }
        }
    }

    /// Has a file with credentials absent by each of its names, unless it is given.
    private mutating func hide(_ path: String) {
        for path in [path, target(path)] where !isGiven(path) && !Self.isMadeAnew(path) {
            add(.absent, path, .credentials)
        }
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
        // What is given below stays.
        let isAround = view.entries.contains {
            CanonicalPath.isWithin($0.path, target) && isGiven($0.path)
        }
        add(isAround ? .emptied : .absent, target, .credentials)
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

    /// Whether the user gave a path, or the folder around it that decides about it.
    func isGiven(_ path: String) -> Bool {
        for folder in CanonicalPath.upwards(from: path) {
            if let reason = reasons[folder] {
                return [.given, .workingFolder, .shown].contains(reason)
            }
            // A folder around a home gives nothing in it.
            if homes.contains(folder) { return false }
        }
        return false
    }

    mutating func addHomes(_ mode: HomeMode) {
        for home in ownHomes where mode == .readOnly {
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
        }
        for home in ownHomes {
            for entry in HomeTable.entries(of: home, mode, exists: PublicFile.exists) {
                let reason: Reason =
                    switch entry.mark {
                    case .writable: .shared
                    case .fresh: mode == .private ? .privateHome : .cache
                    case .dropped: .cache
                    case .shown, .kept: .tool
                    case .dotless, .emptied, .absent: .credentials
                    }
                add(entry.mark, entry.path, reason)
            }
            guard mode == .readOnly else { continue }
            // What is absent is so by its other name, too.
            for name in PublicFile.names(in: home) where name.hasPrefix(".") {
                let path = "\(home)/\(name)"
                guard view.mark(of: path) == .dotless, let target = PublicFile.target(of: path),
                    target != path, view.mark(of: target) == nil
                else { continue }
                add(.absent, target, .credentials)
            }
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
