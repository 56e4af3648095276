// Request bodies that a rule has compressed: the same bytes arrive, and plain ones if need be.
import LupinCoding
import LupinCore
import LupinTestKit
import Testing

struct CompressionTests {
    private func rules(_ coding: String, _ more: String = "", _ before: String = "") -> String {
        """
        \(before)
        rules:
          - name: c
            match: {path: /**}
            request: [{compress: {with: \(coding), min: 1KiB}}\(more)]
        """
    }

    private static func decoded(_ request: ScriptedMessage) throws -> [UInt8] {
        guard let token = request["content-encoding"] else { return request.body }
        let coding = try #require(DecodableCoding(token))
        var decoder = ContentDecoder(coding, bytesMax: 10 << 20, ratioMax: 100_000)
        var output: [UInt8] = []
        try decoder.decode(request.body.span, isLast: true, into: &output)
        return output
    }

    private static let body = Array(String(repeating: "hello compression ", count: 8000).utf8)

    @Test(arguments: ["gzip", "deflate"])
    func `a body arrives shorter and decodes to the same bytes`(_ coding: String) async throws {
        try await ProxyFixture.run(rules(coding)) { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            let fields = ["Content-Length: \(Self.body.count)", "Content-Type: text/plain"]
            try client.send("POST", origin.url(), fields)
            try client.send(Self.body)
            let connection = try origin.accept()
            let request = try connection.request()
            #expect(request["content-encoding"] == coding)
            #expect(request["content-length"] == "\(request.body.count)")
            #expect(request.body.count < Self.body.count / 10)
            #expect(try Self.decoded(request) == Self.body)
            try connection.reply(body: "in")
            #expect(try client.response(to: "POST").bodyText == "in")
            #expect(try proxy.record()["http.request.body.size"] == "\(Self.body.count)")
        }
    }

    /// Nothing was processed, so no policy has a say: only the body must have been kept.
    @Test(arguments: ["", "retry: safe, ", "retry: none, ", "retry: standard, "])
    func `a long body is compressed while it passes, and sent plain after a 411`(
        retry: String
    ) async throws {
        let body = Self.body + Self.body
        let rules = everywhere("\(retry)request: [{compress: {with: gzip}}]")
        try await ProxyFixture.run(rules) { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            try client.send("POST", origin.url(), ["Content-Length: \(body.count)"])
            try client.send(body)
            let connection = try origin.accept()
            let packed = try connection.request()
            #expect(packed["content-length"] == nil)
            #expect(try Self.decoded(packed) == body)
            try connection.reply(411)
            let plain = try connection.request()
            #expect(plain["content-encoding"] == nil)
            #expect(plain["content-length"] == "\(body.count)")
            #expect(plain.body == body)
            try connection.reply(body: "in")
            #expect(try client.response(to: "POST").bodyText == "in")
            let attempt = "the server refuses compressed bodies"
            #expect(try proxy.record()["attempts.0.reason"] == attempt)
        }
    }

    @Test func `what a policy does not keep is the client's, and the next one is plain`()
        async throws
    {
        let body = Self.body + Self.body
        let rules = everywhere(
            "retry: {use: standard, replay_spill: 0}, request: [{compress: {with: gzip}}]"
        )
        try await ProxyFixture.run(rules) { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            try client.send("POST", origin.url(), ["Content-Length: \(body.count)"])
            try client.send(body)
            let connection = try origin.accept()
            #expect(try connection.request()["content-encoding"] == "gzip")
            try connection.reply(411)
            #expect(try client.response(to: "POST").status == 411)
            try client.send("POST", origin.url(), ["Content-Length: \(body.count)"])
            try client.send(body)
            let plain = try connection.request()
            #expect(plain["content-length"] == "\(body.count)")
            try connection.reply()
            #expect(try client.response(to: "POST").status == 200)
        }
    }

