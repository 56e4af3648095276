// Origins that repeat the credential to a command that has its stand-in: nobody asked for scrub.
import LupinCoding
import LupinCore
import LupinTestKit
import Testing

struct EchoedCredentialTests {
    private static let standIn = StandInTests.standIn
    private static let secret = StandInTests.secret
    private static let rule = rules("")

    private static func rules(_ more: String) -> String {
        "rules: [{name: a, match: {host: a.test}, "
            + "stand_ins: {tokens: [github], in: [fields, query]}\(more)}]"
    }

    private static let base64 = Base64Text.encode(Array("user:\(secret)".utf8))
    private static let percent = "s3cret%2Fvalue-of-github"

    /// An origin's whole response, with a body that is as long as it says.
    private static func reply(
        _ fields: String,
        _ body: String = "echo: \(secret)",
        start: String = "200 OK"
    ) -> String {
        let lines = fields.isEmpty ? "" : fields + "\r\n"
        return "HTTP/1.1 \(start)\r\nContent-Length: \(body.utf8.count)\r\n\(lines)\r\n\(body)"
    }

    private static let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    private static let interim =
        "HTTP/1.1 103 \(secret)\r\nLink: <\(percent)>\r\nX-T: \(secret)\r\n\r\n"

    private static let responses: [(what: String, response: String)] = [
        ("reason", "HTTP/1.1 200 \(secret)\r\nContent-Length: 0\r\n\r\n"),
        ("interim", interim + reply("", "")),
        ("field", reply("X-Echo: token \(secret)", "")),
        ("link", reply("Link: </?t=\(percent)>; rel=next", "")),
        ("basic", reply("X-Echo: Basic \(base64)", "")),
        ("field name", reply("X-\(percent): 1", "")),
        ("cookie", reply("Set-Cookie: t=\(secret)", "")),
        ("location", reply("Location: https://evil.test/?u=\(base64)&t=\(secret)", "")),
        ("refresh", reply("Refresh: 0; url=/?t=\(percent)", "")),
        ("no type", reply("")),
        ("text", reply("Content-Type: text/html")),
        ("two types", reply("Content-Type: image/png\r\nContent-Type: text/plain")),
        ("message", reply("Content-Type: message/http")),
        ("parts", reply("Content-Type: multipart/byteranges; boundary=x")),
        ("form", reply("Content-Type: multipart/form-data; boundary=x")),
        ("image", reply("Content-Type: image/png", "\u{1}\u{0}\(secret)\u{0}")),
        ("svg", reply("Content-Type: image/svg+xml")),
        ("binary", reply("Content-Type: application/octet-stream")),
        ("zip", reply("Content-Type: application/zip")),
        ("odd type", reply("Content-Type: ;;;")),
        ("percent", reply("Content-Type: text/html", "<a href='/?q=\(percent)'>")),
        ("JSON", reply("Content-Type: application/json", "{\"q\":\"s3cret\\/value-of-github\"}")),
        ("HTML", reply("Content-Type: text/html", "s3cret&#x2F;value-of-github")),
        ("base64", reply("Content-Type: text/plain", "Basic \(base64)")),
        ("identity", reply("Content-Encoding: identity")),
        ("error", reply("Content-Type: text/plain", secret, start: "500 \(secret)")),
        ("part", reply("Content-Range: bytes 0-21/22", secret, start: "206 Partial Content")),
        ("trailer", chunked + "2\r\nhi\r\n0\r\nX-T: \(secret)\r\n\r\n"),
        ("chunks", chunked + secret.map { "1\r\n\($0)\r\n" }.joined() + "0\r\n\r\n"),
    ]

    /// Whether a form of the secret stands in what the client got.
    private static func isShown(in text: String) -> Bool {
        // The middle of the base64, which no other text has.
        let digits = base64.dropFirst(8).dropLast(4)
        return ["value-of-github", String(digits)].contains { text.contains($0) }
    }

    @Test(arguments: responses.indices, [false, true])
    func `no form of the credential comes back`(index: Int, isBytewise: Bool) async throws {
        let (what, response) = Self.responses[index]
        try await StandInTests.run(Self.rule) { proxy, origin in
            let client = try proxy.client()
            let fields = ["Authorization: token \(Self.standIn)", "TE: trailers"]
            try client.send(
                "GET",
                "http://\(origin.authority("a.test"))/?q=\(Self.standIn)",
                fields
            )
            let connection = try origin.accept()
            let request = try connection.request()
            #expect(request["authorization"] == "token \(Self.secret)")
            #expect(request.target.contains(Self.percent))
            if isBytewise {
                try connection.sendBytewise(response)
            } else {
                try connection.send(response)
            }
            let received = try client.response()
            #expect(received.status != 502, "\(what)")
            let text = client.stream.receivedText + received.bodyText
            #expect(!Self.isShown(in: text), "\(what): \(text)")
        }
    }

