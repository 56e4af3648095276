// Sockets by which programs outside do what a confined command asks of them.
import LupinCore
import LupinIO

/// Unix sockets that would let a command out: a connection to one needs no network.
///
/// A session's bus starts programs, a terminal's server types into others, a container's service
/// mounts the disk, and a name service asks the network.
enum ConfinedDoors {
    /// The sockets with a path that there are, without links.
    static func all(_ environment: [String: String]) -> [String] {
        let bound = PathSockets.bound()
        var paths = bound.filter { $0.hasPrefix("/") } + environment.values.flatMap(paths)
        let relative = bound.filter { !$0.hasPrefix("/") }
        if !relative.isEmpty {
            paths += PathSockets.folders().flatMap { folder in relative.map { "\(folder)/\($0)" } }
        }
        return Set(paths.compactMap(PublicFile.target)).filter(PathSockets.isOne).sorted()
    }

    /// The paths in a variable, in any spelling: `/a`, `unix:///a`, `unix:guid=x,path=/a;unix:…`,
    /// `/a:1:1`.
    static func paths(in value: String) -> [String] {
        let ends: Set<Character> = [",", ";", ":", " ", "=", "\"", "'", "\n", "\t"]
        let pieces = value.split { ends.contains($0) }.filter { $0.hasPrefix("/") }
        return (value.hasPrefix("/") ? [value] : []) + pieces.map(String.init)
    }
}
