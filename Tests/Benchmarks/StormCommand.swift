// The command line of `lupin-bench storm`: how many requests, from which seed, over which lupin.
import ArgumentParser
import Foundation
import LupinIO

/// Tries whether lupin keeps its word when much goes wrong at once.
struct StormCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "storm",
        abstract: "Sends requests while origins fail, rules change, and clients leave."
    )

    @Option(help: "How many requests are sent.")
    var requests = 300_000

    @Option(help: "What the requests and their faults follow from, below 2^32 (default: random).")
    var seed: UInt32?

    @Option(help: "The lupin to try (default: the one beside this program).")
    var lupin: String?

    @Flag(help: "Keep the folder with lupin's rules and log.")
    var keep = false

    @Flag(help: "The origin of HTTP/2 says GOAWAY, answers and closes, whatever still comes.")
    var abrupt = false

    func validate() throws {
        guard (1...10_000_000).contains(requests) else {
            throw ValidationError("--requests: 1 to 10000000")
        }
    }

    func run() throws {
        _ = SystemCall.raiseDescriptorLimit()
        let children = Children()
        Interruption.watch(over: children)
        let directory = try BenchCommand.makeDirectory()
        let seed = seed ?? UInt32.random(in: 0...UInt32.max)
        StandardOutput.print("storm of \(requests) requests, seed \(seed)")
        var isKept = keep
        defer {
            if isKept {
                StandardOutput.print("lupin's rules and log are in \(directory.path)")
            } else {
                try? FileManager.default.removeItem(at: directory)
            }
        }
        do {
            let storm = StormRun(
                parties: Parties(program: try BenchCommand.ownPath(), children: children),
                directory: directory,
                certificates: try Certificates.mint(in: directory),
                proxy: try lupin ?? BenchCommand.pathBeside("lupin"),
                seed: UInt64(seed),
                requests: requests,
                isAbrupt: abrupt
            )
            try storm.run()
        } catch {
            if children.isInterrupted { throw ExitCode(130) }
            StandardOutput.print("FAILED: \(error)")
            let flag = abrupt ? " --abrupt" : ""
            StandardOutput.print("again: storm --requests \(requests) --seed \(seed)\(flag)")
            isKept = true
            throw ExitCode.failure
        }
    }
}
