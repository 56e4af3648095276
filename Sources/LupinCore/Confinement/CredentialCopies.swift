// Which files beside those that are absent hold credentials, too, by their names.

/// Copies of secrets, and files that hold credentials in whatever folder they lie.
package enum CredentialCopies {
    /// The usual names.
    package static let names: Set = [
        ".npmrc", ".netrc", "_netrc", ".env", ".pypirc", ".yarnrc.yml", ".git-credentials",
        ".htpasswd",
        ".pgpass", ".dockercfg", ".curlrc", ".wgetrc", ".vault-token", "auth.json", ".envrc",
    ]

    /// The paths of such files in a home, or in a folder that is as one of the home.
    ///
    /// - Parameters:
    ///   - folder: That of the home; nil for the home itself.
    ///   - path: Where it lies.
    ///   - list: The names in a folder; none where there is no folder.
    /// - Returns: Absolute paths, some of them twice.
    package static func paths(
        of folder: String? = nil,
        at path: String,
        list: (String) -> [String]
    ) -> [String] {
        var found: [String] = []
        for secret in HomeTable.secrets where secret.contains("/") {
            guard let place = place(of: secret, in: folder, at: path), place != path else {
                continue
            }
            found += copies(of: place, list)
        }
        var places = (HomeTable.shown + HomeTable.dropped).compactMap {
            self.place(of: $0, in: folder, at: path)
        }
        if folder != nil { places.append(path) }
        for place in places {
            found += list(place).filter(isUsual).map { "\(place)/\($0)" }
        }
        return found
    }

    /// The paths of copies of a file in its folder: `NAME.bak`, `.NAME.swp` and the like.
    package static func copies(of path: String, _ list: (String) -> [String]) -> [String] {
        let name = PlacePath.name(of: path)
        let folder = PlacePath.parent(of: path)
        return list(folder)
            .filter { other in
                other != name && ["", ".", "#"].contains { other.hasPrefix($0 + name) }
            }
            .map { "\(folder)/\($0)" }
    }

    /// Whether a name is one of the usual ones, or of a copy such as `.npmrc.bak` or `.env.local`.
    private static func isUsual(_ name: String) -> Bool {
        names.contains { name == $0 || name.hasPrefix($0 + ".") || name.hasPrefix($0 + "~") }
    }

    private static func place(of name: String, in folder: String?, at path: String) -> String? {
        guard let folder else { return "\(path)/\(name)" }
        return PlacePath.isWithin(name, folder) ? path + name.dropFirst(folder.count) : nil
    }
}
