// Which processor each party of a benchmark runs on.
import Foundation

/// Processors apart: what the proxy costs must not be mixed with what the load costs.
struct Cores: Codable {
    var proxy: Int?
    var load: Int?
    var origin: Int?

    /// The first for the proxy, the second for the load, the third, if any, for the origin.
    ///
    /// On a single processor nothing is pinned.
    init(allowed: [Int]) {
        guard allowed.count > 1 else { return }
        proxy = allowed[0]
        load = allowed[1]
        origin = allowed.count > 2 ? allowed[2] : allowed[1]
    }

    /// Processors that this process may use, from `/proc/self/status`.
    static func allowed() -> [Int] {
        let name = "Cpus_allowed_list:"
        let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
        guard let line = status.split(separator: "\n").first(where: { $0.hasPrefix(name) }) else {
            return []
        }
        return list(line.dropFirst(name.count).filter { !$0.isWhitespace })
    }

    /// `0-2,5` as numbers; nil words are left out.
    static func list(_ text: some StringProtocol) -> [Int] {
        text.split(separator: ",").flatMap { word -> [Int] in
            let ends = word.split(separator: "-").compactMap { Int($0) }
            guard let first = ends.first, let last = ends.last, first <= last else { return [] }
            return Array(first...last)
        }
    }
}
