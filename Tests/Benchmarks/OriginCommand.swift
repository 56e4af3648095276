// How the origin lives in a process of its own, and when it ends.
import ArgumentParser
import Foundation
import LupinIO
import LupinTLS

/// Hidden: what `lupin-bench` starts as its origin.
struct OriginCommand: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "origin", shouldDisplay: false)

    @Argument(help: "PEM of its certificate and key.")
    var identity: String

    @Flag(help: "Speaks HTTP/2 with clients that speak TLS, and nothing else.")
    var http2 = false

    @Option(help: "What a storm's pauses and cuts follow from.")
    var seed: UInt64 = 0

    @Flag(help: "Closes connections of HTTP/2 that it leaves without waiting for the peer.")
    var abrupt = false

    func run() throws {
        SystemCall.ignoreBrokenPipes()
        _ = SystemCall.raiseDescriptorLimit()
        let text = [UInt8](try Data(contentsOf: URL(fileURLWithPath: identity)))
        let identity = try TLSIdentity(certificates: text, key: text)
        let executor = LoopExecutor()
        let loop = try EventLoop(executor: executor)
        StandardInput.whenItEnds { executor.mailbox.post { executor.loop.stop() } }
        let (seed, isAbrupt) = (seed, abrupt)
        Task(executorPreference: executor) {
            do {
                let protocols = http2 ? [Origin.http2] : []
                let storm = StormOrigin(seed: seed, isAbrupt: isAbrupt)
                try await Origin(on: executor.loop, identity, protocols, storm).run()
            } catch {
                StandardOutput.print("origin: \(error)")
                executor.loop.stop()
            }
        }
        loop.run()
        // Connections end with the process: closing them one by one would be for nothing.
        Self.exit()
    }
}