    @Test func `a 411 that compression has not caused leaves it on`() async throws {
        try await ProxyFixture.run(rules("gzip")) { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            // The client knows no length itself.
            try client.send(
                head(
                    "POST \(origin.url()) HTTP/1.1",
                    "Host: \(origin.authority)",
                    "Transfer-Encoding: chunked"
                ) + "5\r\nhello\r\n0\r\n\r\n"
            )
            let connection = try origin.accept()
            #expect(try connection.request()["content-encoding"] == "gzip")
            try connection.reply(411)
            #expect(try client.response(to: "POST").status == 411)
            // One with a length says 411 for reasons of its own.
            for status in [411, 200] {
                try client.send("POST", origin.url(), ["Content-Length: \(Self.body.count)"])
                try client.send(Self.body)
                let request = try connection.request()
                #expect(request["content-encoding"] == "gzip")
                #expect(request["content-length"] == "\(request.body.count)")
                try connection.reply(status)
                #expect(try client.response(to: "POST").status == UInt16(status))
            }
            #expect(try proxy.records(3).allSatisfy { $0.count("attempts") == 1 })
        }
    }

    @Test(arguments: [411, 200])
    func `a host that says 411 to the plain body too may take compressed ones`(second: Int)
        async throws
    {
        let body = Self.body + Self.body
        let spilling = everywhere("retry: standard, request: [{compress: {with: gzip}}]")
        try await ProxyFixture.run(spilling) { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            var connection: OriginConnection?
            for i in 0..<2 {
                try client.send("POST", origin.url(), ["Content-Length: \(body.count)"])
                try client.send(body)
                let place = try connection ?? origin.accept()
                connection = place
                let isCompressed = try place.request()["content-encoding"] != nil
                #expect(isCompressed == (i == 0 || second == 411))
                if isCompressed {
                    try place.reply(411)
                    #expect(try place.request()["content-encoding"] == nil)
                }
                try place.reply(second)
                #expect(try client.response(to: "POST").status == UInt16(second))
            }
        }
    }

    @Test func `a short body has its compressed length in every attempt`() async throws {
        let retries = """
            rules:
              - match: {path: /**}
                retry: {use: standard, backoff: {scale: 1ms}}
                request: [{compress: {with: gzip}}]
            """
        try await ProxyFixture.run(retries) { proxy in
            let (flaky, origin) = try proxy.flaky(.status(503), .reset, .good)
            let client = try proxy.client()
            try client.send("PUT", origin.url(), ["Content-Length: \(Self.body.count)"])
            try client.send(Self.body)
            #expect(try client.response(to: "PUT").bodyText == "good")
            for request in flaky.requests {
                #expect(request["content-length"] == "\(request.body.count)")
                #expect(try Self.decoded(request) == Self.body)
            }
            #expect(flaky.asked == 3)
            #expect(try proxy.record()["http.request.body.size"] == "\(Self.body.count)")
        }
    }

    @Test func `a chunked upload goes on while it is compressed`() async throws {
        try await ProxyFixture.run(rules("gzip")) { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            try client.send(
                head(
                    "POST \(origin.url()) HTTP/1.1",
                    "Host: \(origin.authority)",
                    "Transfer-Encoding: chunked"
                ) + "5\r\nhello\r\n"
            )
            let connection = try origin.accept()
            var request = try connection.requestHead()
            #expect(request["content-encoding"] == "gzip")
            // What was said so far comes out before the end is known.
            try eventually("the first piece") {
                !connection.stream.unread.isEmpty || connection.stream.socket.hasInput
            }
            try client.send("6\r\n world\r\n0\r\n\r\n")
            try connection.stream.body(of: &request)
            #expect(try Self.decoded(request) == Array("hello world".utf8))
            try connection.reply()
            #expect(try client.response(to: "POST").status == 200)
        }
    }

    @Test(arguments: ["Accept-Encoding: identity", "Accept-Encoding: gzip", "X: y"])
    func `a server that refuses gets the body plain, and at once the next time`(field: String)
        async throws
    {
        try await ProxyFixture.run(rules("gzip")) { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            let fields = ["Content-Length: \(Self.body.count)"]
            try client.send("POST", origin.url(), fields)
            try client.send(Self.body)
            let connection = try origin.accept()
            #expect(try connection.request()["content-encoding"] == "gzip")
            try connection.reply(415, field, body: "plain please")
            for round in 1...2 {
                let request = try connection.request()
                #expect(request["content-encoding"] == nil)
                #expect(request.body == Self.body)
                try connection.reply(body: "\(round)")
                #expect(try client.response(to: "POST").bodyText == "\(round)")
                if round == 2 { break }
                try client.send("POST", origin.url(), fields)
                try client.send(Self.body)
            }
            let record = try proxy.record()
            #expect(record["attempts.0.status"] == "415")
            #expect(record["attempts.0.reason"] == "the server refuses compressed bodies")
        }
    }

