// An upgrade: lupins follow one another on the manager's socket, and no client notices.
import Foundation
import LupinIO
import LupinTestKit
import Synchronization
import Testing

@Suite(.waitsForPrograms)
struct HandoverTests {
    /// What a load of clients has seen.
    private final class Load: Sendable {
        private struct State {
            var answers = 0
            var failures: [String] = []
        }

        private let state = Mutex(State())
        private let isOver = Atomic(false)

        var answers: Int { state.withLock { $0.answers } }
        var failures: [String] { state.withLock { $0.failures } }

        func end() { isOver.store(true, ordering: .relaxed) }

        /// Sends requests until the end, some over each connection.
        func run(_ url: String, through address: SocketAddress, perConnection: Int) {
            while !isOver.load(ordering: .relaxed) {
                do {
                    let client = try ScriptedClient(to: address)
                    for number in 0..<perConnection {
                        // As clients do that find a used connection ended.
                        let found = number == 0 ? try client.get(url) : try? client.get(url)
                        guard let response = found else { break }
                        guard response.bodyText == "answer" else {
                            throw SocketFailure("\(response.status): \(response.bodyText)")
                        }
                        state.withLock { $0.answers += 1 }
                        if response["Connection"] == "close" { break }
                    }
                    client.close()
                } catch {
                    state.withLock { $0.failures.append("\(error)") }
                    return
                }
            }
        }
    }

    @Test func `restarts under load fail no request`() throws {
        let origin = try ScriptedOrigin { connection in
            while true {
                _ = try connection.request()
                try connection.reply(body: "answer")
            }
        }
        let socket = try ParentSocket.listening()
        let address = try #require(socket.address)
        let folder = try Folder()
        let text = "lupin: 1\nworkers: 2\nlisten: [{address: \(address)}]\nlog: {to: off}\n"
        let rules = ["--rules", try folder.write("lupin.yaml", text)]
        let load = Load()
        let url = origin.url()
        let clients = [1, 1, 2, 5, 1000].map { count in
            TestThread { load.run(url, through: address, perConnection: count) }
        }
        for _ in 0..<3 {
            let lupin = try ActivatedLupin(rules, [socket])
            try lupin.state("READY=1")
            let before = load.answers
            try eventually("answers") { load.answers > before + 50 || !load.failures.isEmpty }
            try lupin.stop()
        }
        let last = try ActivatedLupin(rules, [socket])
        let before = load.answers
        try eventually("answers") { load.answers > before + 50 || !load.failures.isEmpty }
        load.end()
        for client in clients { try client.join() }
        try last.stop()
        origin.stop()
        #expect(load.failures.isEmpty)
    }
}
