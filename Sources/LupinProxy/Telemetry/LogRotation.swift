// The order in which old log files are renamed, so that a crash in between loses nothing.

/// The renames that make room for a new log: `log` becomes `log.1`, that `log.2`, up to `keep`.
package enum LogRotation {
    package enum Step: Equatable {
        case rename(from: String, to: String)
        case remove(String)
    }

    /// The steps in order.
    ///
    /// The oldest file moves first, and each name is free, or the oldest of all, when a file is
    /// renamed to it. So after any step every line is still in some file, and the next rotation
    /// fills a gap that a crash leaves.
    package static func steps(
        path: String,
        keep: Int,
        exists: (String) -> Bool
    ) -> [Step] {
        guard exists(path) else { return [] }
        guard keep > 0 else { return [.remove(path)] }
        var last = 1
        while last < keep, exists("\(path).\(last)") { last += 1 }
        var steps: [Step] = []
        while last > 1 {
            steps.append(.rename(from: "\(path).\(last - 1)", to: "\(path).\(last)"))
            last -= 1
        }
        return steps + [.rename(from: path, to: "\(path).1")]
    }
}
