// The load: a closed loop of connections and what they saw, in a process of its own.
import ArgumentParser
import Foundation
import LupinIO

/// Hidden: what `lupin-bench` starts as its load generator.
struct LoadCommand: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "load", shouldDisplay: false)

    @Argument(help: "A load plan as JSON.")
    var plan: String

    func run() throws {
        let plan = try JSONDecoder().decode(LoadPlan.self, from: Data(plan.utf8))
        let tls =
            plan.isSecure
            ? try ClientTLS(
                name: Certificates.originName,
                protocols: plan.streams > 0 ? [Origin.http2] : [],
                rootFile: plan.rootFile
            ) : nil
        try Self.serve { loop, leash in
            let generator = LoadGenerator(plan, on: loop, tls)
            leash(generator.control)
            return await generator.run()
        }
    }

    /// Runs a load on a loop of its own, prints its result if there is one, and ends the process.
    ///
    /// `leash` wakes the slot that it is given at the end of standard input, by `.cut`.
    static func serve<Result: Encodable & Sendable>(
        _ load: @escaping @Sendable (EventLoop, (ParkingSlot) -> Void) async -> Result?
    ) throws {
        SystemCall.ignoreBrokenPipes()
        _ = SystemCall.raiseDescriptorLimit()
        let executor = LoopExecutor()
        let loop = try EventLoop(executor: executor)
        Task(executorPreference: executor) {
            let result = await load(executor.loop) { slot in
                let control = LoopLocal(slot, of: executor)
                StandardInput.whenItEnds {
                    executor.mailbox.post { control.value.wake(.cut) }
                }
            }
            if let result, let json = try? JSONEncoder().encode(result) {
                StandardOutput.print(LoadLine.result + String(decoding: json, as: UTF8.self))
            }
            executor.loop.stop()
        }
        loop.run()
        // Connections end with the process: closing them one by one would be for nothing.
        Self.exit()
    }
}
