// The load: a closed loop of connections and what they saw, in a process of its own.
import ArgumentParser
import Foundation
import LupinCore
import LupinIO

/// Hidden: what `lupin-bench` starts as its load generator.
struct LoadCommand: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "load", shouldDisplay: false)

    @Argument(help: "A load plan as JSON.")
    var plan: String

    func run() throws {
        SystemCall.ignoreBrokenPipes()
        _ = SystemCall.raiseDescriptorLimit()
        let plan = try JSONDecoder().decode(LoadPlan.self, from: Data(plan.utf8))
        let tls =
            plan.isSecure
            ? try ClientTLS(
                name: Certificates.originName,
                protocols: plan.streams > 0 ? [Origin.http2] : [],
                rootFile: plan.rootFile
            ) : nil
        let executor = LoopExecutor()
        let loop = try EventLoop(executor: executor)
        Task(executorPreference: executor) {
            let generator = LoadGenerator(plan, on: executor.loop, tls)
            let control = LoopLocal(generator.control, of: executor)
            StandardInput.whenItEnds {
                executor.mailbox.post { control.value.wake(.cut) }
            }
            let result = await generator.run()
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
