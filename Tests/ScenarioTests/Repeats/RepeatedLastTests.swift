// Equal requests that are each their client's last: answered, recorded, and the connection closed.
import LupinTestKit
import Testing

struct RepeatedLastTests {
    private static let close = ["Connection: close"]

    @Test(arguments: [0, 1, 8000, 20_000])
    func `every one has its answer, its record and its end`(size: Int) async throws {
        try await ProxyFixture.run { proxy in
            let body = String(repeating: "b", count: size)
            let (flaky, origin) = try proxy.flaky(.say(EqualRequests.response(200, body: body)))
            let request = EqualRequests.request(origin.url("/last"), Self.close)
            var answers: Set<String> = []
            for _ in 0..<20 {
                let client = try proxy.client()
                try client.send(request)
                let response = try client.response()
                #expect(response["Connection"] == "close")
                #expect(response.bodyText == body)
                answers.insert(response.fields.filter { $0.name != "Date" }.map(\.value).joined())
                #expect(try client.waitForEnd() == .finished)
            }
            #expect(answers.count == 1)
            // To the origin it is a connection like any other.
            #expect(origin.connections.count == 1)
            #expect(Set(flaky.requests.map(\.whole)).count == 1)
            let records = try proxy.records(20)
            #expect(Set(records.compactMap { $0["id"] }).count == 20)
            #expect(Set(records.compactMap { $0["client.port"] }).count == 20)
            #expect(Set(records.dropFirst().map(\.likeOthers)).count == 1)
            #expect(records.allSatisfy { $0["outcome"] == "ok" })
        }
    }

    @Test func `an answer from memory ends it, too`() async throws {
        try await ProxyFixture.run(everywhere("cache: standard")) { proxy in
            let (flaky, origin) = try proxy.flaky(.fresh("kept"))
            let request = EqualRequests.request(origin.url("/last"), Self.close)
            for _ in 0..<10 {
                let client = try proxy.client()
                try client.send(request)
                #expect(try client.response().bodyText == "kept")
                #expect(try client.waitForEnd() == .finished)
            }
            #expect(flaky.asked == 1)
            #expect(try proxy.records(10).allSatisfy { $0["outcome"] == "ok" })
        }
    }

    @Test func `what comes behind the last one is no request`() async throws {
        try await ProxyFixture.run { proxy in
            let (flaky, origin) = try proxy.flaky(.say(EqualRequests.good))
            let request = EqualRequests.request(origin.url("/last"), Self.close)
            for _ in 0..<10 {
                let client = try proxy.client()
                // More than lupin reads in one go.
                try client.send(String(repeating: request, count: 1000))
                #expect(try client.response().bodyText == "good")
                // Closing with unread bytes is a reset, which may take the answer along.
                #expect(try client.waitForEnd() == .finished)
            }
            #expect(flaky.asked == 10)
            #expect(try proxy.records(10).count == 10)
        }
    }

    @Test func `a client that reads late gets all of it before the end`() async throws {
        try await ProxyFixture.run { proxy in
            let body = String(repeating: "b", count: 8000)
            let (_, origin) = try proxy.flaky(.say(EqualRequests.response(200, body: body)))
            let request = EqualRequests.request(origin.url("/last"))
            let last = EqualRequests.request(origin.url("/last"), Self.close)
            for _ in 0..<5 {
                let client = try proxy.client()
                try client.send(request)
                try client.response()
                try client.send(last)
                try client.response()
            }
            let slow = try proxy.client(receiveBuffer: 4096)
            // Nobody reads yet: the last answer finds the kernel's queue full.
            try slow.send(String(repeating: request, count: 700) + last)
            try proxy.rest { origin.connections.reduce(0) { $0 + $1.stream.receivedCount } }
            for _ in 0..<701 { #expect(try slow.response().bodyText == body) }
            #expect(try slow.waitForEnd() == .finished)
            #expect(try proxy.records(711).allSatisfy { $0["outcome"] == "ok" })
        }
    }

    @Test func `connections that come and go are no exchanges by themselves`() async throws {
        try await ProxyFixture.run { proxy in
            let equal = try EqualRequests(proxy)
            for i in 0..<12 {
                let client = try proxy.client()
                if i % 3 == 2 {
                    client.close()
                    continue
                }
                try equal.repeatOnce(by: client)
                if i % 3 == 1 { client.reset() } else { client.close() }
            }
            let records = try proxy.records(EqualRequests.warmUps + 8)
            #expect(records.allSatisfy { $0["outcome"] == "ok" })
            try equal.repeatOnce()
            #expect(try proxy.records(EqualRequests.warmUps + 9).count == EqualRequests.warmUps + 9)
        }
    }

    @Test func `what begins with part of a request waits for the rest`() async throws {
        try await ProxyFixture.run { proxy in
            let equal = try EqualRequests(proxy)
            for count in [1, 3, 17, equal.request.count - 1] {
                let client = try proxy.client()
                try client.send(String(equal.request.prefix(count)))
                // Until lupin has seen the first part, another client has been served.
                try equal.repeatOnce()
                try client.send(String(equal.request.dropFirst(count)))
                try equal.connection.request()
                try equal.connection.send(EqualRequests.good)
                #expect(try client.response().bodyText == "good")
            }
        }
    }
}
