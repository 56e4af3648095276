// Whichever part of `lupin exec --confine` is killed, the command and all that it started end.
import Foundation
import LupinTestKit
import Testing

@Suite(
    .waitsForPrograms,
    .enabled(if: ConfinedFixture.isPossible, "this machine gives users no namespaces"),
    .timeLimit(.minutes(20))
)
struct ConfinedEndTests {
    /// What is killed: lupin, the process outside that stands for the command, or the first inside.
    enum Part: Int, CaseIterable, Sendable { case lupin, outer, first }

    /// The children of a process.
    private static func children(of process: Int32) -> [Int32] {
        let path = "/proc/\(process)/task/\(process)/children"
        let text = (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
        return text.split(separator: " ").compactMap { Int32($0) }
    }

    @Test(arguments: Part.allCases, [[], ["--no-redirect"]])
    func `nothing inside survives`(part: Part, options: [String]) throws {
        let folder = try Folder()
        let rules = try folder.write("lupin.yaml", "lupin: 1\nintercept: {mode: none}\n")
        // Stands in sessions of their own ignore the end of others.
        let script = """
            (trap '' HUP TERM; setsid sleep 1000) & trap '' HUP TERM; echo ready; sleep 1000; :
            """
        let process = Lupin.process(
            Lupin.path,
            ["exec", "--confine", "--rules", rules, "--log", "\(folder.path)/log"] + options
                + ["--", "sh", "-c", script],
            in: nil
        )
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        try #require(output.fileHandleForReading.read(upToCount: 6) == Data("ready\n".utf8))
        var victim = process.processIdentifier
        for _ in 0..<part.rawValue { victim = try #require(Self.children(of: victim).first) }
        kill(victim, SIGKILL)
        // Every process inside has the pipe: its end is theirs.
        #expect(output.fileHandleForReading.readDataToEndOfFile().isEmpty)
        process.waitUntilExit()
        if part != .lupin { #expect(process.terminationStatus == 128 + SIGKILL) }
    }
}
