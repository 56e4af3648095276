// Bodies that rules edit, on their way up and down.
import LupinCoding
import LupinTestKit
import Synchronization
import Testing

struct BodyEditScenarioTests {
    private static let down = """
        rules: [{match: "127.0.0.1", response: [
          {body: {replace: {from: /staging/, to: dev}}}, {json: {set: {/new: true}}}]}]
        """
    private static let up = """
        rules: [{match: "127.0.0.1", retry: standard, request: [
          {json: {set: {/by: lupin}, remove: [/secret]}}]}]
        """
    private static let edited = "{\"a\":\"dev dev\",\"new\":true}"
    private static let plain = "{\"a\":\"staging staging\"}"

    private func run(
        _ rules: String = down,
        _ answer: @Sendable @escaping (OriginConnection, ScriptedMessage) throws -> Void,
        _ body: @Sendable @escaping (ProxyFixture, ScriptedOrigin) async throws -> Void
    ) async throws {
        try await ProxyFixture.run(rules) { proxy in
            let origin = try proxy.origin { connection in
                while let request = try connection.nextRequest() {
                    try answer(connection, request)
                }
            }
            try await body(proxy, origin)
        }
    }

    // MARK: Bodies that pass piece by piece

    @Test func `an upload that says Incremental goes on as it comes`() async throws {
        try await ProxyFixture.run(Self.up) { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            try client.send("POST", origin.url(), ["Incremental: ?1", "Content-Length: 7"])
            let connection = try origin.accept()
            _ = try connection.requestHead()
            try client.send("{\"a\":")
            #expect(try connection.stream.text(5) == "{\"a\":")
            try client.send("1}")
            #expect(try connection.stream.text(2) == "1}")
            try connection.reply()
            _ = try client.response(to: "POST")
            let steps = try proxy.record().text
            #expect(steps.contains("dropped: Incremental asks for the body piece by piece"))
        }
    }

    @Test func `a response that says Incremental goes on as it comes`() async throws {
        try await ProxyFixture.run(Self.down) { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            try client.send("GET", origin.url())
            let connection = try origin.accept()
            try connection.request()
            try connection.send("HTTP/1.1 200 OK\r\nIncremental: ?1\r\nContent-Length: 14\r\n\r\n")
            try connection.send("staging")
            _ = try client.stream.head()
            #expect(try client.stream.text(7) == "staging")
            try connection.send("staging")
            #expect(try client.stream.text(7) == "staging")
        }
    }

    // MARK: Responses

    @Test func `a response is edited, with its length and validator put right`() async throws {
        let answer: @Sendable (OriginConnection, ScriptedMessage) throws -> Void = {
            #expect($1["Range"] == nil && $1["If-Range"] == nil)
            #expect($1["Accept-Encoding"] == "gzip;q=0.5")
            try $0.reply(
                200,
                "ETag: \"v1\"",
                "Accept-Ranges: bytes",
                "Content-Digest: sha-256=:AA==:",
                body: Self.plain
            )
        }
        try await run(Self.down, answer) { proxy, origin in
            let response = try proxy.client().get(
                origin.url(),
                "Range: bytes=0-3",
                "If-Range: \"v1\"",
                "Accept-Encoding: br, gzip;q=0.5"
            )
            #expect(response.status == 200 && response.bodyText == Self.edited)
            #expect(response["Content-Length"] == "\(Self.edited.utf8.count)")
            #expect(response["ETag"] == "W/\"v1\"")
            #expect(response["Accept-Ranges"] == nil && response["Content-Digest"] == nil)
            let steps = try proxy.records(1)[0].list("rules.steps")
            #expect(steps == ["response body replace", "response json /new"])
        }
    }

    @Test func `a coding comes off and is put on again`() async throws {
        let coded = try WholeBody.encoded(Array(Self.plain.utf8), with: ["gzip"])
        try await run {
            _ = $1
            try $0.send("HTTP/1.1 200 X\r\nContent-Encoding: gzip\r\n")
            try $0.send("Content-Length: \(coded.count)\r\n\r\n")
            try $0.send(coded)
        } _: { proxy, origin in
            let response = try proxy.client().get(origin.url())
            #expect(response["Content-Encoding"] == "gzip")
            let plain = try WholeBody.decoded(response.body, from: ["gzip"], bytesMax: 1000)
            #expect(String(decoding: plain, as: UTF8.self) == Self.edited)
        }
    }

