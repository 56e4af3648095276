// 408 on an idle connection, 421 and 425: what each of them asks for, under any policy.
import LupinTestKit
import Testing

struct SpecialStatusTests {
    @Test(arguments: ["", everywhere("retry: {use: standard, backoff: none}")])
    func `408 on an idle connection is answered by a fresh one`(rules: String) async throws {
        try await ProxyFixture.run(rules) { proxy in
            let origin = try PlayedOrigin()
            let (client, pooled) = try proxy.pooledConnection(to: origin)
            try client.send("GET", origin.url("/two"))
            try pooled.request()
            try pooled.reply(408, "Connection: close")
            let fresh = try origin.accept()
            #expect(try fresh.request().target == "/two")
            try fresh.reply(body: "good")
            #expect(try client.response().bodyText == "good")
            let record = try proxy.records(2)[1]
            #expect(record["attempts.0.reason"] == "status 408 on an idle connection")
            #expect(record["attempts.1.reused"] == nil)
        }
    }

    @Test(arguments: ["", everywhere("retry: {use: standard, backoff: none}")])
    func `408 on an idle connection is no licence to repeat a POST`(rules: String) async throws {
        try await ProxyFixture.run(rules) { proxy in
            let origin = try PlayedOrigin()
            let (client, pooled) = try proxy.pooledConnection(to: origin)
            try client.send("POST", origin.url("/two"), body: "one lamp")
            try pooled.request()
            try pooled.reply(408, "Connection: close")
            #expect(try client.response(to: "POST").status == 408)
            #expect(!origin.hasWaiting)
        }
    }

    @Test func `408 on a fresh connection is an answer like others`() async throws {
        try await ProxyFixture.run { proxy in
            let (flaky, origin) = try proxy.flaky(.status(408), .good)
            #expect(try proxy.client().get(origin.url()).status == 408)
            #expect(flaky.asked == 1)
        }
    }

    @Test(arguments: ["GET", "POST"])
    func `421 is asked again on another connection, once`(method: String) async throws {
        try await ProxyFixture.run { proxy in
            let (flaky, origin) = try proxy.flaky(.status(421), .status(421, body: "no"))
            let client = try proxy.client()
            try client.send(method, origin.url())
            let response = try client.response(to: method)
            #expect(response.status == 421)
            #expect(response.bodyText == "no")
            #expect(flaky.asked == 2)
            #expect(origin.connections.count == 2)
            let record = try proxy.record()
            #expect(record["attempts.0.reason"] == "status 421, on another connection")
            #expect(record["attempts.1.reused"] == nil)
        }
    }

    @Test(arguments: ["GET", "POST"])
    func `425 is asked again once`(method: String) async throws {
        let rules = everywhere("retry: {use: standard, backoff: none, status: [503]}")
        try await ProxyFixture.run(rules) { proxy in
            let (flaky, origin) = try proxy.flaky(.status(425), .status(425), .good)
            let client = try proxy.client()
            try client.send(method, origin.url())
            #expect(try client.response(to: method).status == 425)
            #expect(flaky.asked == 2)
            let record = try proxy.record()
            #expect(record["attempts.0.reason"] == "status 425, without early data")
        }
    }

    @Test func `425 is the client's to answer where it sent early data`() async throws {
        try await ProxyFixture.run { proxy in
            let (flaky, origin) = try proxy.flaky(.status(425), .good)
            let response = try proxy.client().get(origin.url(), "Early-Data: 1")
            #expect(response.status == 425)
            #expect(flaky.asked == 1)
            let record = try proxy.record()
            #expect(record["attempts.0.reason"] == "the client sent the request as early data")
        }
    }

    @Test(arguments: [421, 425])
    func `no retries means none for these either`(status: Int) async throws {
        try await ProxyFixture.run(everywhere("retry: none")) { proxy in
            let (flaky, origin) = try proxy.flaky(.status(status), .good)
            #expect(try proxy.client().get(origin.url()).status == status)
            #expect(flaky.asked == 1)
        }
    }
}
