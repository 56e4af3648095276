// Which files beside those that are absent hold credentials, too, by their names.

import LupinCore

/// Copies of secrets, and files that hold credentials in whatever folder they lie.
package enum CredentialCopies {
    /// What lies in a folder; nothing where there is none.
    package typealias List = (_ folder: String) -> [(name: String, isFolder: Bool)]

    /// The usual names.
    private static let names: Set = [
        ".npmrc", ".netrc", "_netrc", ".env", ".pypirc", ".yarnrc.yml", ".git-credentials",
        ".htpasswd",
        ".pgpass", ".dockercfg", ".curlrc", ".wgetrc", ".vault-token", "auth.json", ".envrc",
        "npmrc", "pip.conf", "condarc", ".condarc", "gemrc", ".gemrc", "credentials",
        ".credentials", "settings-security.xml", "gradle.properties", "init.gradle", "init.d",
        "nuget.config", "NuGet.Config", "bunfig.toml", ".bunfig.toml",
    ]

    /// Names that mean it in one folder.
    private static let namesInFolders = [
        "conf": "settings.xml", ".m2": "settings.xml", "pnpm": "rc", "conda-meta": "state",
        "conda": "activate.d",
    ]

    /// Programs named alike are no copies.
    private static let programs: Set = [
        ".py", ".pyc", ".js", ".cjs", ".mjs", ".ts", ".rb", ".go", ".rs", ".java", ".class", ".jar",
        ".h", ".so", ".map", ".md", ".html",
    ]

    /// Folders with what was unpacked or built, where nobody keeps settings.
    private static let unpacked: Set = [
        ".git", "_cacache", "_npx", "archives", "artifacts", "boot", "cache", "caches", "compiled",
        "dist-packages", "doc", "docs", "downloads", "files", "gems", "hosted", "include", "index",
        "jmods", "legal", "lib64", "libexec", "locale", "man", "mod", "objects", "packages", "pkg",
        "pkgs", "registries", "registry", "repository", "share", "site-packages", "snapshots",
        "src", "store", "test", "tests",
    ]

    /// Folders of which one entry counts, such as `lib/node_modules/npm/npmrc`.
    private static let passages = ["lib": "node_modules", "node_modules": "npm"]

    /// What is no cache, although it lies among them.
    private static let environments = ".cache/pypoetry/virtualenvs"

    /// How many folders are looked into, the outermost first, and how deep: that takes time at each
    /// start.
    package static let (foldersMax, depthMax) = (600, 7)

    /// The paths of such files in a home, or in a folder that is as one of the home.
    ///
    /// - Parameters:
    ///   - folder: That of the home; nil for the home itself.
    ///   - path: Where it lies.
    ///   - list: Tells what lies in a folder.
    /// - Returns: Absolute paths, some of them twice.
    package static func paths(
        of folder: String? = nil,
        at path: String,
        list: List
    ) -> [String] {
        var found: [String] = []
        for secret in HomeTable.secrets where secret.contains("/") {
            guard let candidate = candidate(of: secret, in: folder, at: path), candidate != path
            else {
                continue
            }
            found += copies(of: candidate, list)
        }
        let names = HomeTable.shown + HomeTable.dropped + ToolContents.known + [environments]
        var candidates = names.compactMap { name in
            self.candidate(of: name, in: folder, at: path).map { (name, $0) }
        }
        if let folder { candidates.append((folder, path)) }
        let starts = candidates.map { name, candidate in
            // Of caches, nobody knows how deep.
            (
                candidate,
                CanonicalPath.isWithin(name, ".cache") && name != environments ? depthMax : 0
            )
        }
        return found + usual(below: starts, list)
    }

    /// The paths with a usual name in folders and below, the outermost folders first.
    private static func usual(
        below starts: [(path: String, depth: Int)],
        _ list: List
    ) -> [String] {
        var (queue, seen, found) = (starts, Set<String>(), [String]())
        var next = 0
        while next < queue.count, seen.count < foldersMax {
            let (folder, depth) = queue[next]
            next += 1
            guard seen.insert(folder).inserted else { continue }
            let own = CanonicalPath.name(of: folder)
            for (name, isFolder) in list(folder) {
                let path = "\(folder)/\(name)"
                if isUsual(name, in: own) {
                    found.append(path)
                } else if isFolder, depth < depthMax, !unpacked.contains(name) {
                    if let only = passages[own], only != name { continue }
                    queue.append((path, depth + 1))
                }
            }
        }
        return found
    }

    /// The paths of copies of a file in its folder: `NAME.bak`, `.NAME.swp` and the like.
    package static func copies(of path: String, _ list: List) -> [String] {
        let name = CanonicalPath.name(of: path)
        let folder = CanonicalPath.parent(of: path)
        return list(folder).map(\.name)
            .filter { other in
                other != name && ["", ".", "#"].contains { other.hasPrefix($0 + name) }
            }
            .map { "\(folder)/\($0)" }
    }

    /// Whether a name is one of the usual ones, or of a copy such as `.npmrc.bak` or `.env.local`.
    ///
    /// There are many names to ask about.
    private static func isUsual(_ name: String, in folder: String) -> Bool {
        func isOne(_ name: Substring) -> Bool {
            names.contains(String(name)) || namesInFolders[folder] == String(name)
        }
        if isOne(name[...]) { return true }
        let end = name.lastIndex(of: ".") ?? name.startIndex
        if programs.contains(String(name[end...])) { return false }
        // `.npmrc.bak`, `.pip.conf.swp`, `#npmrc#`, `.env~`
        let ends = name.indices.dropFirst().filter { ".~#".contains(name[$0]) }
        return (ends + [name.endIndex]).contains { end in
            if isOne(name[..<end]) { return true }
            guard let first = name.first, ".#".contains(first) else { return false }
            return isOne(name[..<end].dropFirst())
        }
    }

    private static func candidate(of name: String, in folder: String?, at path: String) -> String? {
        guard let folder else { return "\(path)/\(name)" }
        return CanonicalPath.isWithin(name, folder) ? path + name.dropFirst(folder.count) : nil
    }
}
