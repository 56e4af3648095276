// Via tells who passed a message on, and finds loops (RFC 9110 §7.6.3).
import LupinIO
import LupinTestKit
import Testing

struct ViaTests {
    @Test(arguments: [("1.1", "1.1"), ("1.0", "1.0")])
    func `both directions say lupin and the version received`(
        request: String,
        response: String
    ) async throws {
        try await ProxyFixture.run { proxy in
            let origin = try proxy.origin { connection in
                let via = try connection.request()["via"] ?? ""
                #expect(via.hasPrefix("1.1 first, \(request) lupin-"))
                try connection.send(
                    head("HTTP/\(response) 200 OK", "Via: 1.1 cache", "Content-Length: 0")
                )
            }
            let client = try proxy.client()
            try client.send(
                head(
                    "GET \(origin.url()) HTTP/\(request)",
                    "Host: \(origin.authority)",
                    "Via: 1.1 first"
                )
            )
            let via = try client.response()["via"] ?? ""
            #expect(via.hasPrefix("1.1 cache, \(response) lupin-"))
        }
    }

    @Test func `via off is silent both ways`() async throws {
        try await ProxyFixture.run("upstream: {via: false}") { proxy in
            let origin = try proxy.origin { connection in
                #expect(try connection.request()["via"] == nil)
                try connection.reply()
            }
            #expect(try proxy.client().get(origin.url())["via"] == nil)
        }
    }

    @Test func `a request that has passed this lupin is a loop`() async throws {
        try await ProxyFixture.run { proxy in
            let origin = try proxy.origin { connection in
                while let request = try connection.nextRequest() {
                    try connection.reply(body: request["via"] ?? "")
                }
            }
            let client = try proxy.client()
            let via = try client.get(origin.url()).bodyText
            // What stands in a comment hides no member behind it.
            let chains = [
                "1.1 a, \(via) (seen)", "1.1 a (\"x), \(via)", "1.1 a (x, \(via)",
                "1.1 a, \(via.replacing(" ", with: "\t"))",
            ]
            for (i, chain) in chains.enumerated() {
                let response = try client.get(origin.url(), "Via: \(chain)")
                #expect(response.status == 502, "\(chain)")
                #expect(response["proxy-status"]?.contains("error=proxy_loop_detected") == true)
                let record = try proxy.records(i + 2)[i + 1]
                #expect(record["error.type"] == "proxy_loop_detected")
            }
        }
    }

    @Test func `another lupin in the chain is no loop`() async throws {
        try await ProxyFixture.run { first in
            let origin = try first.origin(answering: head("HTTP/1.1 204 None"))
            let parent = "upstream: {proxy: \"http://\(first.address)\", no_proxy: []}"
            try await ProxyFixture.run(parent) { second in
                let response = try second.client().get(origin.url())
                #expect(response.status == 204)
                #expect(response["via"]?.split(separator: ",").count == 2)
                #expect(origin.receivedText.split(separator: "lupin-").count == 3)
            }
        }
    }

    @Test func `the proxy itself is no target`() async throws {
        try await ProxyFixture.run { proxy in
            let port = proxy.address.port
            for host in ["127.0.0.1", "localhost", "127.0.0.2", "[::ffff:127.0.0.1]", "0.0.0.0"] {
                let response = try proxy.client().get("http://\(host):\(port)/")
                let isRefused = [403, 502].contains(response.status)
                #expect(isRefused, "\(host): \(response.startLine)")
            }
            #expect(try proxy.client().connect(proxy.address.description).status >= 400)
        }
    }

    @Test func `Max-Forwards is counted down and ends here at 0`() async throws {
        try await ProxyFixture.run { proxy in
            let origin = try proxy.origin { connection in
                while let request = try connection.nextRequest() {
                    try connection.reply(body: request["max-forwards"] ?? "none")
                }
            }
            let client = try proxy.client()
            for (method, value, expected) in [
                ("OPTIONS", "2", "1"), ("TRACE", "1", "0"), ("GET", "0", "0"), ("POST", "7", "7"),
                ("OPTIONS", "256", "255"), ("TRACE", "257", "255"), ("GET", "x", "x"),
                ("OPTIONS", "100000000000000000000000000", "255"),
            ] {
                try client.send(method, origin.url(), ["Max-Forwards: \(value)"])
                #expect(try client.response(to: method).bodyText == expected)
            }
            let before = origin.receivedText
            try client.send("OPTIONS", origin.url(), ["Max-Forwards: 0"])
            #expect(try client.response(to: "OPTIONS")["allow"]?.contains("GET") == true)
            try client.send(
                "TRACE",
                origin.url("/t"),
                ["Max-Forwards: 0", "X-A: b", "Cookie: secret"]
            )
            let trace = try client.response(to: "TRACE")
            #expect(trace["content-type"] == "message/http")
            #expect(trace.bodyText.contains("X-A: b\r\n"))
            #expect(!trace.bodyText.contains("secret"))
            #expect(origin.receivedText == before)
        }
    }

    @Test(arguments: [
        ["Max-Forwards: 1, 0"], ["Max-Forwards: x"], ["Max-Forwards: -1"], ["Max-Forwards:"],
        ["Max-Forwards: 1", "Max-Forwards: 1"],
    ])
    func `Max-Forwards that is not one number is refused`(fields: [String]) async throws {
        try await ProxyFixture.run { proxy in
            let client = try proxy.client()
            for method in ["OPTIONS", "TRACE"] {
                try client.send(method, "http://nowhere.test/", fields)
                #expect(try client.response(to: method).status == 400)
            }
        }
    }
}
