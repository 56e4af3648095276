// Clients whose connection is kept: what they send in one go or in parts, and how they leave.
import LupinTestKit
import Testing

struct KeptClientTests {
    @Test func `equal and other requests in one go are answered in order`() async throws {
        try await ProxyFixture.run { proxy in
            let origin = try proxy.origin { connection in
                while let request = try connection.nextRequest() {
                    try connection.reply(body: request.target)
                }
            }
            let client = try proxy.client()
            func request(_ name: String) -> String {
                KeptConnection.request(origin.url(name))
            }
            var random = UInt64(7)
            for round in 0..<2 {
                let names = (0..<20).map { i in
                    random = random &* 6_364_136_223_846_793_005 &+ 1
                    let isNew = random >> 62 == 0
                    return isNew ? "/new/\(round)/\(i)" : "/\(random >> 40 & 3)"
                }
                let all = names.map(request).joined()
                if round == 1 { try client.sendBytewise(all) } else { try client.send(all) }
                for name in names { #expect(try client.response().bodyText == name) }
            }
            #expect(try proxy.records(40).allSatisfy { $0["outcome"] == "ok" })
        }
    }

    @Test func `requests of all kinds follow each other`() async throws {
        try await ProxyFixture.run { proxy in
            let origin = try proxy.origin { connection in
                while let request = try connection.nextRequest() {
                    let isHead = request.method == "HEAD"
                    let body = isHead ? "" : "\(request.method) \(request.bodyText)"
                    try connection.reply(body: body)
                }
            }
            let client = try proxy.client()
            for _ in 0..<2 {
                try client.send("HEAD", origin.url())
                #expect(try client.response(to: "HEAD").status == 200)
                for method in ["POST", "GET"] {
                    for body in ["ab", "cd"] {
                        try client.send(method, origin.url(), body: body)
                        #expect(try client.response().bodyText == "\(method) \(body)")
                    }
                }
                try client.send("\r\n\r\n" + KeptConnection.request(origin.url()))
                #expect(try client.response().bodyText == "GET ")
                try client.send(KeptConnection.request(origin.url(), ["Content-Length: 0"]))
                #expect(try client.response().bodyText == "GET ")
            }
        }
    }

    @Test func `what comes behind is not taken for a part of it`() async throws {
        try await ProxyFixture.run { proxy in
            let kept = try KeptConnection(proxy)
            try kept.client.send(kept.request + "BAD REQUEST LINE\r\n\r\n")
            try kept.connection.request()
            try kept.connection.send(KeptConnection.good)
            #expect(try kept.client.response().bodyText == "good")
            #expect(try kept.client.response().status == 400)
        }
    }

    @Test func `what begins with part of a request waits for the rest`() async throws {
        try await ProxyFixture.run { proxy in
            let kept = try KeptConnection(proxy)
            for count in [1, 3, 17, kept.request.count - 1] {
                let client = try proxy.client()
                try client.send(String(kept.request.prefix(count)))
                // Until lupin has seen the first part, another client has been served.
                try kept.repeatOnce()
                try client.send(String(kept.request.dropFirst(count)))
                try kept.connection.request()
                try kept.connection.send(KeptConnection.good)
                #expect(try client.response().bodyText == "good")
            }
        }
    }

    @Test func `a client that says close is answered and left`() async throws {
        try await ProxyFixture.run { proxy in
            let (_, origin) = try proxy.flaky(.good)
            for _ in 0..<2 {
                let client = try proxy.client()
                #expect(try client.get(origin.url(), "Connection: close").bodyText == "good")
                #expect(try client.waitForEnd() == .finished)
            }
            for _ in 0..<2 {
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
            let kept = try KeptConnection(proxy)
            if farewell == .finWithRequest {
                // Both are there before lupin looks: its worker is held meanwhile.
                let isSent = proxy.holdWorker()
                try kept.client.send(kept.request)
                kept.client.shutdownWrite()
                isSent.ring()
                try kept.connection.request()
                // However soon the answer comes.
                try? kept.connection.send(KeptConnection.good)
            } else {
                try kept.ask()
                if farewell == .finBehindNext { try kept.client.send(kept.request) }
                if farewell == .reset { kept.client.reset() } else { kept.client.close() }
            }
            let record = try proxy.records(KeptConnection.served + 1)[KeptConnection.served]
            #expect(record["outcome"] == "aborted")
            // What the origin still says is for nobody.
            _ = try kept.connection.waitForEnd()
            let other = try proxy.client()
            #expect(try kept.askAnew("new", by: other).bodyText == "new")
            #expect(proxy.recordsSoFar().count <= KeptConnection.served + 2)
        }
    }

    @Test func `connections wait for each their own answer`() async throws {
        try await ProxyFixture.run { proxy in
            let kept = try KeptConnection(proxy)
            let others = try (0..<3).map { _ in try proxy.client() }
            // A connection each, all of them idle in the end.
            var connections = [kept.connection]
            try kept.ask()
            for other in others {
                try other.send(kept.request)
                let connection = try kept.origin.accept()
                try connection.request()
                connections.append(connection)
            }
            for connection in connections { try connection.send(KeptConnection.good) }
            for client in [kept.client] + others { try client.response() }
            // The second to ask is the first to have an answer, and a body of its own.
            for round in 0..<2 {
                var asked: [(ScriptedClient, OriginConnection)] = []
                for client in [kept.client] + others {
                    try client.send(kept.request)
                    let connection = try Self.asked(connections)
                    try connection.request()
                    asked.append((client, connection))
                }
                for (i, (_, connection)) in asked.enumerated().reversed() {
                    let body = round % 2 == 0 ? "good" : "n° \(round) \(i)"
                    try connection.send(
                        KeptConnection.response(200, "Date: \(KeptConnection.date)", body: body)
                    )
                }
                for (i, (client, _)) in asked.enumerated() {
                    let body = round % 2 == 0 ? "good" : "n° \(round) \(i)"
                    #expect(try client.response().bodyText == body)
                }
            }
            #expect(!kept.origin.hasWaiting)
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
