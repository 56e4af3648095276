// Archives by the admin interface: with captured bodies, and those that the inspector is to show.
import LupinTestKit
import Testing

struct ArchiveRoutesTests {
    private static let rules =
        ProxyFixture.adminSocket
            + """
            capture: {path: DIR/capture, bodies: 1KiB}
            rules:
              - {match: {path: /kept/**}, capture: true}

            """

    private func post(_ proxy: ProxyFixture, _ body: String, type: String = "application/json")
        throws -> ScriptedMessage
    {
        let client = try proxy.adminClient()
        defer { client.close() }
        let head = "POST /v1/archives HTTP/1.1\r\nHost: lupin\r\nContent-Type: \(type)\r\n"
        try client.send("\(head)Content-Length: \(body.utf8.count)\r\n\r\n")
        // What is too long may be refused before it has come.
        try? client.send(body)
        return try client.response(to: "POST")
    }

    @Test func `captured bodies are in the archive, others are not`() async throws {
        try await ProxyFixture.run(Self.rules) { proxy in
            let origin = try proxy.origin { connection in
                while let request = try connection.nextRequest() {
                    let size = request.target == "/kept/long" ? 5000 : 3
                    try connection.reply(body: String(repeating: "ä", count: size))
                }
            }
            let client = try proxy.client()
            let start = "POST \(origin.url("/kept/a")) HTTP/1.1\r\nHost: a\r\n"
            try client.send("\(start)Content-Type: a/b\r\nContent-Length: 3\r\n\r\n")
            try client.send([0xFF, 0xFE, 0x00])
            _ = try client.response()
            try client.get(origin.url("/kept/long"))
            try client.get(origin.url("/other"))
            try proxy.settle()
            var all: RecordLine?
            // The thread that writes is a little behind.
            try eventually("captured bodies") {
                all = try? proxy.adminJSON("/v1/har")
                return all?["log.entries.0.response.content.text"] != nil
                    && all?["log.entries.1.response.content.text"] != nil
            }
            func value(_ entry: Int, _ path: String) -> String? {
                all?["log.entries.\(entry).\(path)"]
            }
            #expect(value(2, "request.method") == "GET" && value(3, "request.method") == nil)
            #expect(value(0, "request.postData.text") == "//4A")
            #expect(value(0, "request.postData._encoding") == "base64")
            #expect(value(0, "request.postData.mimeType") == "a/b")
            #expect(value(0, "response.content.text") == "äää")
            #expect(value(1, "response.content._truncated") == "limit")
            #expect(value(2, "response.content.text") == nil)
            let some = try proxy.adminJSON("/v1/har?filter=path:/other")
            #expect(some["log.entries.0.request.url"] == origin.url("/other"))
            #expect(some["log.entries.1.request.url"] == nil && some["log.comment"] == nil)
            let last = try proxy.adminJSON("/v1/har?limit=1")
            #expect(last["log.entries.1.request.url"] == nil)
            #expect(last["log.comment"] == "these are the last 1 exchanges")
            #expect(try proxy.admin("GET", "/v1/har?filter=hots:a").status == 400)
            #expect(try proxy.admin("POST", "/v1/har").status == 405)
        }
    }

    @Test func `four archives are kept, the latest`() async throws {
        try await ProxyFixture.run(ProxyFixture.adminSocket) { proxy in
            for number in 1...5 {
                let text = #"{"log":{"entries":[],"comment":"\#(number)"}}"#
                let taken = try post(proxy, text)
                #expect(taken.status == 201)
                #expect(taken.bodyText == "{\"archive\":\(number)}\n")
            }
            #expect(try proxy.admin("GET", "/v1/archives/1").status == 404)
            #expect(try proxy.admin("GET", "/v1/archives/2").bodyText.contains(#""comment":"2""#))
            #expect(try proxy.admin("GET", "/v1/archives/5").bodyText.contains(#""comment":"5""#))
            #expect(try proxy.admin("GET", "/v1/archives/6").status == 404)
            #expect(try proxy.admin("GET", "/v1/archives").status == 405)
        }
    }

    @Test func `what is no archive, or too long, is refused`() async throws {
        try await ProxyFixture.run(ProxyFixture.adminSocket) { proxy in
            let broken = try post(proxy, #"{"log":{}}"#)
            #expect(broken.status == 400)
            #expect(try post(proxy, #"{"log":{"entries":[]}}"#, type: "text/plain").status == 415)
            #expect(try post(proxy, String(repeating: " ", count: 17 << 20)).status == 413)
            #expect(try proxy.admin("GET", "/v1/archives/1").status == 404)
        }
    }

    @Test func `har show hands the file over and prints where it is`() async throws {
        try await ProxyFixture.run(ProxyFixture.adminSocket) { proxy in
            let archive = #"{"log":{"entries":[],"comment":"mine"}}"#
            try proxy.write(archive, to: "x.har")
            let place = ["--socket", proxy.adminPath, "\(proxy.directory)/x.har"]
            let shown = try Lupin.run(["har", "show", "--print"] + place)
            #expect(shown.code == 0, "\(shown.errors)")
            let form = /http:\/\/127\.0\.0\.1:\d+\/#code=[0-9a-f]+&archive=1\n/
            #expect(shown.output.wholeMatch(of: form) != nil, "\(shown.output)")
            #expect(try proxy.admin("GET", "/v1/archives/1").bodyText == archive)
            // Without a display nothing is opened.
            #expect(try Lupin.run(["har", "show"] + place).output.hasSuffix("&archive=2\n"))
            let nothing = try Lupin.run("har", "show", "--socket", proxy.adminPath, "/nonexistent")
            #expect(nothing.code == 1 && nothing.errors.contains("cannot read /nonexistent"))
        }
        let alone = try Lupin.run("har", "show", "--socket", "/nonexistent/x", "/dev/null")
        #expect(alone.code == 1 && alone.errors.contains("is no HTTP archive"))
    }
}
