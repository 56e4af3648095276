// That rotating the log loses nothing but the oldest file, wherever it is interrupted.

import LupinProxy
import Testing

struct LogRotationTests {
    @Test(arguments: [
        ([], 3, []), (["log"], 3, ["log>log.1"]),
        (["log", "log.1"], 3, ["log.1>log.2", "log>log.1"]),
        (["log", "log.1", "log.2", "log.3"], 3, ["log.2>log.3", "log.1>log.2", "log>log.1"]),
        (["log", "log.2", "log.3"], 3, ["log>log.1"]),
        (["log", "log.1", "log.3"], 3, ["log.1>log.2", "log>log.1"]),
        (["log.1"], 3, []), (["log", "log.1"], 1, ["log>log.1"]), (["log", "log.1"], 0, ["-log"]),
    ])
    func `the oldest file moves first`(files: [String], keep: Int, steps: [String]) {
        #expect(
            LogRotation.steps(path: "log", keep: keep, exists: files.contains).map(text) == steps
        )
    }

    @Test(arguments: 1...4, 0...8)
    func `killed at any step, a later rotation finds all lines in order`(keep: Int, kill: Int) {
        // Files by name; the content is the number of the rotation that wrote it.
        var files: [String: Int] = [:]
        var lost: [Int] = []
        for generation in 0..<12 {
            files["log"] = files["log"] ?? generation
            let steps = LogRotation.steps(path: "log", keep: keep) { files[$0] != nil }
            // The fifth rotation is cut off after `kill` steps.
            let done = generation == 5 ? Array(steps.prefix(kill)) : steps
            for case .rename(let from, let to) in done {
                if let overwritten = files[to] { lost.append(overwritten) }
                files[to] = files.removeValue(forKey: from)
            }
            let kept = (0...keep).reversed().compactMap { files[$0 == 0 ? "log" : "log.\($0)"] }
            #expect(kept == kept.sorted(), "older lines are in files of higher number")
            #expect(lost == lost.sorted() && (lost.last ?? -1) < (kept.first ?? .max))
            #expect(Set(lost + kept).count == lost.count + kept.count)
        }
    }

    private func text(_ step: LogRotation.Step) -> String {
        switch step {
        case .rename(let from, let to): "\(from)>\(to)"
        case .remove(let path): "-\(path)"
        }
    }
}