    @Test(arguments: [
        "exi", "gzip, exi", "compress", "lz4", "gzip;q=1", "zlib", "\"gzip\"", "*", "gzip gzip",
        "x-x-gzip, none",
    ])
    func `what lupin can't look into is refused`(codings: String) async throws {
        try await StandInTests.run(Self.rule) { proxy, origin in
            let client = try proxy.client()
            let url = "http://\(origin.authority("a.test"))/"
            try client.send("GET", url, ["X-Key: \(Self.standIn)"])
            let connection = try origin.accept()
            try connection.request()
            try connection.send(Self.reply("Content-Encoding: \(codings)"))
            let response = try client.response()
            #expect(response.status == 502)
            // The command must not learn how to get the secret; the owner may.
            #expect(!response.bodyText.contains("scrub: false"))
            #expect(try proxy.record()["error.detail"]?.contains("scrub: false") == true)
            #expect(!Self.isShown(in: client.stream.receivedText))
        }
    }

    /// By its stand-in, without it, and in a field of the rule's own.
    @Test(arguments: [
        ("stand_ins: [github]", standIn), ("request: [{auth: github}]", standIn),
        ("request: [{auth: github}]", "none"),
        ("request: [{set: {X-Key: '${token:github}'}}]", "none"),
    ])
    func `another protocol is refused where a credential went out`(
        keys: String,
        sent: String
    ) async throws {
        try await StandInTests.run("rules: [{match: {host: a.test}, \(keys)}]") { proxy, origin in
            let client = try proxy.client()
            let url = "http://\(origin.authority("a.test"))/"
            let upgrade = ["Connection: Upgrade", "Upgrade: echo"]
            try client.send("GET", url, upgrade + ["X-Key: \(sent)"])
            let connection = try origin.accept()
            try connection.request()
            let fields = "Connection: Upgrade\r\nUpgrade: echo\r\n"
            try connection.send("HTTP/1.1 101 Switching\r\n\(fields)\r\n\(Self.secret)")
            let response = try client.response()
            #expect(response.status == 502)
            // The command must not learn how to get the secret; the owner may.
            #expect(!response.bodyText.contains("scrub: false"))
            #expect(try proxy.record()["error.detail"]?.contains("scrub: false") == true)
            #expect(!Self.isShown(in: client.stream.receivedText))
        }
    }

    private static func encoded(_ text: String) -> String { Base64Text.encode(Array(text.utf8)) }

    /// Not the text of the token's definition: the client chooses the user.
    @Test(arguments: ["u", "x-access-token", ""])
    func `a Basic of the client's own user is masked in every form`(user: String) async throws {
        let value = "Basic " + Self.encoded("\(user):\(Self.secret)")
        let forms = [
            HexText.text(Array(value.utf8)), HexText.text(Array(value.utf8)).uppercased(),
            Self.encoded(Self.encoded(value)), Self.encoded(value),
        ]
        try await StandInTests.run(Self.rule) { proxy, origin in
            let client = try proxy.client()
            let pair = Self.encoded("\(user):\(Self.standIn)")
            let url = "http://\(origin.authority("a.test"))/"
            try client.send("GET", url, ["Authorization: Basic \(pair)"])
            let connection = try origin.accept()
            #expect(try connection.request()["authorization"] == value)
            try connection.send(Self.reply("", forms.joined(separator: "\n")))
            let response = try client.response()
            #expect(response.status == 200)
            for form in forms {
                // The end of each holds the password's.
                #expect(!response.bodyText.contains(form.suffix(24)), "\(response.bodyText)")
            }
        }
    }

    @Test func `a credential in a field of the rule's own is masked, too`() async throws {
        let keys = "request: [{set: {X-Key: 'key=${token:github}'}}]"
        try await StandInTests.run("rules: [{match: {host: a.test}, \(keys)}]") { proxy, origin in
            let client = try proxy.client()
            try client.send("GET", "http://\(origin.authority("a.test"))/", [])
            let connection = try origin.accept()
            #expect(try connection.request()["X-Key"] == "key=\(Self.secret)")
            try connection.send(Self.reply("X-Echo: \(Self.secret)"))
            #expect(try client.response().status == 200)
            #expect(!Self.isShown(in: client.stream.receivedText))
        }
    }

    @Test(
        arguments: ["TRACE", "TRACK", "trace"],
        ["stand_ins: [github]", "request: [{auth: github}]"]
    )
    func `a method that repeats the request gets no credential`(
        method: String,
        keys: String
    ) async throws {
        try await StandInTests.run("rules: [{match: {host: a.test}, \(keys)}]") { proxy, origin in
            let client = try proxy.client()
            try client.send(
                method,
                "http://\(origin.authority("a.test"))/",
                ["X-Key: \(Self.standIn)"]
            )
            let response = try client.response()
            #expect(response.status == 403)
            #expect(!Self.isShown(in: client.stream.receivedText))
            #expect(try proxy.record()["outcome"] == "denied")
        }
    }

