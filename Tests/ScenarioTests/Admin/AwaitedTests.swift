// What an exchange waits for has a true name among the exchanges under way, which `log` shows.
import LupinTestKit
import Testing

struct AwaitedTests {
    private func run(
        _ keys: String,
        _ settings: String = "",
        _ body: @Sendable @escaping (ProxyFixture) throws -> Void
    ) async throws {
        let rules = everywhere(keys, ProxyFixture.adminSocket + settings)
        try await ProxyFixture.run(rules, body)
    }

    private func expect(_ words: String, _ proxy: ProxyFixture) throws {
        try eventually("an exchange that waits for \(words)") {
            let live = try? proxy.adminJSON("/v1/exchanges/live")
            let all = (0..<(live?.count("exchanges") ?? 0)).compactMap {
                live?["exchanges.\($0).waits_for"]
            }
            let status = try? proxy.adminJSON("/v1/status")
            return all.contains(words) && status?["waiting.\(words)"] != nil
        }
    }

    /// The same of a request for `url`, whose client leaves then.
    private func expect(_ words: String, _ proxy: ProxyFixture, asking url: String) throws {
        let client = try proxy.client()
        try client.send("GET", url)
        try expect(words, proxy)
        client.close()
    }

    @Test func `the pause before a retry`() async throws {
        let late = "retry: {use: standard, backoff: {scale: 60s, max: 60s, jitter: none}}"
        try await run(late) { proxy in
            let (_, origin) = try proxy.flaky(.status(503, body: "ill"))
            try expect("next_attempt", proxy, asking: origin.url())
        }
    }

    @Test func `the time that Retry-After names`() async throws {
        try await run("retry: standard") { proxy in
            let (_, origin) = try proxy.flaky(.status(503, "Retry-After: 20", body: "later"))
            try expect("end_of_retry-after", proxy, asking: origin.url())
        }
    }

    @Test func `the delay of a rule`() async throws {
        try await run("request: [{delay: 30s}]") { proxy in
            let origin = try PlayedOrigin()
            try expect("delay_of_a_rule", proxy, asking: origin.url())
        }
    }

    @Test(arguments: ["up", "down"])
    func `the throttle of a rule`(direction: String) async throws {
        try await run("throttle: {\(direction): 1KiB/s}") { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            let body = String(repeating: "x", count: 200_000)
            try client.send("POST", origin.url(), body: body)
            let connection = try origin.accept()
            _ = try connection.requestHead()
            if direction == "down" {
                _ = try connection.stream.text(body.utf8.count)
                try connection.reply(body: body)
            }
            try expect("throttle_of_a_rule", proxy)
            client.close()
        }
    }

    @Test func `so it is in a tunnel`() async throws {
        let rules =
            ProxyFixture.adminSocket
            + "rules: [{name: slow, match: {host: 127.0.0.1}, throttle: {up: 1KiB/s}}]"
        try await ProxyFixture.run(rules) { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            #expect(try client.connect(origin.authority).status == 200)
            try client.send(String(repeating: "x", count: 200_000))
            try expect("throttle_of_a_rule", proxy)
            client.close()
        }
    }

    @Test func `the program that prints a token`() async throws {
        let tokens = "tokens: {me: {command: [/bin/sleep, '2']}}\n"
        try await run("request: [{auth: me}]", tokens) { proxy in
            let origin = try PlayedOrigin()
            try expect("token_command", proxy, asking: origin.url())
        }
    }

    @Test func `the fetch of another request`() async throws {
        try await run("cache: standard") { proxy in
            let origin = try PlayedOrigin()
            let first = try proxy.client()
            try first.send("GET", origin.url())
            let connection = try origin.accept()
            try connection.request()
            try expect("response_head", proxy)
            let second = try proxy.client()
            try second.send("GET", origin.url())
            try expect("fetch_of_another_request", proxy)
            try connection.reply(200, "Cache-Control: max-age=600", body: "one")
            for client in [first, second] { #expect(try client.response().bodyText == "one") }
        }
    }

    @Test func `a body that is held`() async throws {
        try await run("validate: {json: {/ok: true}}") { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            try client.send("GET", origin.url())
            let connection = try origin.accept()
            try connection.request()
            try connection.send(head("HTTP/1.1 200 OK", "Content-Length: 11") + #"{"ok""#)
            try expect("response_body", proxy)
            try connection.send(":true}")
            #expect(try client.response().status == 200)
        }
    }
}
