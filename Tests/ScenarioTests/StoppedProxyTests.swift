// What is left of a proxy that has stopped: nothing, since a program may start many.
import Foundation
import LupinIO
import LupinProxy
import LupinTestKit
import Synchronization
import Testing

struct StoppedProxyTests {
    @Test(arguments: [false, true])
    func `threads, memory and files of a stopped proxy are let go`(isCut: Bool) async throws {
        let left = Left()
        try await ProxyFixture.run("timeouts: {drain: 100ms}") { proxy in
            left.note(proxy)
            let client = try proxy.client()
            let origin = try proxy.origin(answering: "HTTP/1.1 204 No Content\r\n\r\n")
            try client.send("GET", origin.url())
            #expect(try client.response().status == 204)
            guard isCut else { return }
            let silent = try PlayedOrigin()
            try client.send("GET", silent.url())
            _ = try silent.accept().request()
            await proxy.beginStopping().value
        }
        try await ScriptThread.run {
            // The last reference may be that of a thread which is about to end.
            try eventually("the end of the loops") { left.executors == 0 }
            try eventually("the end of the files") { left.files.isEmpty }
        }
    }
}

/// What a proxy had, as far as it is still there.
private final class Left: Sendable {
    private struct Executor {
        weak var executor: LoopExecutor?
    }

    private let noted = Mutex<(executors: [Executor], directory: String)>(([], ""))

    func note(_ fixture: ProxyFixture) {
        noted.withLock { noted in
            noted = (fixture.proxy.executors.map { Executor(executor: $0) }, fixture.directory)
        }
    }

    /// Their loops, and what belongs to these, live as long as they do.
    var executors: Int { noted.withLock { $0.executors.count { $0.executor != nil } } }

    /// The open files in the proxy's folder.
    var files: [String] {
        let directory = noted.withLock { $0.directory }
        let own = "/proc/self/fd"
        let manager = FileManager.default
        let numbers = (try? manager.contentsOfDirectory(atPath: own)) ?? []
        return numbers.compactMap { try? manager.destinationOfSymbolicLink(atPath: "\(own)/\($0)") }
            .filter { $0.hasPrefix(directory) }
    }
}
