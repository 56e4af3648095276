// Many clients that want the same at once: one request goes to the origin, and all get its answer.
import LupinTestKit
import Synchronization
import Testing

/// How many there have been.
private final class Count: Sendable {
    private let state = Mutex(0)
    var value: Int { state.withLock { $0 } }

    func next() -> Int {
        state.withLock { count in
            count += 1
            return count
        }
    }
}

struct CollapseTests {
    private static let rules = everywhere("cache: standard")
    private static let fresh = "Cache-Control: max-age=600"

    @Test func `twenty clients are one request`() async throws {
        try await ProxyFixture.run(Self.rules) { proxy in
            let crowd = try Crowd(proxy, 19)
            #expect(!crowd.origin.hasWaiting)
            try crowd.connection.reply(200, Self.fresh, body: "one for all")
            for client in crowd.all { #expect(try client.response().bodyText == "one for all") }
            #expect(!crowd.origin.hasWaiting)
            let statuses = try proxy.records(20).compactMap { $0["cache.status"] }
            #expect(statuses.filter { $0 == "lupin; fwd=uri-miss; stored" }.count == 1)
            // A short answer is stored before those who wait for it have had their turn.
            let others = ["lupin; fwd=uri-miss; collapsed", "lupin; hit"]
            #expect(
                statuses.filter { $0.hasPrefix(others[0]) || $0.hasPrefix(others[1]) }.count == 19
            )
        }
    }

