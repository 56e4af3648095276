// Programs that a confined command can't run, since they are there outside alone.
import LupinConfinement
import LupinCore
import LupinIO

/// What a plan keeps from a command of the programs in PATH, or elsewhere.
struct AbsentPrograms {
    private let plan: ConfinedPlan
    /// The user's home as variables name it, and as it is.
    private let homes: [String]
    /// The folders of PATH.
    private let search: [String]

    init(_ plan: ConfinedPlan) {
        self.plan = plan
        homes = [ProcessOwner.home(plan.environment), plan.homes.first].compactMap(\.self)
        search = (plan.environment["PATH"] ?? "").split(separator: ":").map(String.init)
            .filter { $0.hasPrefix("/") }
    }

    /// Why a program can't be run.
    /// - Returns: A sentence for users; nil where it is visible, or is not there outside either.
    func refusal(of program: String) -> String? {
        let name = CanonicalPath.name(of: program)
        switch find(program) {
        case .nowhere: return nil
        case .absent(let path): return "\(name) lies in \(sentence(about: path))"
        case .visible(let path):
            guard let interpreter = Self.interpreter(of: path),
                case .absent(let location) = find(interpreter)
            else { return nil }
            let other = CanonicalPath.name(of: interpreter)
            return "\(name) is run by \(other), which lies in \(sentence(about: location))"
        }
    }

    /// The folders of PATH that are absent, for whose script found a program missing.
    var remark: String? {
        let folders = search.filter { FileStatus(path: $0) != nil && !absent($0).isEmpty }
        guard !folders.isEmpty else { return nil }
        let gifts = folders.flatMap { folder in absent(folder).map { gift(for: "\($0)/program") } }
        return "absent inside, of PATH: \(folders.map(short).joined(separator: ", ")); "
            + "\(Self.options(gifts)) gives it"
    }

    private enum Location {
        case nowhere
        case visible(String), absent(String)
    }

    private func find(_ program: String) -> Location {
        let paths = program.contains("/") ? [program] : search.map { "\($0)/\(program)" }
        let there = paths.filter {
            FileStatus(path: $0)?.isRegular == true && FileStatus.isExecutable($0)
        }
        if let visible = there.first(where: { absent($0).isEmpty }) { return .visible(visible) }
        return there.first.map(Location.absent) ?? .nowhere
    }

    /// What is absent of a path: what it leads to, and links on the way.
    private func absent(_ path: String) -> [String] {
        let trail = PathTrail(path, from: ProcessOwner.directory)
        return (trail.links.map(\.path) + [trail.target]).filter(plan.view.isAbsent)
    }

    /// What follows "lies in".
    private func sentence(about path: String) -> String {
        let absent = absent(path)
        // A link may lead there.
        let folder = CanonicalPath.parent(of: absent.first ?? path)
        let location = "\(short(folder)), which is absent inside"
        let isKept = absent.contains { path in
            let reason = CanonicalPath.upwards(from: path).lazy.compactMap { plan.reasons[$0] }
                .first
            return reason == .lupin || reason == .hidden
        }
        return isKept ? location : "\(location): \(Self.options(absent.map(gift))) gives it"
    }

    private func gift(for path: String) -> String {
        let home = homes.first { CanonicalPath.isWithin(path, $0) }
        return short(HomeTable.gift(for: path, in: home))
    }

    private func short(_ path: String) -> String {
        guard let home = homes.first(where: { CanonicalPath.isWithin(path, $0) }) else {
            return path
        }
        return "~\(path.dropFirst(home.count))"
    }

    private static func options(_ gifts: [String]) -> String {
        let all = gifts.reduce(into: [String]()) { if !$0.contains($1) { $0.append($1) } }
        return all.map { "--show \($0)" }.joined(separator: " ")
    }

    /// The program that runs a script: what its first line names, or has `env` find.
    private static func interpreter(of path: String) -> String? {
        guard let bytes = WholeFile.content(of: path, bytesMax: 256),
            bytes.starts(with: [0x23, 0x21])
        else { return nil }
        let line = String(decoding: bytes.dropFirst(2).prefix { $0 != 0x0A }, as: UTF8.self)
        let words = line.split { $0 == " " || $0 == "\t" || $0 == "\r" }
        guard let first = words.first, CanonicalPath.name(of: String(first)) == "env" else {
            return words.first.map(String.init)
        }
        return words.dropFirst().first { !$0.hasPrefix("-") && !$0.contains("=") }.map(String.init)
    }
}