    @Test(arguments: ["br", "zstd", "gzip, br"])
    func `a coding that lupin never applies comes off for good`(coding: String) async throws {
        let plain = Array(Self.plain.utf8)
        let coded =
            switch coding {
            case "br": CompressedBody.brotli(plain)
            case "zstd": CompressedBody.zstd(plain)
            default: CompressedBody.brotli(Coded.gzip(plain))
            }
        try await run {
            let body = $1.target == "/damaged" ? Array(coded.dropLast()) : coded
            try $0.send("HTTP/1.1 200 X\r\nContent-Encoding: \(coding)\r\nETag: \"v1\"\r\n")
            try $0.send("Content-Length: \(body.count)\r\n\r\n")
            try $0.send(body)
        } _: { proxy, origin in
            let client = try proxy.client()
            let response = try client.get(origin.url())
            #expect(response["Content-Encoding"] == nil && response["ETag"] == "W/\"v1\"")
            #expect(response.bodyText == Self.edited)
            let damaged = try client.get(origin.url("/damaged"))
            #expect(damaged["Content-Encoding"] == coding && damaged["ETag"] == "\"v1\"")
            #expect(damaged.body == Array(coded.dropLast()))
            let steps = try proxy.records(2)[1].list("rules.steps").joined()
            #expect(steps.contains("it ends too early"))
        }
    }

    @Test func `an upload that was edited loses a coding that lupin never applies`() async throws {
        try await run(Self.up) {
            #expect($1["Content-Encoding"] == nil && $1["Content-Digest"] == nil)
            #expect($1.bodyText == "{\"a\":1,\"by\":\"lupin\"}")
            try $0.reply(body: "ok")
        } _: { proxy, origin in
            let client = try proxy.client()
            for (coding, body) in [
                ("br", CompressedBody.brotli(Array("{\"a\":1}".utf8))),
                ("zstd", CompressedBody.zstd(Array("{\"a\":1}".utf8))),
            ] {
                let fields = [
                    "Content-Encoding: \(coding)", "Content-Digest: sha-256=:AA==:",
                    "Content-Length: \(body.count)",
                ]
                try client.send("POST", origin.url(), fields)
                try client.send(body)
                #expect(try client.response(to: "POST").bodyText == "ok")
            }
        }
    }

    @Test func `a chunked body and one that comes byte by byte are edited too`() async throws {
        try await run {
            if $1.target == "/chunked" {
                try $0.send("HTTP/1.1 200 X\r\nTransfer-Encoding: chunked\r\n\r\n")
                for byte in Self.plain { try $0.send("1\r\n\(byte)\r\n") }
                try $0.send("0\r\n\r\n")
            } else {
                let length = Self.plain.utf8.count
                try $0.sendBytewise("HTTP/1.1 200 X\r\nContent-Length: \(length)\r\n\r\n")
                try $0.sendBytewise(Self.plain)
            }
        } _: { proxy, origin in
            let client = try proxy.client()
            for path in ["/chunked", "/slow", "/chunked"] {
                let response = try client.get(origin.url(path))
                #expect(response.bodyText == Self.edited)
                #expect(response["Content-Length"] == "\(Self.edited.utf8.count)")
            }
        }
    }

    @Test func `a long body, a part and a stream pass as they are, and the record says why`()
        async throws
    {
        let long = Self.plain + String(repeating: " ", count: 1 << 20)
        try await run {
            switch $1.target {
            case "/long": try $0.reply(body: long)
            case "/chunked":
                try $0.send("HTTP/1.1 200 X\r\nTransfer-Encoding: chunked\r\n\r\n")
                try $0.send("\(String(long.utf8.count, radix: 16))\r\n\(long)\r\n0\r\n\r\n")
            case "/part": try $0.reply(206, "Content-Range: bytes 0-23/100", body: Self.plain)
            case "/events":
                try $0.reply(200, "Content-Type: text/event-stream", body: "data: staging")
            default: try $0.reply(200, "Content-Encoding: compress", body: "staging")
            }
        } _: { proxy, origin in
            let client = try proxy.client()
            for (index, (path, body, reason)) in [
                ("/long", long, "longer than 1 MiB"), ("/chunked", long, "longer than 1 MiB"),
                ("/part", Self.plain, "a part only"), ("/events", "data: staging", "no end"),
                ("/z", "staging", "coded with compress"),
            ].enumerated() {
                #expect(try client.get(origin.url(path)).bodyText == body)
                let steps = try proxy.records(index + 1)[index].list("rules.steps")
                #expect(steps.count == 2 && steps.allSatisfy { $0.contains(reason) }, "\(steps)")
            }
        }
    }

    @Test func `without memory for it a body passes as it is`() async throws {
        try await run("limits: {replay_memory: 0}\n" + Self.down) {
            _ = $1
            try $0.reply(body: Self.plain)
        } _: { proxy, origin in
            #expect(try proxy.client().get(origin.url()).bodyText == Self.plain)
            let steps = try proxy.records(1)[0].list("rules.steps")
            #expect(steps.count == 2 && steps.allSatisfy { $0.contains("too many bodies") })
        }
    }

    @Test func `HEAD and 304 say nothing that GET would not`() async throws {
        try await run {
            if $1.method == "HEAD" {
                try $0.send("HTTP/1.1 200 X\r\nContent-Length: 99\r\nETag: \"v\"\r\n\r\n")
            } else {
                try $0.send("HTTP/1.1 304 X\r\nETag: \"v\"\r\n\r\n")
            }
        } _: { proxy, origin in
            let client = try proxy.client()
            try client.send("HEAD", origin.url())
            let head = try client.response(to: "HEAD")
            #expect(head["Content-Length"] == nil && head["ETag"] == "W/\"v\"")
            #expect(try client.get(origin.url(), "If-None-Match: W/\"v\"").status == 304)
        }
    }

