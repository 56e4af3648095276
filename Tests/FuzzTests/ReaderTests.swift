// Every reader is given what is kept for it and some mutated inputs, and keeps its promises.
import LupinFuzz
import Testing

struct ReaderTests {
    @Test(arguments: FuzzTarget.all.map(\.name))
    func `a reader keeps its promises for inputs that are kept and for mutated ones`(
        name: String
    ) throws {
        let target = try #require(FuzzTarget.all.first { $0.name == name })
        var run = FuzzRun(target, kept: try KeptInputs.inputs(of: target), seed: 1)
        var findings = run.readKept()
        for _ in 0..<target.roundsInTests {
            if let finding = run.read(run.next()) { findings.append(finding) }
        }
        for finding in findings { Issue.record("\(finding)") }
    }

    @Test func `every file of kept inputs belongs to a target`() {
        let names = FuzzTarget.all.map(\.name)
        #expect(Set(KeptInputs.names).isSubset(of: names))
        #expect(Set(names).count == names.count)
    }

    @Test func `a broken promise is found with its input`() {
        let target = FuzzTarget("sample", seeds: ["a"]) { input in
            if input.contains(0x39) { throw Broken("no nines") }
            return "\(input.count)"
        }
        var run = FuzzRun(target, kept: [[0x39]], seed: 1)
        #expect(run.readKept().map(\.description) == ["sample: no nines for \"9\""])
        var found = false
        for _ in 0..<1000 where run.read(run.next()) != nil { found = true }
        #expect(found)
        #expect(run.outcomes["1"] ?? 0 > 1)
    }

    @Test func `a seed decides every mutation`() {
        let target = FuzzTarget("sample", seeds: ["a=1", "b"]) { _ in "" }
        var (one, two) = (FuzzRun(target, kept: [], seed: 5), FuzzRun(target, kept: [], seed: 5))
        for _ in 0..<100 { #expect(one.next() == two.next()) }
    }

    @Test(
        arguments: [
            (Array("a\\b".utf8), "a\\\\b"), ([0x0D, 0x0A, 0x09], "\\r\\n\\t"),
            ([0x00, 0x7F, 0xFF], "\\x00\\x7f\\xff"), ([], ""),
        ] as [([UInt8], String)]
    )
    func `an input is kept in one line of ASCII`(input: [UInt8], text: String) {
        #expect(escapedInput(input) == text)
        #expect(unescapedInput(text) == input)
    }

    @Test(arguments: ["\\", "\\q", "\\x1", "\\xgg"])
    func `a line that is no escaped input is told`(text: String) {
        #expect(unescapedInput(text) == nil)
    }
}