    @Test func `those who wait get the body while it comes`() async throws {
        try await ProxyFixture.run(Self.rules) { proxy in
            let crowd = try Crowd(proxy, 3)
            try crowd.begin()
            for client in crowd.all {
                #expect(try client.stream.head()?["Content-Length"] == "10")
                #expect(try client.stream.text(5) == "hello")
            }
            // Who comes now reads along too.
            let late = try proxy.client()
            try late.send("GET", crowd.origin.url())
            _ = try late.stream.head()
            #expect(try late.stream.text(5) == "hello")
            try crowd.connection.send("world")
            for client in crowd.all + [late] { #expect(try client.stream.text(5) == "world") }
            let hit = try crowd.leader.get(crowd.origin.url())
            #expect(hit.isHit)
            #expect(hit.bodyText == "helloworld")
            #expect(!crowd.origin.hasWaiting)
        }
    }

    @Test func `a body of unknown length is waited for`() async throws {
        try await ProxyFixture.run(Self.rules) { proxy in
            let crowd = try Crowd(proxy, 3)
            try crowd.connection.send(
                head("HTTP/1.1 200 OK", Self.fresh, "Transfer-Encoding: chunked") + "5\r\nhello\r\n"
            )
            _ = try crowd.leader.stream.head()
            try proxy.settleWell()
            #expect(crowd.followers.allSatisfy { $0.stream.receivedCount == 0 })
            try crowd.connection.send("0\r\n\r\n")
            for client in crowd.followers {
                let response = try client.response()
                #expect(response.isHit)
                #expect(response.bodyText == "hello")
            }
            #expect(!crowd.origin.hasWaiting)
        }
    }

    @Test func `a leader whose client leaves before the answer goes on for the others`()
        async throws
    {
        try await ProxyFixture.run(Self.rules) { proxy in
            let crowd = try Crowd(proxy, 3)
            crowd.leader.close()
            try proxy.settleWell()
            try crowd.connection.reply(200, Self.fresh, body: "still here")
            for client in crowd.followers {
                #expect(try client.response().bodyText == "still here")
            }
            #expect(!crowd.origin.hasWaiting)
            #expect(try crowd.followers[0].get(crowd.origin.url()).isHit)
        }
    }

    @Test func `a leader whose client leaves within the body goes on for the others`()
        async throws
    {
        try await ProxyFixture.run(Self.rules) { proxy in
            let crowd = try Crowd(proxy, 3)
            try crowd.begin()
            for client in crowd.all {
                _ = try client.stream.head()
                #expect(try client.stream.text(5) == "hello")
            }
            crowd.leader.reset()
            try proxy.settleWell()
            try crowd.connection.send("world")
            for client in crowd.followers { #expect(try client.stream.text(5) == "world") }
            let hit = try crowd.followers[0].get(crowd.origin.url())
            #expect(hit.isHit)
            #expect(hit.bodyText == "helloworld")
            #expect(!crowd.origin.hasWaiting)
            let outcomes = try proxy.records(5).compactMap { $0["outcome"] }
            #expect(outcomes.filter { $0 == "aborted" }.count == 1)
        }
    }

    @Test func `a leader without followers stops when its client leaves`() async throws {
        try await ProxyFixture.run(Self.rules) { proxy in
            let crowd = try Crowd(proxy, 0)
            crowd.leader.close()
            #expect(try crowd.connection.waitForEnd() == .reset)
            #expect(try proxy.record()["outcome"] == "aborted")
        }
    }

    @Test func `when the origin breaks off nobody takes the piece for the whole`() async throws {
        try await ProxyFixture.run(Self.rules) { proxy in
            let crowd = try Crowd(proxy, 3)
            try crowd.begin()
            for client in crowd.all {
                _ = try client.stream.head()
                #expect(try client.stream.text(5) == "hello")
            }
            crowd.connection.close()
            for client in crowd.all {
                #expect(try client.waitForEnd() == .finished)
            }
            let outcomes = try proxy.records(4).compactMap { $0["outcome"] }
            #expect(outcomes == Array(repeating: "truncated", count: 4))
        }
    }

    @Test func `when the origin fails at once the others ask for themselves`() async throws {
        try await ProxyFixture.run(everywhere("cache: standard, retry: none")) { proxy in
            let crowd = try Crowd(proxy, 1)
            crowd.connection.close()
            #expect(try crowd.leader.response().status == 502)
            let second = try crowd.origin.accept()
            try second.request()
            try second.reply(200, Self.fresh, body: "good")
            #expect(try crowd.followers[0].response().bodyText == "good")
        }
    }

    @Test func `those who waited in vain are let go at once, and the next ones don't wait`()
        async throws
    {
        try await ProxyFixture.run(Self.rules) { proxy in
            let go = Bell()
            let asked = Count()
            let origin = try proxy.origin { connection in
                while try connection.nextRequest() != nil {
                    let number = asked.next()
                    if number == 1 { _ = go.wait() }
                    // Nobody is answered before all are here.
                    let all = number == 1 ? 1 : number <= 4 ? 4 : 7
                    try eventually("all requests") { asked.value >= all }
                    try connection.reply(200, "Cache-Control: no-store", body: "\(number)")
                }
            }
            let clients = try (0..<4).map { _ in try proxy.client() }
            for client in clients {
                try client.send("GET", origin.url())
                try proxy.settleWell()
            }
            #expect(asked.value <= 1)
            go.ring()
            for client in clients {
                let response = try client.response()
                #expect(response.caching == "lupin; fwd=uri-miss; detail=no-store")
            }
            for client in clients.prefix(3) { try client.send("GET", origin.url()) }
            for client in clients.prefix(3) { #expect(try client.response().status == 200) }
            #expect(asked.value == 7)
        }
    }

    @Test func `who wants another variant asks for it`() async throws {
        try await ProxyFixture.run(Self.rules) { proxy in
            let (german, french) = ("Accept-Language: de", "Accept-Language: fr")
            let crowd = try Crowd(proxy, 1, leading: [german], [french])
            try crowd.begin("\(Self.fresh)\r\nVary: Accept-Language\r\n")
            let second = try crowd.origin.accept()
            #expect(try second.request()["Accept-Language"] == "fr")
            try second.reply(200, Self.fresh, "Vary: Accept-Language", body: "salut")
            #expect(try crowd.followers[0].response().bodyText == "salut")
            try crowd.connection.send("world")
            #expect(try crowd.leader.response().bodyText == "helloworld")
            let client = try proxy.client()
            #expect(try client.get(crowd.origin.url(), german).bodyText == "helloworld")
            #expect(try client.get(crowd.origin.url(), french).bodyText == "salut")
            #expect(!crowd.origin.hasWaiting)
        }
    }

    @Test(arguments: [
        "ETag: W/\"a\"", "Cache-Control: no-cache\r\nETag: \"a\"", "Expires: 0\r\nETag: \"a\"",
        "Cache-Control: max-age=0, must-revalidate\r\nETag: \"a\"",
        "Cache-Control: max-age=10\r\nAge: 100\r\nETag: \"a\"",
        "Cache-Control: public, no-cache\r\nETag: \"a\"",
    ])
    func `what must be validated for each is given to nobody who waited`(fields: String)
        async throws
    {
        try await ProxyFixture.run(Self.rules) { proxy in
            let crowd = try Crowd(proxy, 2)
            try crowd.begin(fields + "\r\n")
            for _ in crowd.followers {
                let own = try crowd.origin.accept()
                try own.request()
                try own.reply(200, "Cache-Control: no-store", body: "own")
            }
            for client in crowd.followers {
                let response = try client.response()
                #expect(response.bodyText == "own")
                #expect(!response.caching.contains("collapsed"))
            }
            try crowd.connection.send("world")
            #expect(try crowd.leader.response().bodyText == "helloworld")
        }
    }

    @Test func `a leader that reads nothing holds nobody up`() async throws {
        try await ProxyFixture.run(Self.rules) { proxy in
            let count = 2 << 20
            let origin = try proxy.origin { connection in
                while try connection.nextRequest() != nil {
                    try connection.send(
                        "HTTP/1.1 200 OK\r\n\(Self.fresh)\r\nContent-Length: \(count)\r\n\r\n"
                    )
                    try connection.stream.socket.send(pattern: 7, count: count)
                }
            }
            let leader = try proxy.client(receiveBuffer: 4096)
            try leader.send("GET", origin.url())
            try proxy.settleWell()
            let follower = try proxy.client()
            try follower.send("GET", origin.url())
            let response = try follower.response()
            #expect(response.body == BytePattern.bytes(7, count))
            #expect(origin.connections.count == 1)
        }
    }

    @Test func `a policy may have everybody ask for themselves`() async throws {
        try await ProxyFixture.run(everywhere("cache: {collapse: false}")) { proxy in
            let crowd = try Crowd(proxy, 1)
            let second = try crowd.origin.accept()
            try second.request()
            try second.reply(200, Self.fresh, body: "second")
            #expect(try crowd.followers[0].response().bodyText == "second")
            try crowd.connection.reply(200, Self.fresh, body: "first")
            #expect(try crowd.leader.response().bodyText == "first")
        }
    }

    @Test func `nobody waits for the end of what no store may keep`() async throws {
        let rules = everywhere("cache: standard", "cache: {store: {memory: 0}}")
        try await ProxyFixture.run(rules) { proxy in
            let crowd = try Crowd(proxy, 1)
            try crowd.connection.send(
                head("HTTP/1.1 200 OK", Self.fresh, "Transfer-Encoding: chunked") + "5\r\nhello\r\n"
            )
            let second = try crowd.origin.accept()
            try second.request()
            try second.reply(200, Self.fresh, body: "second")
            #expect(try crowd.followers[0].response().bodyText == "second")
            try crowd.connection.send("0\r\n\r\n")
            let response = try crowd.leader.response()
            #expect(response.bodyText == "hello")
            #expect(response.caching == "lupin; fwd=uri-miss; detail=store-failed")
        }
    }

    @Test(.waitsForPrograms)
    func `those who have read along leave nothing in memory`() throws {
        let place = try Folder()
        let rules = """
            lupin: 1
            log: off
            listen: [{address: 127.0.0.1:0}]
            cache: {store: {memory: 0}}
            rules: [{match: {path: /**}, cache: standard}]

            """
        let running = try RunningLupin("--rules", try place.write("lupin.yaml", rules))
        let origin = try PlayedOrigin()
        let body = String(repeating: "x", count: 60_000)
        func story(_ number: Int) throws {
            let url = origin.url("/\(number)")
            let clients = try (0..<12).map { _ in
                try ScriptedClient(to: .loopback(port: running.port))
            }
            try clients[0].send("GET", url)
            let connection = try origin.accept()
            try connection.request()
            try connection.send(
                head("HTTP/1.1 200 OK", Self.fresh, "Content-Length: \(body.utf8.count + 1)") + body
            )
            for client in clients.dropFirst() { try client.send("GET", url) }
            for client in clients { _ = try client.stream.text(1) }
            try connection.send("y")
            for client in clients { _ = try client.stream.text(body.utf8.count) }
            connection.close()
        }
        for number in 0..<20 { try story(number) }
        let before = running.residentBytes
        for number in 20..<50 { try story(number) }
        // 330 exchanges with 16 KiB of their body each would be 5 MiB.
        #expect(running.residentBytes < before + (3 << 20))
    }

    @Test func `a client that waits may leave`() async throws {
        try await ProxyFixture.run(Self.rules) { proxy in
            let crowd = try Crowd(proxy, 2)
            crowd.followers[0].close()
            try proxy.settleWell()
            try crowd.connection.reply(200, Self.fresh, body: "one")
            #expect(try crowd.leader.response().bodyText == "one")
            #expect(try crowd.followers[1].response().bodyText == "one")
            let outcomes = try proxy.records(3).compactMap { $0["outcome"] }
            #expect(outcomes.filter { $0 == "aborted" }.count == 1)
        }
    }
}
