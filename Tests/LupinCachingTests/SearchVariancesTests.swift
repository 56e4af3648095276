// Which variances of a path are remembered, and for how long.

import LupinCaching
import Testing

struct SearchVariancesTests {
    private func variances(_ names: String...) throws -> [NoVarySearch] {
        try names.map { try #require(NoVarySearch("params=(\"\($0)\")")) }
    }

    /// What is remembered of a path, by the names that are ignored, and whether that is all.
    private func known(_ memory: SearchVariances, _ path: String) -> (names: [String], Bool) {
        var memory = memory
        let found = memory.variances(of: path)
        return (found.map { String($0.text.dropFirst(9).dropLast(2)) }, memory.isWhole(path))
    }

    @Test func `the latest comes first, and each once`() throws {
        var memory = SearchVariances()
        for variance in try variances("a", "b", "a", "c") { memory.note(variance, of: "p") }
        #expect(known(memory, "p") == (["c", "a", "b"], false))
        #expect(known(memory, "q") == ([], false))
    }

    @Test func `beyond a few the oldest is forgotten`() throws {
        var memory = SearchVariances()
        for variance in try variances("a", "b", "c", "d", "e") { memory.note(variance, of: "p") }
        #expect(known(memory, "p").names == ["e", "d", "c", "b"])
        #expect(SearchVariances.perPathMax == 4)
    }

    @Test func `what a disk has is older than what was noted`() throws {
        var memory = SearchVariances()
        memory.note(try variances("c")[0], of: "p")
        memory.learn(try variances("a", "c", "b", "d", "e"), of: "p")
        #expect(known(memory, "p") == (["c", "a", "b", "d"], true))
        memory.note(try variances("f")[0], of: "p")
        #expect(known(memory, "p") == (["f", "c", "a", "b"], true))
        memory.learn([], of: "q")
        #expect(known(memory, "q") == ([], true))
        memory.doubt()
        #expect(known(memory, "p") == (["f", "c", "a", "b"], false))
        #expect(known(memory, "q") == ([], false))
    }

    @Test func `paths in use stay, and others are forgotten`() throws {
        var memory = SearchVariances()
        let variance = try variances("a")[0]
        memory.learn([variance], of: "kept")
        memory.learn([variance], of: "left")
        let count = 3 * SearchVariances.pathsMax
        for i in 0..<count {
            memory.note(variance, of: "\(i)")
            if i.isMultiple(of: 1000) { _ = memory.variances(of: "kept") }
        }
        #expect(known(memory, "kept") == (["a"], true))
        #expect(known(memory, "left") == ([], false))
        #expect(known(memory, "0") == ([], false))
        for i in [count - SearchVariances.pathsMax + 1, count - 1] {
            #expect(known(memory, "\(i)") == (["a"], false))
        }
    }
}
