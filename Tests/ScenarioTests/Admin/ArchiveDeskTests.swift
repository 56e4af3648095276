// Archives by the admin interface: with captured bodies, and those that the inspector is to show.
import Foundation
import LupinTestKit
import Testing

struct ArchiveDeskTests {
    private static let rules =
        ProxyFixture.adminSocket
            + """
            capture: {path: DIR/capture, bodies: 1KiB}
            rules:
              - {match: {path: /kept/**}, capture: true}

            """

    private func json(_ text: String) throws -> [String: Any] {
        let json = try JSONSerialization.jsonObject(with: Data(text.utf8))
        return try #require((json as? [String: Any])?["log"] as? [String: Any])
    }

    private func entries(_ log: [String: Any]) throws -> [[String: Any]] {
        try #require(log["entries"] as? [[String: Any]])
    }

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
            var all: [[String: Any]] = []
            // The thread that writes is a little behind.
            try eventually("captured bodies") {
                all = try entries(try json(try proxy.admin("GET", "/v1/har").bodyText))
                return all.filter {
                    ($0["response"] as? NSDictionary)?
                        .value(forKeyPath: "content.text") != nil
                }.count == 2
            }
            #expect(all.count == 3)
            let first = try #require(all.first as NSDictionary?)
            #expect(first.value(forKeyPath: "request.postData.text") as? String == "//4A")
            #expect(first.value(forKeyPath: "request.postData._encoding") as? String == "base64")
            #expect(first.value(forKeyPath: "request.postData.mimeType") as? String == "a/b")
            #expect(first.value(forKeyPath: "response.content.text") as? String == "äää")
            let second = all[1] as NSDictionary
            #expect(second.value(forKeyPath: "response.content._truncated") as? String == "limit")
            let third = all[2] as NSDictionary
            #expect(third.value(forKeyPath: "response.content.text") == nil)
            let some = try json(try proxy.admin("GET", "/v1/har?filter=path:/other").bodyText)
            #expect(try entries(some).count == 1 && some["comment"] == nil)
            let last = try json(try proxy.admin("GET", "/v1/har?limit=1").bodyText)
            #expect(try entries(last).count == 1)
            #expect(last["comment"] as? String == "these are the last 1 exchanges")
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
            #expect(try post(proxy, #"{"log":{}}"#).status == 400)
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