    @Test func `over HTTP2 the same holds, in fields, body and trailers`() async throws {
        try await StandInTests.run(Self.rule) { proxy, origin in
            let client = try HTTP2Client(to: proxy.address)
            let authority = origin.authority("a.test")
            let head = HTTP2Fields.request(authority: authority, path: "/?q=\(Self.standIn)")
            let stream = try client.send(head + ["x-key": Self.standIn, "te": "trailers"])
            let connection = try origin.accept()
            #expect(try connection.request()["x-key"] == Self.secret)
            let fields = "X-Echo: \(Self.secret)\r\nContent-Type: image/png\r\n"
            try connection.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\(fields)\r\n")
            let size = String(Self.secret.utf8.count, radix: 16)
            try connection.send("\(size)\r\n\(Self.secret)\r\n0\r\nX-T: \(Self.secret)\r\n\r\n")
            let response = try client.response(on: stream)
            #expect(response.status == 200)
            #expect(!Self.isShown(in: String(describing: response)))
            #expect(!Self.isShown(in: String(decoding: response.body, as: UTF8.self)))
        }
    }

    @Test func `what is stored for the command is masked, too`() async throws {
        try await StandInTests.run(Self.rules(", cache: standard")) { proxy, origin in
            let client = try proxy.client()
            let url = "http://\(origin.authority("a.test"))/"
            try client.send("GET", url, ["X-Key: \(Self.standIn)"])
            let connection = try origin.accept()
            try connection.request()
            try connection.send(
                Self.reply("Cache-Control: public, max-age=60\r\nX-E: \(Self.secret)")
            )
            #expect(try !client.response().isHit)
            #expect(try client.get(url, "X-Key: \(Self.standIn)").isHit)
            #expect(!Self.isShown(in: client.stream.receivedText))
        }
    }

    @Test func `a followed redirect tells another host nothing, in whatever form`() async throws {
        try await StandInTests.run(Self.rules(", redirect: {follow: true}")) { proxy, origin in
            let client = try proxy.client()
            let url = "http://\(origin.authority("a.test"))/?q=\(Self.standIn)"
            try client.send("GET", url, ["Authorization: token \(Self.standIn)"])
            let connection = try origin.accept()
            try connection.request()
            let other = try PlayedOrigin()
            let query = "u=\(Self.base64)&t=\(Self.percent)&d=s3cret%252Fvalue-of-github"
            try connection.reply(307, "Location: http://\(other.authority("b.test"))/?\(query)")
            let second = try other.accept()
            let request = try second.request()
            #expect(request["authorization"] == nil)
            #expect(!Self.isShown(in: request.target))
            try second.reply(body: "b")
            #expect(try client.response().bodyText == "b")
        }
    }

    @Test func `events pass as soon as their line has come`() async throws {
        try await StandInTests.run(Self.rule) { proxy, origin in
            let client = try proxy.client()
            try client.send(
                "GET",
                "http://\(origin.authority("a.test"))/",
                ["X-Key: \(Self.standIn)"]
            )
            let connection = try origin.accept()
            try connection.request()
            let type = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
            try connection.send(type + "Connection: close\r\n\r\ndata: a\n\n")
            _ = try client.stream.head()
            #expect(try client.stream.text(12) == "9\r\ndata: a\n\n")
        }
    }

    @Test func `scrub: false shows it, and only there`() async throws {
        try await StandInTests.run(Self.rules(", scrub: false")) { proxy, origin in
            let client = try proxy.client()
            try client.send(
                "GET",
                "http://\(origin.authority("a.test"))/",
                ["X-Key: \(Self.standIn)"]
            )
            let connection = try origin.accept()
            try connection.request()
            try connection.send(Self.reply(""))
            #expect(try client.response().bodyText == "echo: \(Self.secret)")
        }
    }

    @Test(arguments: [
        ("stand_ins: [github]", "/?q=\(standIn)", "/?q=\(standIn)"),
        ("stand_ins: [github]", "/\(standIn)", "/\(standIn)"),
        ("request: [{auth: github}]", "/?q=\(standIn)", "/?q=\(standIn)"),
        ("stand_ins: {tokens: github, in: query}", "/?q=\(standIn)", "/?q=\(percent)"),
        ("stand_ins: {tokens: github, in: [path]}", "/a/\(standIn)?q=1", "/a/\(percent)?q=1"),
        (
            "request: [{auth: github}], stand_ins: {in: [fields, query]}", "/?\(standIn)",
            "/?\(percent)"
        ),
    ])
    func `in query and path it is exchanged where a rule says so, and nowhere else`(
        keys: String,
        path: String,
        sent: String
    ) async throws {
        try await StandInTests.run("rules: [{match: {host: a.test}, \(keys)}]") { proxy, origin in
            let client = try proxy.client()
            try client.send("GET", "http://\(origin.authority("a.test"))\(path)")
            let connection = try origin.accept()
            #expect(try connection.request().target == sent)
            try connection.reply(body: "")
            #expect(try client.response().status == 200)
            let isElsewhere = path == sent
            let elsewhere = try proxy.record().list("stand_ins.elsewhere")
            #expect(elsewhere == (isElsewhere ? ["github"] : []))
        }
    }
}