    @Test func `a 415 about the media type keeps bodies compressed`() async throws {
        try await ProxyFixture.run(rules("gzip")) { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            var connection: OriginConnection?
            for _ in 1...2 {
                try client.send("POST", origin.url(), ["Content-Length: \(Self.body.count)"])
                try client.send(Self.body)
                let link = try connection ?? origin.accept()
                connection = link
                for coding in ["gzip", nil] {
                    #expect(try link.request()["content-encoding"] == coding)
                    try link.reply(415, body: "not this type")
                }
                let response = try client.response(to: "POST")
                #expect(response.status == 415)
                #expect(response.bodyText == "not this type")
            }
        }
    }

    /// A body that the client compressed is its own matter.
    @Test func `a 415 to the client's own coding is the client's`() async throws {
        try await ProxyFixture.run(rules("gzip")) { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            let fields = ["Content-Length: \(Self.body.count)", "Content-Encoding: gzip"]
            try client.send("POST", origin.url(), fields)
            try client.send(Self.body)
            let connection = try origin.accept()
            #expect(try connection.request()["content-encoding"] == "gzip")
            try connection.reply(415, body: "no")
            #expect(try client.response(to: "POST").status == 415)
            #expect(!connection.stream.socket.hasUnread)
        }
    }

    @Test func `a compressed body is replayed after a 401`() async throws {
        let server = try TokenServer()
        defer { server.stop() }
        let token = """
            tokens:
              me:
                oauth2:
                  {grant: client_credentials, url: "\(server.url)", client: {id: a, secret: b}}
            """
        try await ProxyFixture.run(rules("gzip", ", {auth: me}", token)) { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            try client.send("POST", origin.url(), ["Content-Length: \(Self.body.count)"])
            try client.send(Self.body)
            let connection = try origin.accept()
            for round in 1...2 {
                let request = try connection.request()
                #expect(request["authorization"] == "Bearer t\(round)")
                #expect(request["content-encoding"] == "gzip")
                #expect(try Self.decoded(request) == Self.body)
                try connection.reply(round == 1 ? 401 : 200)
            }
            #expect(try client.response(to: "POST").status == 200)
        }
    }

    @Test func `the limit of a body counts what the client sent`() async throws {
        let text = rules("gzip", "", "limits: {body: 100KiB}")
        try await ProxyFixture.run(text) { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            try client.send(
                head(
                    "POST \(origin.url()) HTTP/1.1",
                    "Host: \(origin.authority)",
                    "Transfer-Encoding: chunked"
                ) + "23280\r\n" + String(repeating: "x", count: 0x23280) + "\r\n0\r\n\r\n"
            )
            let response = try client.response(to: "POST")
            #expect(response.status == 413)
        }
    }

    @Test func `response steps and a delay do what they say`() async throws {
        let rules = """
            rules:
              - name: r
                match: {path: /**}
                request: [{delay: 3s}]
                response: [{remove: [Server, "X-Gone-*"]}, {set: {X-New: "${header:X-Ask}"}}]
            """
        let clock = VirtualClock()
        try await ProxyFixture.run(rules, clock: clock) { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            try client.send("GET", origin.url(), ["X-Ask: asked"])
            try clock.advance(by: .seconds(2))
            try proxy.settle()
            #expect(!origin.hasWaiting)
            try proxy.advance(by: .seconds(2), until: "the request") { origin.hasWaiting }
            let connection = try origin.accept()
            try connection.request()
            try connection.reply(200, "Server: x", "X-Gone-A: 1", "X-Kept: 1", body: "b")
            let response = try client.response()
            #expect(response["server"] == nil && response["x-gone-a"] == nil)
            #expect(response["x-kept"] == "1" && response["x-new"] == "asked")
        }
    }
}
