// Secrets stay where they belong: planted ones must not turn up in the log or in what lupin says.
import LupinTestKit
import Testing

struct RedactionTests {
    /// Everything of a secret that could give it away, in the encodings it may travel in.
    private static let planted = [
        "s3cr3tBearer", "c2VjcmV0LWJhc2lj", "c00kieValue", "qu3ryToken", "r3fererToken",
        "parentPassw0rd", "cGFyZW50OnBhcmVudFBhc3N3MHJk", "x4piKey", "setC00kie",
    ]

    private static let fields = [
        "Authorization: Bearer s3cr3tBearer", "Proxy-Authorization: Basic c2VjcmV0LWJhc2lj",
        "Cookie: session=c00kieValue", "X-Api-Key: x4piKey",
        "Referer: http://a.example/?access_token=r3fererToken",
    ]

    private func expectClean(_ text: String, _ what: String) {
        for secret in Self.planted { #expect(!text.contains(secret), "\(secret) in \(what)") }
    }

    @Test func `a delivered exchange shows no secret in its record`() async throws {
        try await ProxyFixture.run("log: {headers: all}") { proxy in
            let origin = try proxy.origin { connection in
                try connection.request()
                try connection.reply(
                    200,
                    "Set-Cookie: id=setC00kie",
                    "Location: /?token=qu3ryToken",
                    body: "ok"
                )
            }
            let client = try proxy.client()
            try client.send("GET", origin.url("/a?token=qu3ryToken&page=2"), Self.fields)
            let response = try client.response()
            #expect(response["set-cookie"] == "id=setC00kie")
            #expect(origin.receivedText.contains("s3cr3tBearer"))
            #expect(origin.receivedText.contains("qu3ryToken"))
            #expect(!origin.receivedText.contains("c2VjcmV0LWJhc2lj"))
            let record = try proxy.record()
            expectClean(proxy.logText, "the record")
            #expect(record["url.full"]?.contains("token=REDACTED.") == true)
            #expect(record["url.full"]?.contains("page=2") == true)
            #expect(
                record.list("http.request.header.authorization").first?.hasPrefix("REDACTED.")
                    == true
            )
        }
    }

    /// `qu3ryToken` in JSON, as fields carry it.
    @Test(arguments: [
        #"{"token": "qu3ryToken"}"#, #"[{"tokens":["x","qu3ryToken"]}]"#,
        "%7B%22token%22%3A%7B%22value%22%3A%22qu3ryToken%22%7D%7D",
        #"{"pin":"qu3ryToken"}"#, #"{"a":"{\"token\":\"qu3ryToken\"}"}"#,
    ])
    func `JSON in a field shows no secret in log, history and HAR`(value: String) async throws {
        let rules = "log: {headers: all}\n" + ProxyFixture.capturing
        try await ProxyFixture.run(rules) { proxy in
            let origin = try proxy.origin { connection in
                #expect(try connection.request()["x-context"] == value)
                try connection.reply(200, "X-Context: \(value)", body: value)
            }
            let path = "/?data=%7B%22token%22%3A%22qu3ryToken%22%7D"
            let response = try proxy.client().get(origin.url(path), "X-Context: \(value)")
            #expect(response["x-context"] == value)
            expectClean(try proxy.captured().text, "the detail")
            #expect(try proxy.record().list("http.request.header.x-context").count == 1)
            expectClean(proxy.logText, "the log")
            expectClean(String(decoding: try proxy.archive(), as: UTF8.self), "the HAR")
            let kept = String(decoding: try proxy.capturedBytes(), as: UTF8.self)
            expectClean(kept, "the capture")
        }
    }

    @Test func `an error shows no secret to anybody`() async throws {
        let rules = """
            log: {headers: all}
            upstream: {proxy: "http://parent:parentPassw0rd@127.0.0.1:1", no_proxy: []}
            """
        try await ProxyFixture.run(rules) { proxy in
            for accept in ["text/plain", "application/json"] {
                let client = try proxy.client()
                try client.send(
                    "GET",
                    "http://a.example/?token=qu3ryToken",
                    Self.fields + ["Accept: \(accept)"]
                )
                let response = try client.response()
                #expect(response.status == 502)
                expectClean(response.bodyText, "the error body")
                expectClean(response["proxy-status"] ?? "", "Proxy-Status")
            }
            #expect(try proxy.records(2).count == 2)
            expectClean(proxy.logText, "the record")
        }
    }

    @Test func `a parent's password goes to the parent and nowhere else`() async throws {
        let parent = try ScriptedOrigin { connection in
            let request = try connection.request()
            #expect(request["proxy-authorization"] == "Basic cGFyZW50OnBhcmVudFBhc3N3MHJk")
            #expect(request.startLine == "GET http://a.example/?token=qu3ryToken HTTP/1.1")
            try connection.reply(407, "Proxy-Authenticate: Basic realm=x", body: "no")
        }
        defer { parent.stop() }
        let rules = """
            log: {headers: all}
            upstream: {proxy: "http://parent:parentPassw0rd@\(parent.authority)", no_proxy: []}
            """
        try await ProxyFixture.run(rules) { proxy in
            let client = try proxy.client()
            try client.send("GET", "http://a.example/?token=qu3ryToken", Self.fields)
            let response = try client.response()
            // lupin has credentials for its parent: the client can't help with its own.
            #expect(response.status == 502)
            #expect(response["proxy-authenticate"] == nil)
            expectClean(response.bodyText, "the error body")
            #expect(try proxy.record()["attempts.0.peer"] == parent.authority)
            expectClean(proxy.logText, "the record")
        }
        #expect(parent.failures.isEmpty)
    }

    @Test func `a refused request shows no secret`() async throws {
        try await ProxyFixture.run("log: {headers: all}") { proxy in
            for line in [
                "GET http://user:parentPassw0rd@a.example/ HTTP/1.1",
                "GET http://a.example/?token=qu3ryToken HTTP/9.9",
                "CONNECT user:parentPassw0rd@a.example:443 HTTP/1.1",
            ] {
                let client = try proxy.client()
                try client.send(
                    ([line, "Host: a.example"] + Self.fields).joined(separator: "\r\n")
                        + "\r\n\r\n"
                )
                let response = try client.response()
                #expect(response.status >= 400)
                expectClean(response.bodyText, "the error body")
                expectClean(response["proxy-status"] ?? "", "Proxy-Status")
            }
            #expect(try proxy.records(3).count == 3)
            expectClean(proxy.logText, "the record")
        }
    }

    @Test func `what a step adds is recorded by its name only`() async throws {
        let rules = """
            log: {headers: all}
            rules:
              - match: "**"
                request:
                  - set: {Authorization: Bearer s3cr3tBearer, X-Api-Key: x4piKey}
                  - query: {set: {token: qu3ryToken}}
            """
        try await ProxyFixture.run(rules) { proxy in
            let origin = try proxy.origin(answering: head("HTTP/1.1 204 None"))
            try proxy.client().get(origin.url())
            #expect(origin.receivedText.contains("Bearer s3cr3tBearer"))
            #expect(origin.receivedText.contains("token=qu3ryToken"))
            #expect(try proxy.record().list("rules.steps").count == 3)
            expectClean(proxy.logText, "the record")
        }
    }
}
