// What a client does while its request, equal to those before, is under way.
import LupinIO
import LupinProxy
import LupinTestKit
import Testing

struct RepeatedClientTests {
    @Test func `equal and other requests in one go are answered in order`() async throws {
        try await ProxyFixture.run { proxy in
            let origin = try proxy.origin { connection in
                while let request = try connection.nextRequest() {
                    try connection.reply(body: request.target)
                }
            }
            let client = try proxy.client()
            func request(_ name: String) -> String {
                EqualRequests.request(origin.url(name))
            }
            var random = UInt64(7)
            for round in 0..<30 {
                let names = (0..<20).map { i in
                    random = random &* 6_364_136_223_846_793_005 &+ 1
                    let isNew = random >> 60 == 0
                    return isNew ? "/new/\(round)/\(i)" : "/\(random >> 40 & 3)"
                }
                let all = names.map(request).joined()
                if round % 10 == 9 { try client.sendBytewise(all) } else { try client.send(all) }
                for name in names { #expect(try client.response().bodyText == name) }
            }
            #expect(try proxy.records(600).allSatisfy { $0["outcome"] == "ok" })
        }
    }

    @Test func `what is no GET, or is more than a head, is no repetition`() async throws {
        try await ProxyFixture.run { proxy in
            let origin = try proxy.origin { connection in
                while let request = try connection.nextRequest() {
                    let isHead = request.method == "HEAD"
                    let body = isHead ? "" : "\(request.method) \(request.bodyText)"
                    try connection.reply(body: body)
                }
            }
            let client = try proxy.client()
            for _ in 0..<6 {
                try client.send("HEAD", origin.url())
                #expect(try client.response(to: "HEAD").status == 200)
                for method in ["POST", "GET"] {
                    for body in ["ab", "cd"] {
                        try client.send(method, origin.url(), body: body)
                        #expect(try client.response().bodyText == "\(method) \(body)")
                    }
                }
                try client.send("\r\n\r\n" + EqualRequests.request(origin.url()))
                #expect(try client.response().bodyText == "GET ")
                try client.send(EqualRequests.request(origin.url(), ["Content-Length: 0"]))
                #expect(try client.response().bodyText == "GET ")
            }
        }
    }

    @Test func `what comes behind is not taken for a part of it`() async throws {
        try await ProxyFixture.run { proxy in
            let equal = try EqualRequests(proxy)
            try equal.client.send(equal.request + "BAD REQUEST LINE\r\n\r\n")
            try equal.connection.request()
            try equal.connection.send(EqualRequests.good)
            #expect(try equal.client.response().bodyText == "good")
            #expect(try equal.client.response().status == 400)
        }
    }

    @Test func `a client that says close is answered and left`() async throws {
        try await ProxyFixture.run { proxy in
            let (_, origin) = try proxy.flaky(.good)
            for _ in 0..<6 {
                let client = try proxy.client()
                #expect(try client.get(origin.url(), "Connection: close").bodyText == "good")
                #expect(try client.waitForEnd() == .finished)
            }
            for _ in 0..<6 {
                let client = try proxy.client()
                try client.send("GET \(origin.url()) HTTP/1.0\r\n\r\n")
                #expect(try client.response().bodyText == "good")
                #expect(try client.waitForEnd() == .finished)
            }
        }
    }

    /// How a client leaves.
    enum Farewell: CaseIterable { case fin, reset, finWithRequest, finBehindNext }

    @Test(arguments: Farewell.allCases)
    func `a client that leaves before its answer is an abort`(farewell: Farewell) async throws {
        try await ProxyFixture.run { proxy in
            let equal = try EqualRequests(proxy)
            if farewell == .finWithRequest {
                // Both are there before lupin looks: its worker is held meanwhile.
                let isSent = proxy.holdWorker()
                try equal.client.send(equal.request)
                equal.client.shutdownWrite()
                isSent.ring()
                try equal.connection.request()
                // However soon the answer comes.
                try? equal.connection.send(EqualRequests.good)
            } else {
                try equal.ask()
                if farewell == .finBehindNext { try equal.client.send(equal.request) }
                if farewell == .reset { equal.client.reset() } else { equal.client.close() }
            }
            let record = try proxy.records(EqualRequests.warmUps + 1)[EqualRequests.warmUps]
            #expect(record["outcome"] == "aborted")
            // What the origin still says is for nobody.
            _ = try equal.connection.waitForEnd()
            let other = try proxy.client()
            #expect(try equal.askAnew("new", by: other).bodyText == "new")
            #expect(proxy.recordsSoFar().count <= EqualRequests.warmUps + 2)
        }
    }

    @Test func `a client that reads late gets all of it`() async throws {
        try await ProxyFixture.run { proxy in
            let body = BytePattern.bytes(3, 8000)
            let head = "HTTP/1.1 200 X\r\nContent-Length: 8000\r\n\r\n"
            let origin = try proxy.origin { connection in
                while try connection.nextRequest() != nil {
                    try connection.send(Array(head.utf8) + body)
                }
            }
            let warm = try proxy.client()
            for _ in 0..<5 { try warm.get(origin.url()) }
            let slow = try proxy.client(receiveBuffer: 4096)
            let request = EqualRequests.request(origin.url())
            let sender = TestThread {
                for _ in 0..<100 {
                    try slow.send(String(repeating: request, count: 10))
                }
            }
            try proxy.rest { origin.connections.reduce(0) { $0 + $1.stream.receivedCount } }
            // More than the buffers hold is not fetched.
            let asked = origin.connections.reduce(0) { $0 + $1.stream.receivedCount }
            #expect(asked < 1000 * 50)
            for _ in 0..<1000 { #expect(try slow.response().body == body) }
            try sender.join()
            let records = try proxy.records(1005)
            #expect(records.allSatisfy { $0["outcome"] == "ok" })
            #expect(records.allSatisfy { $0["http.response.body.size"] == "8000" })
        }
    }

    @Test func `a client that leaves within its answer is an abort`() async throws {
        try await ProxyFixture.run { proxy in
            let answer = EqualRequests.response(200, body: String(repeating: "a", count: 8000))
            let origin = try proxy.origin(answering: answer)
            let warm = try proxy.client()
            for _ in 0..<5 { try warm.get(origin.url()) }
            let slow = try proxy.client(receiveBuffer: 4096)
            let request = EqualRequests.request(origin.url())
            let sender = TestThread {
                try? slow.send(String(repeating: request, count: 2000))
            }
            try proxy.rest { origin.connections.reduce(0) { $0 + $1.stream.receivedCount } }
            slow.reset()
            try sender.join()
            try eventually("a record of the abort") {
                proxy.recordsSoFar().contains { $0["outcome"] == "aborted" }
            }
            #expect(try warm.get(origin.url()).body.count == 8000)
        }
    }

    @Test func `connections wait for each their own answer`() async throws {
        try await ProxyFixture.run { proxy in
            let equal = try EqualRequests(proxy)
            let others = try (0..<3).map { _ in try proxy.client() }
            // A connection each, all of them idle in the end.
            var connections = [equal.connection]
            try equal.ask()
            for other in others {
                try other.send(equal.request)
                let connection = try equal.origin.accept()
                try connection.request()
                connections.append(connection)
            }
            for connection in connections { try connection.send(EqualRequests.good) }
            for client in [equal.client] + others { try client.response() }
            // The second to ask is the first to have an answer, and a body of its own.
            for round in 0..<4 {
                var asked: [(ScriptedClient, OriginConnection)] = []
                for client in [equal.client] + others {
                    try client.send(equal.request)
                    let connection = try Self.asked(connections)
                    try connection.request()
                    asked.append((client, connection))
                }
                for (i, (_, connection)) in asked.enumerated().reversed() {
                    let body = round % 2 == 0 ? "good" : "n° \(round) \(i)"
                    try connection.send(
                        EqualRequests.response(200, "Date: \(EqualRequests.date)", body: body)
                    )
                }
                for (i, (client, _)) in asked.enumerated() {
                    let body = round % 2 == 0 ? "good" : "n° \(round) \(i)"
                    #expect(try client.response().bodyText == body)
                }
            }
            #expect(!equal.origin.hasWaiting)
        }
    }

    /// Which of the connections has a request.
    private static func asked(_ connections: [OriginConnection]) throws -> OriginConnection {
        var found: OriginConnection?
        try eventually("a request") {
            found = connections.first { $0.stream.socket.hasInput }
            return found != nil
        }
        return try #require(found)
    }
}
