// What a method that may have had its effect is not: sent again, unless a rule says so.
import LupinTestKit
import Testing

struct RetryMethodTests {
    static let deeds: [FlakyOrigin.Deed] = [
        .reset, .close, .breakOff("HTTP/1.1 200 OK\r\nConte"), .status(503), .status(408),
        .status(503, "Retry-After: 0"), .status(500),
    ]

    private static func rules(_ keys: String = "") -> String {
        everywhere("retry: {use: standard, backoff: none\(keys)}")
    }

    @Test(arguments: deeds)
    func `a POST comes once, whatever becomes of it`(deed: FlakyOrigin.Deed) async throws {
        try await ProxyFixture.run(Self.rules()) { proxy in
            let (flaky, origin) = try proxy.flaky(deed, .good)
            let client = try proxy.client()
            try client.send("POST", origin.url(), ["Idempotency-Key: \"k\""], body: "one lamp")
            let response = try client.response(to: "POST")
            #expect(response.status >= 400)
            #expect(!response.bodyText.contains("Try again"))
            #expect(flaky.asked == 1)
            let record = try proxy.record()
            #expect(record.count("attempts") == 1)
            #expect(record["attempts.0.reason"] == "POST may have been processed")
            // The origin's own response tells nothing of it.
            if let detail = record["error.detail"] {
                #expect(detail.contains("The POST may have been processed"))
                #expect(response.bodyText.contains("may have been processed"))
            }
        }
    }

    @Test(
        arguments: deeds,
        [
            ("POST", "with-idempotency-key", "Idempotency-Key: \"k\""),
            ("PATCH", "with-idempotency-key", "idempotency-key: 7"),
            ("POST", "always", "X-Nothing: 1"),
        ]
    )
    func `a rule may have it sent again`(
        deed: FlakyOrigin.Deed,
        way: (method: String, permission: String, field: String)
    ) async throws {
        try await ProxyFixture.run(Self.rules(", non_idempotent: \(way.permission)")) { proxy in
            let (flaky, origin) = try proxy.flaky(deed, .good)
            let client = try proxy.client()
            try client.send(way.method, origin.url(), [way.field], body: "one lamp")
            #expect(try client.response(to: way.method).bodyText == "good")
            #expect(flaky.requests.map(\.bodyText) == ["one lamp", "one lamp"])
            #expect(flaky.requests.allSatisfy { $0.method == way.method })
        }
    }

    @Test(arguments: [("POST", ""), ("DELETE2", "Idempotency-Key: 1"), ("FROB", "X-A: b")])
    func `without the field, or with another method, the rule says nothing`(
        way: (method: String, field: String)
    ) async throws {
        let rules = Self.rules(", non_idempotent: with-idempotency-key")
        try await ProxyFixture.run(rules) { proxy in
            let (flaky, origin) = try proxy.flaky(.reset, .good)
            let client = try proxy.client()
            let fields = way.field.isEmpty ? [] : [way.field]
            try client.send(way.method, origin.url(), fields, body: "x")
            #expect(try client.response(to: way.method).status == 502)
            #expect(flaky.asked == 1)
        }
    }

    @Test(arguments: ["PUT", "DELETE", "OPTIONS"])
    func `an idempotent method is sent again with its body`(method: String) async throws {
        try await ProxyFixture.run(Self.rules()) { proxy in
            let (flaky, origin) = try proxy.flaky(.reset, .status(503), .good)
            let client = try proxy.client()
            try client.send(method, origin.url("/f?a=b"), ["X-One: 1"], body: "one lamp")
            #expect(try client.response(to: method).bodyText == "good")
            let requests = flaky.requests
            #expect(requests.count == 3)
            for request in requests {
                #expect(request.startLine == requests[0].startLine)
                #expect(request.bodyText == "one lamp")
                #expect(request.fields.map(\.value) == requests[0].fields.map(\.value))
            }
        }
    }

    @Test(arguments: ["retry: safe", "retry: none"])
    func `other policies repair no lost response`(policy: String) async throws {
        try await ProxyFixture.run(everywhere(policy)) { proxy in
            let (flaky, origin) = try proxy.flaky(.reset, .good)
            #expect(try proxy.client().get(origin.url()).status == 502)
            #expect(flaky.asked == 1)
        }
    }

    /// What makes lupin take a response into memory before the client sees any of it.
    @Test(arguments: ["one lamp", ""], ["fail", "retry"])
    func `a POST whose response breaks while it is looked into is not sent again`(
        body: String,
        action: String
    ) async throws {
        let rules = everywhere(
            "validate: {json: {/ok: true}, then: \(action)}, "
                + "retry: {use: standard, backoff: none, hold: 4KiB}"
        )
        try await ProxyFixture.run(rules) { proxy in
            let (flaky, origin) = try proxy.flaky(
                .breakOff(
                    head(
                        "HTTP/1.1 200 OK",
                        "Content-Type: application/json",
                        "Content-Length: 11"
                    ) + #"{"ok""#
                ),
                .good
            )
            let client = try proxy.client()
            try client.send("POST", origin.url(), body: body)
            #expect(try client.response(to: "POST").status == 502)
            #expect(flaky.asked == 1)
            let record = try proxy.record()
            #expect(record["attempts.0.reason"] == "POST may have been processed")
        }
    }
}
