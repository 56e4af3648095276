// Opens the folders that lupin serves from and logs to before a confined command could change the
// way there.
import LupinCore
import LupinIO
import LupinPolicy

/// The folders that a proxy beside a confined command uses, for as long as the command runs.
struct HeldFolders {
    private var folders: [HeldFolder] = []

    /// Has the proxy of `configuration` reach them by descriptor: a link that the command puts in
    /// their place leads nowhere, and one in the place of a file not out of its folder.
    ///
    /// What does not exist yet stays away: only the command could make it.
    mutating func hold(_ configuration: inout Configuration) {
        if case .file(let path) = configuration.settings.log.to {
            configuration.settings.log.to = .file(held(file: path) ?? path)
        }
        let rules = configuration.rules.rules.map { rule in
            var rule = rule
            rule.respond?.followsLinks = false
            switch rule.respond?.content {
            case .file(let path): rule.respond?.content = .file(held(file: path) ?? Self.nowhere)
            case .folder(let path): rule.respond?.content = .folder(held(path) ?? Self.nowhere)
            case .text, .none?, nil: break
            }
            return rule
        }
        if rules.contains(where: { $0.respond?.readsFile ?? false }) {
            configuration.rules = RuleSet(rules)
        }
    }

    /// No process has a descriptor with this number.
    private static let nowhere = "/proc/self/fd/absent/file"

    private mutating func held(_ folder: String) -> String? {
        guard let held = try? HeldFolder(folder) else { return nil }
        folders.append(held)
        return held.path
    }

    /// A link at the end is followed now.
    private mutating func held(file path: String) -> String? {
        let path = PublicFile.target(of: path) ?? path
        guard let slash = path.lastIndex(of: "/") else { return held(".").map { "\($0)/\(path)" } }
        let folder = slash == path.startIndex ? "/" : String(path[..<slash])
        return held(folder).map { "\($0)/\(path[path.index(after: slash)...])" }
    }
}
