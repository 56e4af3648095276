// The command line of measurements: what is measured, how often, against whom.
import ArgumentParser
import Foundation
import LupinIO

/// Measures lupin and other forward proxies on this machine.
struct MeasureCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "measure",
        abstract: "Measures what lupin costs; meant where no command is named."
    )

    enum Records: String, ExpressibleByArgument, CaseIterable {
        case file, off
    }

    @Option(
        name: .customLong("scenario"),
        help: "Jobs, with commas between them; all of them by default.",
        transform: Self.list
    )
    var scenarios: [Scenario] = Scenario.allCases

    @Option(help: "How often everything is measured; medians are shown.")
    var runs = 3

    @Option(help: "Length of a measured window, in seconds.")
    var seconds = 3.0

    @Option(help: "Measure so many responses, without a warm-up, instead of some seconds.")
    var requests: Int?

    @Option(help: "The lupin to measure, or \"none\" (default: the one beside this program).")
    var proxy: String?

    @Option(
        help: "Peers to measure in the same run, with commas between them.",
        transform: Self.list
    )
    var against: [Peer] = []

    @Flag(help: "Print every run as JSON instead of tables.")
    var json = false

    @Option(help: "Whether lupin writes its exchange records to a file.")
    var records = Records.file

    @Option(help: "Processors, as in 0,1: for the proxy, for the load, and perhaps for the origin.")
    var cores: String?

    func validate() throws {
        guard (1...100).contains(runs) else { throw ValidationError("--runs: 1 to 100") }
        guard (0.1...60).contains(seconds) else { throw ValidationError("--seconds: 0.1 to 60") }
        if let requests, requests < 1 { throw ValidationError("--requests: at least 1") }
        if let cores, Cores.list(cores).count < 2 {
            throw ValidationError("--cores: at least two processors, such as 0,1")
        }
    }

    func run() throws {
        _ = SystemCall.raiseDescriptorLimit()
        let children = Children()
        Interruption.watch(over: children)
        for tool in ChildProcess.tools { _ = try Program.path(of: tool) }
        let contenders = try contenders()
        let directory = try BenchCommand.makeDirectory()
        defer { try? FileManager.default.removeItem(at: directory) }
        let allowed = cores.map(Cores.list) ?? Cores.allowed()
        let bench = Bench(
            cores: Cores(allowed: allowed),
            seconds: seconds,
            requests: requests,
            directory: directory,
            certificates: try Certificates.mint(in: directory),
            parties: Parties(program: try BenchCommand.ownPath(), children: children)
        )
        if bench.cores.proxy == nil {
            StandardError.print("One processor for everything: figures will be of little use.")
        }
        var report = Report(cores: bench.cores, seconds: seconds)
        do {
            try measure(contenders, with: bench, into: &report)
        } catch {
            guard children.isInterrupted else { throw error }
            try? FileManager.default.removeItem(at: directory)
            throw ExitCode(130)
        }
        StandardOutput.print(json ? try report.json() : report.text())
        let isComplete = report.measurements.allSatisfy { $0.failure == nil }
        if !isComplete { throw ExitCode.failure }
    }

    /// Runs outside, proxies inside: what disturbs the machine for a while disturbs all of them.
    private func measure(
        _ contenders: [Contender],
        with bench: Bench,
        into report: inout Report
    ) throws {
        for run in 1...runs {
            for scenario in scenarios {
                for contender in contenders {
                    if let obstacle = contender.obstacle(to: scenario) {
                        if run == 1 {
                            StandardError.print(
                                "\(scenario.rawValue) \(contender.name): \(obstacle)"
                            )
                        }
                        continue
                    }
                    let cell = try bench.measure(contender, scenario, run: run)
                    report.measurements.append(cell)
                    StandardError.print("[\(run)/\(runs)] \(Report.line(cell))")
                }
            }
        }
    }

    private func contenders() throws -> [Contender] {
        var all: [Contender] = []
        if proxy != "none" {
            let path = try proxy ?? BenchCommand.pathBeside("lupin")
            all.append(try .lupin(at: path, keepsRecords: records == .file))
        }
        all += try against.map { try Contender.peer($0) }
        guard !all.isEmpty else { throw ValidationError("--proxy none needs --against") }
        return all
    }

    /// Names with commas between them.
    private static func list<Name: ExpressibleByArgument & CaseIterable>(
        _ text: String
    ) throws -> [Name] {
        try text.split(separator: ",").map { word in
            guard let name = Name(argument: String(word)) else {
                let known = Name.allValueStrings.joined(separator: ", ")
                throw ValidationError("\"\(word)\" is none of \(known)")
            }
            return name
        }
    }
}
