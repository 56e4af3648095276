// Requests that the inspector sends go through the rules like any other.
import Foundation
import LupinTestKit
import Testing

struct SendAgainTests {
    private let rules = """
        \(ProxyFixture.adminSocket)tokens: {api: {bearer: "planted-geheim", plain_http: true}}
        rules:
          - {name: mark, match: {path: /api/**}, request: [{set: {X-Rule: seen}}, {auth: api}]}

        """

    private func origin(_ proxy: ProxyFixture) throws -> ScriptedOrigin {
        try proxy.origin { connection in
            while let request = try connection.nextRequest() {
                let text =
                    "\(request.startLine)|\(request["X-Rule"] ?? "-")|"
                    + "\(request["Cookie"] ?? "-")|\(request["X-Note"] ?? "-")|\(request.bodyText)"
                try connection.reply(body: text)
            }
        }
    }

    private func count(_ line: String, in origin: ScriptedOrigin) -> Int {
        origin.receivedText.ranges(of: line).count
    }

    private func id(_ answer: ScriptedMessage) throws -> String {
        #expect(answer.status == 202, "\(answer.bodyText)")
        return try #require(RecordLine(answer.bodyText)?["id"])
    }

    @Test func `a new request is sent, by the rules, and recorded`() async throws {
        try await ProxyFixture.run(rules + "capture: {bodies: 1KiB}\n") { proxy in
            let origin = try origin(proxy)
            _ = try proxy.admin("PUT", "/v1/capture", json: "{\"hosts\":[\"127.0.0.1\"]}")
            let answer = try proxy.admin(
                "POST",
                "/v1/send",
                json: """
                    {"method":"POST","url":"\(origin.url("/api/a?b=c"))",
                     "fields":[["X-Note","héllo"],["Host","evil.example"],["Content-Length","999"]],
                     "body":"{\\"a\\":1}"}
                    """
            )
            let id = try id(answer)
            let found = try proxy.exchange(id)
            #expect(found["record.outcome"] == "ok")
            #expect(found["record.rules.matched.0"] == "mark")
            #expect(found["record.client.program"] == "lupin inspect")
            var body = ""
            try eventually("the body is captured") {
                let answer = try? proxy.admin("GET", "/v1/exchanges/\(id)/bodies/response")
                body = answer?.status == 200 ? answer?.bodyText ?? "" : ""
                return !body.isEmpty
            }
            #expect(body == "POST /api/a?b=c HTTP/1.1|seen|-|héllo|{\"a\":1}")
        }
    }

    @Test func `one is sent again as it was, with what is hidden`() async throws {
        try await ProxyFixture.run(rules) { proxy in
            let origin = try origin(proxy)
            let first = try proxy.client().get(
                origin.url("/api/x?code=s3cret-code"),
                "Cookie: sid=planted-cookie",
                "X-Note: plain"
            )
            #expect(first.bodyText.contains("|sid=planted-cookie|plain|"))
            _ = try proxy.records(1)
            let id = try #require(try proxy.adminJSON("/v1/exchanges/last")["record.id"])
            let again = try self.id(proxy.admin("POST", "/v1/send", json: "{\"of\":\"\(id)\"}"))
            let found = try proxy.exchange(again)
            #expect(found["record.outcome"] == "ok")
            #expect(count("GET /api/x?code=s3cret-code HTTP/1.1\r\n", in: origin) == 2)
            #expect(count("Cookie: sid=planted-cookie\r\n", in: origin) == 2)
            #expect(!found.text.contains("planted-cookie"))
            // Edited: a field that still shows its mark goes out as it was.
            let shown = try proxy.adminJSON("/v1/exchanges/\(id)")
            let mark = try #require(
                (0..<9).map { shown["request.fields.\($0).1"] ?? "" }
                    .first { $0.contains("REDACTED.") }
            )
            let edited = try self.id(
                proxy.admin(
                    "POST",
                    "/v1/send",
                    json: """
                        {"of":"\(id)","method":"PUT","url":"\(origin.url("/api/y"))",
                         "fields":[["Cookie","\(mark)"],["X-Note","edited"]],"body":"new"}
                        """
                )
            )
            #expect(try proxy.exchange(edited)["record.outcome"] == "ok")
            #expect(count("PUT /api/y HTTP/1.1\r\n", in: origin) == 1)
            #expect(count("Cookie: sid=planted-cookie\r\n", in: origin) == 3)
            #expect(count("X-Note: edited\r\n", in: origin) == 1)
            #expect(origin.receivedText.hasSuffix("\r\n\r\nnew"))
        }
    }

    @Test func `what is hidden goes to the origin that it was for, and to no other`() async throws {
        try await ProxyFixture.run(rules) { proxy in
            let (origin, other) = (try origin(proxy), try origin(proxy))
            try proxy.client().get(origin.url("/a"), "Cookie: sid=planted-cookie")
            _ = try proxy.records(1)
            let shown = try proxy.adminJSON("/v1/exchanges/last")
            let id = try #require(shown["record.id"])
            for fields in ["", ",\"fields\":[[\"X-A\",\"b\"]]"] {
                let json = "{\"of\":\"\(id)\",\"url\":\"\(other.url("/a"))\"\(fields)}"
                let answer = try proxy.admin("POST", "/v1/send", json: json)
                #expect(answer.status == (fields.isEmpty ? 409 : 202))
                if fields.isEmpty {
                    #expect(answer.bodyText.contains("the value of Cookie is hidden"))
                }
                if answer.status == 202 { _ = try proxy.exchange(try self.id(answer)) }
            }
            #expect(!other.receivedText.contains("planted-cookie"))
            #expect(count("GET /a HTTP/1.1\r\n", in: other) == 1)
        }
    }

    @Test func `what can't be sent is told, and nothing is`() async throws {
        try await ProxyFixture.run(rules) { proxy in
            let origin = try origin(proxy)
            let url = origin.url("/x")
            let rows: [(json: String, status: Int, words: String)] = [
                ("{}", 400, "url"), (#"{"url":"ftp://a.example/"}"#, 400, "no http or https URL"),
                (#"{"url":"\#(url)","method":"CONNECT"}"#, 400, "method"),
                (#"{"url":"\#(url)","method":"G ET"}"#, 400, ""),
                (#"{"url":"\#(url)","fields":[["X-A","b\r\nX-C: d"]]}"#, 400, "control character"),
                (#"{"url":"\#(url)","fields":[["X A","b"]]}"#, 400, ""),
                (#"{"url":"\#(url)","fields":[["a"]]}"#, 400, "[name, value]"),
                (#"{"url":"\#(url)","body_base64":"?"}"#, 400, "base64"),
                (#"{"url":"\#(url)","fields":[["Cookie","REDACTED.0000"]]}"#, 409, "hidden"),
                (#"{"of":"0123456789"}"#, 404, ""),
            ]
            for (json, status, words) in rows {
                let answer = try proxy.admin("POST", "/v1/send", json: json)
                #expect(answer.status == status, "\(json)")
                #expect(
                    words.isEmpty || answer.bodyText.contains(words),
                    "\(json): \(answer.bodyText)"
                )
            }
            try proxy.client().send("POST", url, body: "uncaptured")
            _ = try proxy.records(1)
            let id = try #require(try proxy.adminJSON("/v1/exchanges/last")["record.id"])
            let answer = try proxy.admin("POST", "/v1/send", json: "{\"of\":\"\(id)\"}")
            #expect(answer.status == 409)
            #expect(answer.bodyText.contains("not captured"))
            #expect(count(" HTTP/1.1\r\n", in: origin) == 1)
        }
    }
}
