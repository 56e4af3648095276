// The load of a storm, in a process of its own.
import ArgumentParser
import Foundation
import LupinIO

/// Hidden: what `lupin-bench storm` starts as its load.
struct StormLoadCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: Self.name,
        shouldDisplay: false
    )
    static let name = "storm-load"

    @Argument(help: "A storm's plan as JSON.")
    var plan: String

    func run() throws {
        let plan = try JSONDecoder().decode(StormPlan.self, from: Data(plan.utf8))
        let http1 = try Self.tls(plan, protocols: [])
        let http2 = try Self.tls(plan, protocols: [Origin.http2])
        try LoadCommand.serve { loop, leash in
            let storm = StormGenerator(plan, on: loop, (http1, http2))
            leash(storm.control)
            return await storm.run()
        }
    }

    private static func tls(_ plan: StormPlan, protocols: [String]) throws -> ClientTLS {
        try ClientTLS(
            name: Certificates.originName,
            protocols: protocols,
            rootFile: plan.rootFile
        )
    }
}
