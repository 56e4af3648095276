// What is left of a proxy that has stopped: nothing, since a program may start many.
import LupinTestKit
import Synchronization
import Testing

/// Of its loops every scenario expects that they end; see `LoopWatch`.
struct StoppedProxyTests {
    @Test(arguments: [false, true])
    func `files of a stopped proxy are closed`(isCut: Bool) async throws {
        let noted = Mutex("")
        try await ProxyFixture.run("timeouts: {drain: 100ms}") { proxy in
            noted.withLock { $0 = proxy.directory }
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
        let directory = noted.withLock { $0 }
        try await ScriptThread.run {
            // The last reference may be that of a thread which is about to end.
            try eventually("the end of the files") { openFiles(below: directory).isEmpty }
        }
    }
}
