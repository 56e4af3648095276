// A proxy that plays a tape: what it answers, and that it reaches for nothing else.
import LupinCoding
import LupinCore
import LupinIO
import LupinPolicy
import LupinProxy
import LupinRecords
import LupinTestKit
import Synchronization
import Testing

struct ReplayingTests {
    private static func entry(
        _ method: String = "GET",
        url: String,
        status: Int = 200,
        fields: [(String, String)] = [],
        content: String = #"{"text":"taped"}"#
    ) -> String {
        let headers = fields.map { #"{"name":"\#($0.0)","value":"\#($0.1)"}"# }
        return """
            {"request":{"method":"\(method)","url":"\(url)","headers":[]},"response":\
            {"status":\(status),"headers":[\(headers.joined(separator: ","))],\
            "content":\(content)}}
            """
    }

    private static func deck(_ entries: String...) throws -> TapeDeck {
        let text = #"{"log":{"entries":[\#(entries.joined(separator: ","))]}}"#
        return TapeDeck(try Tape(Array(text.utf8).span, TapeSettings()))
    }

    private static func hooks(_ deck: TapeDeck) -> Hooks {
        var hooks = Hooks()
        hooks.tape = deck
        return hooks
    }

    /// Names that were asked for.
    private final class Inquiries: Sendable {
        private let names = Mutex<[String]>([])
        var all: [String] { names.withLock { $0 } }

        func ask(_ name: String) -> Resolver.Answer {
            names.withLock { $0.append(name) }
            return .success([.v4(0x7F00_0001)])
        }
    }

    /// Rules by which a proxy would use the network in every way it can.
    private static func rules(_ port: UInt16) -> String {
        """
        upstream: {proxy: "http://127.0.0.1:\(port)"}
        tokens:
          t:
            plain_http: true
            oauth2:
              grant: client_credentials
              url: http://127.0.0.1:\(port)/token
              client: {id: a, secret: geheim-geheim}
        rules:
          - match: {host: "**.test"}
            request: [{auth: t}, {url: {host: 127.0.0.1, port: \(port)}}]
            retry: standard
            cache: {use: standard, stale_while_revalidate: 1d}

        """
    }

    @Test func `neither a name is looked up nor a connection made, whatever rules say`()
        async throws
    {
        // One that answers, so that a connection to it shows and nobody waits for it.
        let origin = try ScriptedOrigin { connection in
            while try connection.nextRequest() != nil { try connection.reply(body: "network") }
        }
        defer { origin.stop() }
        let inquiries = Inquiries()
        let stale = [("Cache-Control", "max-age=0"), ("ETag", "\\\"a\\\"")]
        let deck = try Self.deck(
            Self.entry(url: "http://a.test/x", fields: stale),
            Self.entry(url: "https://a.test/x")
        )
        let rules = Self.rules(origin.address.port)
        try await ProxyFixture.run(
            rules,
            resolve: { inquiries.ask($0) },
            hooks: Self.hooks(deck)
        ) { proxy in
            let client = try proxy.client()
            for _ in 1...2 {
                #expect(try client.get("http://a.test/x").bodyText == "taped")
            }
            #expect(try client.get("http://a.test/other").status == 502)
            #expect(try client.get("http://\(origin.authority)/").status == 502)
            let inside = try proxy.client().connectSecurely("a.test:443")
            try inside.send("GET /x HTTP/1.1\r\nHost: a.test\r\n\r\n")
            #expect(try inside.response().bodyText == "taped")
            try inside.send("GET /y HTTP/1.1\r\nHost: a.test\r\n\r\n")
            #expect(try inside.response().status == 502)
        }
        #expect(origin.connections.isEmpty)
        #expect(inquiries.all == [])
        #expect(deck.misses == 3)
    }

    @Test func `what speaks neither TLS nor HTTP in a CONNECT gets no tunnel`() async throws {
        let origin = try PlayedOrigin()
        defer { origin.close() }
        try await ProxyFixture.run(hooks: Self.hooks(try Self.deck())) { proxy in
            let client = try proxy.client()
            try client.send("CONNECT \(origin.authority) HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(try client.response(to: "CONNECT").status == 200)
            try client.send("\u{1}\u{2}\u{3} no protocol of ours\r\n\r\n")
            _ = try client.waitForEnd()
            #expect(!origin.hasWaiting)
            #expect(try proxy.record()["outcome"] == "denied")
        }
    }

    @Test func `base64 is read with line breaks, and one that is broken is told`() async throws {
        let deck = try Self.deck(
            Self.entry(
                url: "http://a.test/x",
                content: #"{"text":"b2\r\ns=","encoding":"base64","mimeType":"text/css"}"#
            ),
            Self.entry(
                url: "http://a.test/y",
                content: #"{"text":"b2s","encoding":"base64"}"#
            )
        )
        try await ProxyFixture.run(hooks: Self.hooks(deck)) { proxy in
            let client = try proxy.client()
            let whole = try client.get("http://a.test/x")
            #expect(whole.bodyText == "ok" && whole["Content-Type"] == "text/css")
            let broken = try client.get("http://a.test/y")
            #expect(broken.status == 502)
            #expect(broken.bodyText.contains("its base64 can't be read"))
            #expect(!broken.bodyText.contains("without its content"))
        }
    }

    @Test func `a response without its content is no empty one`() async throws {
        let deck = try Self.deck(
            Self.entry(url: "http://a.test/x", content: #"{"size":7}"#),
            Self.entry(url: "http://a.test/y", status: 304, content: #"{"size":7}"#),
            Self.entry(
                url: "http://a.test/z",
                fields: [("Set-Cookie", #"a=1\nb=2"#)],
                content: #"{"size":0}"#
            )
        )
        try await ProxyFixture.run(hooks: Self.hooks(deck)) { proxy in
            let client = try proxy.client()
            let missing = try client.get("http://a.test/x")
            #expect(missing.status == 502)
            #expect(missing.bodyText.hasPrefix("The tape has this response without its content."))
            #expect(deck.withoutContent == 1 && deck.misses == 0)
            #expect(try client.get("http://a.test/y").status == 304)
            let cookies = try client.get("http://a.test/z")
            #expect(cookies.status == 200 && cookies.bodyText == "")
            let lines = client.stream.receivedText.split(separator: "\r\n")
            #expect(lines.contains("Set-Cookie: a=1") && lines.contains("Set-Cookie: b=2"))
        }
    }

    private static func ended(_ outcome: String, _ error: String, _ entry: String) -> String {
        entry.dropLast() + #","_outcome":"\#(outcome)","_error":"\#(error)","_detail":"so it was"}"#
    }

    @Test(
        arguments: [
            ([("Content-Length", "10")], #"{"size":3,"text":"abc","_truncated":"end"}"#, "10"),
            ([("Content-Length", "10")], #"{"size":0}"#, "10"),
            ([], #"{"size":3,"text":"abc","_truncated":"end"}"#, nil),
        ] as [([(String, String)], String, String?)]
    )
    func `a response that broke off breaks off again`(
        fields: [(String, String)],
        content: String,
        length: String?
    ) async throws {
        let entry = Self.entry(url: "http://a.test/x", fields: fields, content: content)
        let deck = try Self.deck(Self.ended("truncated", "http_response_incomplete", entry))
        try await ProxyFixture.run(hooks: Self.hooks(deck)) { proxy in
            let client = try proxy.client()
            try client.send("GET", "http://a.test/x")
            let received = String(decoding: try client.stream.untilEnd().bytes, as: UTF8.self)
            #expect(received.hasPrefix("HTTP/1.1 200 OK\r\n"))
            #expect(received.contains("abc") == content.contains("abc"))
            #expect(received.contains("Content-Length: 10\r\n") == (length != nil))
            #expect(!received.contains("0\r\n\r\n") || length != nil)
            let record = try proxy.record()
            #expect(record["outcome"] == "truncated")
            #expect(record["error.type"] == "http_response_incomplete")
            #expect(record["error.detail"]?.hasSuffix("so it was") == true)
        }
    }

    @Test func `an answer of lupin's own is one again`() async throws {
        let fields = [
            ("Proxy-Status", "lupin; error=connection_refused"), ("Lupin-Id", "0123abcd"),
        ]
        let content = #"{"text":"refused; lupin explain 0123abcd tells more"}"#
        let url = "http://a.test/x"
        let entry = Self.entry(url: url, status: 502, fields: fields, content: content)
        let deck = try Self.deck(Self.ended("error", "connection_refused", entry))
        try await ProxyFixture.run(hooks: Self.hooks(deck)) { proxy in
            let response = try proxy.client().get(url)
            #expect(response.status == 502)
            #expect(response["Proxy-Status"] == "lupin; error=connection_refused")
            let id = try #require(response["Lupin-Id"])
            #expect(id != "0123abcd")
            #expect(response.bodyText == "refused; lupin explain \(id) tells more")
            let record = try proxy.record()
            #expect(record["outcome"] == "error")
            #expect(record["error.type"] == "connection_refused")
            #expect(record["error.detail"] == "so it was")
        }
        #expect(deck.misses == 0)
    }

    @Test func `a text is replayed in the character set of its type`() async throws {
        let type = [("Content-Type", "text/plain; charset=iso-8859-1")]
        let deck = try Self.deck(
            Self.entry(url: "http://a.test/x", fields: type, content: #"{"text":"süß"}"#),
            Self.entry(url: "http://a.test/y", fields: type, content: #"{"text":"漢"}"#),
            Self.entry(url: "http://a.test/z", content: #"{"size":500,"text":""}"#)
        )
        try await ProxyFixture.run(hooks: Self.hooks(deck)) { proxy in
            let client = try proxy.client()
            let latin = try client.get("http://a.test/x")
            #expect(latin.body == [0x73, 0xFC, 0xDF])
            #expect(latin["Content-Type"] == "text/plain; charset=iso-8859-1")
            let chinese = try client.get("http://a.test/y")
            #expect(chinese.bodyText == "漢")
            #expect(chinese["Content-Type"] == "text/plain; charset=utf-8")
            #expect(try client.get("http://a.test/z").status == 502)
        }
    }

    @Test func `a miss is an error of the record, with a kind of its own`() async throws {
        let deck = try Self.deck(Self.entry("POST", url: "http://a.test/x?token=REDACTED.0000"))
        try await ProxyFixture.run(hooks: Self.hooks(deck)) { proxy in
            let response = try proxy.client().get("http://a.test/x?token=planted")
            #expect(response.status == 502)
            #expect(response["Content-Type"] == "text/plain; charset=utf-8")
            #expect(response["Proxy-Status"]?.contains("destination_not_found") == true)
            #expect(response.bodyText.contains("method: POST on the tape, GET now"))
            #expect(!response.bodyText.contains("planted"))
            let record = try proxy.record()
            #expect(record["outcome"] == "error")
            #expect(record["error.type"] == "destination_not_found")
        }
    }

    @Test func `fields about the transfer are those of the replay`() async throws {
        let fields = [
            ("Content-Encoding", "gzip"), ("Content-Length", "3"), ("Transfer-Encoding", "chunked"),
            ("Connection", "close"), ("Set-Cookie", "a=1"), ("Set-Cookie", "b=2"),
            ("Date", "Mon, 01 Jan 2024 00:00:00 GMT"), ("X-A", "1"),
        ]
        let deck = try Self.deck(
            Self.entry(
                url: "http://a.test/x",
                fields: fields,
                content: #"{"text":"/wAB/w==","encoding":"base64"}"#
            ),
            Self.entry("HEAD", url: "http://a.test/x", fields: [("Content-Length", "99")]),
            Self.entry("HEAD", url: "http://a.test/y", fields: fields),
            Self.entry(url: "http://a.test/none", status: 204, fields: [("ETag", "b")])
        )
        try await ProxyFixture.run(hooks: Self.hooks(deck)) { proxy in
            let client = try proxy.client()
            let response = try client.get("http://a.test/x")
            #expect(response.body == [0xFF, 0, 1, 0xFF])
            #expect(response["Content-Length"] == "4")
            #expect(response["Content-Encoding"] == nil && response["Transfer-Encoding"] == nil)
            #expect(response.values("Set-Cookie") == ["a=1", "b=2"])
            #expect(response.values("Date") == ["Mon, 01 Jan 2024 00:00:00 GMT"])
            for (path, length) in [("/x", "99"), ("/y", nil)] as [(String, String?)] {
                try client.send("HEAD", "http://a.test\(path)")
                #expect(try client.response(to: "HEAD")["Content-Length"] == length)
            }
            let none = try client.get("http://a.test/none")
            #expect(none.status == 204 && none["Content-Length"] == nil && none["ETag"] == "b")
        }
    }

    @Test func `bodies of requests count, however they come`() async throws {
        let body = #"{"mimeType":"text/plain","text":"one two"}"#
        let recorded = """
            {"request":{"method":"POST","url":"http://a.test/p","headers":[],"postData":\(body)},\
            "response":{"status":201}}
            """
        try await ProxyFixture.run(hooks: Self.hooks(try Self.deck(recorded))) { proxy in
            let client = try proxy.client()
            let start = "POST http://a.test/p HTTP/1.1\r\nHost: a.test\r\n"
            try client.send("\(start)Content-Length: 7\r\n\r\none two")
            #expect(try client.response().status == 201)
            let chunked =
                "\(start)Transfer-Encoding: chunked\r\n\r\n3\r\none\r\n4\r\n two\r\n0\r\n\r\n"
            try client.sendBytewise(chunked)
            #expect(try client.response().status == 201)
            try client.send("\(start)Expect: 100-continue\r\nContent-Length: 7\r\n\r\n")
            #expect(try client.interimResponse().status == 100)
            try client.send("one 222")
            let missed = try client.response()
            #expect(
                missed.bodyText.contains(#"body: "two" on the tape, "222" now, from byte 4 on"#)
            )
            let coded = try WholeBody.encoded(Array("one two".utf8), with: ["gzip"])
            try client.send(
                "\(start)Content-Encoding: gzip\r\nContent-Length: \(coded.count)\r\n\r\n"
            )
            try client.send(coded)
            #expect(try client.response().status == 201)
        }
    }
}
