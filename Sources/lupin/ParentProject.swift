// Which project around its working folder a confined command reads, and can't write to.
import LupinConfinement
import LupinCore
import LupinIO

/// A project that tools look for in the folders above the one where they run.
enum ParentProject {
    private struct Manifest {
        let name: String
        let tool: String
        /// What only that of a whole project has; nil where each is one.
        let mark: String?
        /// Whether that above is meant, too, where the working folder has none.
        var isInherited = false
    }

    private static let manifests = [
        Manifest(name: "package.json", tool: "npm", mark: "\"workspaces\"", isInherited: true),
        Manifest(name: "pnpm-workspace.yaml", tool: "pnpm", mark: nil),
        Manifest(name: "Cargo.toml", tool: "cargo", mark: "[workspace", isInherited: true),
        Manifest(name: "go.work", tool: "go", mark: nil),
    ]

    /// What the user may wonder about: such tools write into the folder of the whole project.
    ///
    /// A file in the home itself, or above it, is none of a project.
    static func remarks(in plan: ConfinedPlan) -> [String] {
        let folder = ProcessOwner.directory
        guard plan.isWritable(folder) else { return [] }
        let above = CanonicalPath.upwards(from: folder).dropFirst().prefix { path in
            path != "/" && !plan.homes.contains(path)
        }
        return manifests.compactMap { manifest in
            guard let (root, isWhole) = find(manifest, from: folder, above: Array(above)),
                !plan.isWritable(root)
            else { return nil }
            var shown = root
            if let home = plan.homes.first, CanonicalPath.isWithin(root, home) {
                shown = "~\(root.dropFirst(home.count))"
            }
            let note = manifest.mark != nil && isWhole ? " (workspaces)" : ""
            return
                "\(manifest.tool) reads \(shown)/\(manifest.name)\(note) and can't write "
                + "to it: --write \(shown)"
        }
    }

    private static func find(
        _ manifest: Manifest,
        from folder: String,
        above: [String]
    ) -> (root: String, isWhole: Bool)? {
        func path(_ folder: String) -> String { "\(folder)/\(manifest.name)" }
        let there = above.filter { PublicFile.exists(path($0)) }
        let whole = there.first { root in
            guard let mark = manifest.mark else { return true }
            let bytes = WholeFile.content(of: path(root), bytesMax: 1 << 20) ?? []
            return String(decoding: bytes, as: UTF8.self).contains(mark)
        }
        if let whole { return (whole, true) }
        guard manifest.isInherited, !PublicFile.exists(path(folder)) else { return nil }
        return there.first.map { ($0, false) }
    }
}
