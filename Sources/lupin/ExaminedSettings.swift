// Which settings of git and cargo a confined command does not see, and why.
import LupinConfinement
import LupinIO

/// A file of settings with those that it includes, as far as they are not known to be harmless.
struct ExaminedSettings {
    /// Each file with a sentence for users.
    private(set) var absent: [(path: String, remark: String)] = []
    private let tool: ToolSettings.Tool
    private let home: String
    private var seen: Set<String> = []

    /// Files that are included by included ones are the last that are read.
    private static let depthMax = 2
    private static let bytesMax = 1 << 20

    init(_ path: String, of tool: ToolSettings.Tool, home: String) {
        self.tool = tool
        self.home = home
        examine(path, depth: 0)
    }

    private mutating func examine(_ path: String, depth: Int) {
        guard seen.insert(path).inserted,
            let bytes = WholeFile.content(of: path, bytesMax: Self.bytesMax)
        else { return }
        guard depth <= Self.depthMax, bytes.count < Self.bytesMax else {
            absent.append((path, "\(path) is not examined, so it is absent: --show gives it"))
            return
        }
        let settings = ToolSettings(String(decoding: bytes, as: UTF8.self), of: tool)
        if let doubt = settings.doubt {
            absent.append(
                (
                    path,
                    "\(path) line \(doubt.line) (\(doubt.key)) may hold a credential, so it is "
                        + "absent: --show gives it"
                )
            )
        }
        for include in settings.includes {
            examine(resolved(of: include, in: path), depth: depth + 1)
        }
    }

    private func resolved(of include: String, in path: String) -> String {
        if include.hasPrefix("~/") { return home + include.dropFirst() }
        return include.hasPrefix("/") ? include : "\(CanonicalPath.parent(of: path))/\(include)"
    }
}
