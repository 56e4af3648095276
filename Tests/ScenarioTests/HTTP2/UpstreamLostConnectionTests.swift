// An HTTP/2 connection that the origin closes with requests on it: which of them are sent again.
import LupinIO
import LupinProxy
import LupinTestKit
import Testing

struct UpstreamLostConnectionTests {
    @Test func `a GET on a connection that has served before is sent again`() async throws {
        try await UpstreamStory.run { story in
            let client = try story.client()
            let old = try story.served(by: client)
            try client.send("GET", story.url("/two"))
            #expect(try old.request().path == "/two")
            old.frames.shutdownWrite()
            let new = try story.accept()
            let again = try new.request()
            #expect(again.path == "/two")
            try new.reply(to: again.stream, body: "two")
            #expect(try client.response().bodyText == "two")
            let record = try story.proxy.records(2)[1]
            #expect(record["attempts.0.reason"] == "stale-connection")
            #expect(record["attempts.0.reused"] == "1")
            #expect(record["attempts.1.reused"] == nil)
        }
    }

    @Test(arguments: ["POST", "PATCH"])
    func `a request that may have been processed is not sent again`(method: String) async throws {
        try await UpstreamStory.run { story in
            let client = try story.client()
            let old = try story.served(by: client)
            try client.send(method, story.url("/order"), body: "one lamp")
            #expect(try old.request().bodyText == "one lamp")
            old.frames.shutdownWrite()
            let response = try client.response(to: method)
            #expect(response.status == 502)
            #expect(response["Proxy-Status"]?.contains("connection_terminated") == true)
            #expect(!story.origin.hasWaiting)
            let record = try story.proxy.records(2)[1]
            #expect(record["attempts.0.reason"] == "\(method) may have been processed")
        }
    }

    @Test(arguments: ["GET", "POST"])
    func `a request on a new connection is not sent again`(method: String) async throws {
        try await UpstreamStory.run { story in
            let client = try story.client()
            let (old, _) = try story.asked(method, by: client)
            old.frames.shutdownWrite()
            #expect(try client.response(to: method).status == 502)
            #expect(!story.origin.hasWaiting)
            #expect(try story.proxy.record().count("attempts") == 1)
        }
    }

    @Test(arguments: ["GET", "POST"])
    func `a connection that was closed already is not used`(method: String) async throws {
        try await UpstreamStory.run { story in
            let client = try story.client()
            let old = try story.served(by: client)
            // The worker sees the request first and the end of the connection behind it.
            try story.proxy.whileWorkersStand {
                try client.send(method, story.url("/two"), body: method == "POST" ? "2" : nil)
                old.frames.shutdownWrite()
                try story.waitForEndOfConnection()
            }
            let new = try story.accept()
            #expect(try new.request().path == "/two")
            try new.reply(to: 1, body: "two")
            #expect(try client.response(to: method).bodyText == "two")
        }
    }

    @Test func `a response that was under way is cut and not asked for again`() async throws {
        try await UpstreamStory.run { story in
            let client = try story.client()
            let old = try story.served(by: client)
            try client.send("GET", story.url("/two"))
            let request = try old.request()
            try old.sendHead(request.stream, 200, ["content-length": "10"])
            try old.frames.send(.data(request.stream, "01234"))
            #expect(try client.stream.head()?.status == 200)
            #expect(try client.stream.text(5) == "01234")
            old.frames.shutdownWrite()
            #expect(try client.waitForEnd() == .finished)
            #expect(!story.origin.hasWaiting)
            #expect(try story.proxy.records(2)[1]["outcome"] == "truncated")
        }
    }

    @Test func `of several requests each has its own fate`() async throws {
        try await UpstreamStory.run { story in
            let clients = try (0..<3).map { _ in try story.client() }
            let old = try story.served(by: clients[0])
            try clients[0].send("GET", story.url("/get"))
            try clients[1].send("POST", story.url("/post"), body: "x")
            try clients[2].send("PUT", story.url("/put"), body: "y")
            for _ in 0..<3 { _ = try old.request() }
            old.frames.shutdownWrite()
            #expect(try clients[1].response(to: "POST").status == 502)
            let new = try story.accept()
            for _ in 0..<2 {
                let again = try new.request()
                try new.reply(to: again.stream, body: again.path + again.bodyText)
            }
            #expect(try clients[0].response().bodyText == "/get")
            #expect(try clients[2].response(to: "PUT").bodyText == "/puty")
            try new.expectNoRequest()
        }
    }
}

extension ProxyFixture {
    /// Runs `body` while no worker does anything, so that all of it comes in one turn.
    func whileWorkersStand(_ body: () throws -> Void) throws {
        let (standing, going) = (Bell(), Bell())
        for executor in proxy.executors {
            executor.mailbox.post {
                standing.ring()
                _ = going.wait()
            }
        }
        defer { for _ in proxy.executors { going.ring() } }
        for _ in proxy.executors where !standing.wait() {
            throw SocketFailure("a worker is stuck")
        }
        try body()
    }
}

extension UpstreamStory {
    /// Waits until the origin's FIN has come to the proxy's end of a connection.
    func waitForEndOfConnection() throws {
        try eventually("the end of the connection") {
            OpenSocket.all { $0.remote == origin.address.port }.contains(where: \.isLeft)
        }
    }
}