    @Test func `a body that breaks off while it is collected is a 502, not half a body`()
        async throws
    {
        try await ProxyFixture.run(Self.down + "\n") { proxy in
            let origin = try proxy.origin { connection in
                _ = try connection.request()
                try connection.send("HTTP/1.1 200 X\r\nContent-Length: 100\r\n\r\n{\"a\":")
                connection.close()
            }
            #expect(try proxy.client().get(origin.url()).status == 502)
        }
    }

    @Test func `what is stored is the origin's, and every hit is edited`() async throws {
        let rules = Self.down.replacing("response:", with: "cache: standard, response:")
        let requests = Mutex(0)
        try await run(rules) {
            _ = $1
            requests.withLock { $0 += 1 }
            try $0.reply(200, "Cache-Control: max-age=60", body: Self.plain)
        } _: { proxy, origin in
            let client = try proxy.client()
            for _ in 0..<3 { #expect(try client.get(origin.url()).bodyText == Self.edited) }
            #expect(requests.withLock { $0 } == 1)
        }
    }

    // MARK: Requests

    @Test func `a request is edited, with its length put right`() async throws {
        try await run(Self.up) {
            #expect($1["Transfer-Encoding"] == nil && $1["Content-MD5"] == nil)
            #expect($1["Content-Length"] == "\($1.body.count)")
            try $0.reply(body: $1.bodyText)
        } _: { proxy, origin in
            let client = try proxy.client()
            let body = "{\"secret\":1,\"n\":2}"
            let lines = head(
                "POST \(origin.url()) HTTP/1.1",
                "Host: \(origin.authority)",
                "Content-MD5: x",
                "Content-Length: \(body.utf8.count)"
            )
            try client.send(lines + body)
            #expect(try client.response().bodyText == "{\"n\":2,\"by\":\"lupin\"}")
            let chunked = head(
                "POST \(origin.url()) HTTP/1.1",
                "Host: \(origin.authority)",
                "Transfer-Encoding: chunked"
            )
            try client.send(chunked)
            try client.sendBytewise("2\r\n{}\r\n0\r\n\r\n")
            #expect(try client.response().bodyText == "{\"by\":\"lupin\"}")
            #expect(try proxy.records(2)[1].list("rules.steps") == ["json /by -/secret"])
        }
    }

    @Test func `a client that waits for 100 gets it before its body is read`() async throws {
        try await run(Self.up) {
            try $0.reply(body: $1.bodyText)
        } _: { proxy, origin in
            let client = try proxy.client()
            let lines = head(
                "POST \(origin.url()) HTTP/1.1",
                "Host: \(origin.authority)",
                "Expect: 100-continue",
                "Content-Length: 2"
            )
            try client.send(lines)
            #expect(try client.interimResponse().status == 100)
            try client.send("{}")
            #expect(try client.response().bodyText == "{\"by\":\"lupin\"}")
        }
    }

    @Test func `a repetition sends the edited body again`() async throws {
        let requests = Mutex(0)
        try await run(Self.up) {
            let number = requests.withLock {
                $0 += 1
                return $0
            }
            #expect($1.bodyText == "{\"n\":1,\"by\":\"lupin\"}")
            try $0.reply(number == 1 ? 503 : 200, body: $1.bodyText)
        } _: { proxy, origin in
            let client = try proxy.client()
            try client.send("PUT", origin.url(), body: "{\"n\":1}")
            let response = try client.response()
            #expect(response.status == 200 && response.bodyText == "{\"n\":1,\"by\":\"lupin\"}")
            #expect(try proxy.records(1)[0].list("rules.steps") == ["json /by -/secret"])
        }
    }

    @Test func `a long request passes as it came`() async throws {
        let long = "{}" + String(repeating: " ", count: 1 << 20)
        try await run(Self.up) {
            try $0.reply(body: "\($1.body.count)")
        } _: { proxy, origin in
            let client = try proxy.client()
            try client.send("POST", origin.url(), body: long)
            #expect(try client.response().bodyText == "\(long.utf8.count)")
            let lines = head(
                "POST \(origin.url()) HTTP/1.1",
                "Host: \(origin.authority)",
                "Transfer-Encoding: chunked"
            )
            try client.send(lines)
            try client.send("\(String(long.utf8.count, radix: 16))\r\n\(long)\r\n0\r\n\r\n")
            #expect(try client.response().bodyText == "\(long.utf8.count)")
            let steps = try proxy.records(2)[1].list("rules.steps")
            #expect(steps == ["json /by -/secret (dropped: the body is longer than 1 MiB)"])
        }
    }
}
