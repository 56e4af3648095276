// An origin whose numbers overflow and whose heads split: no byte of it is taken for another's.
import LupinTestKit
import Testing

struct HostileOriginTests {
    /// At the edges of 63 and 64 bits and far behind them.
    static let numbers = [
        "9223372036854775807", "9223372036854775808", "18446744073709551615",
        "18446744073709551616", String(repeating: "9", count: 400), "-1", "+1", "1e9", "",
    ]

    /// Fields with a number in the place of N.
    static let fields = [
        "Age: N", "Cache-Control: max-age=N", "Cache-Control: max-age=1, stale-while-revalidate=N",
        "Cache-Control: s-maxage=N, stale-if-error=N", "Retry-After: N",
        "Set-Cookie: a=b; Max-Age=N", "Alt-Svc: h2=\":443\"; ma=N", "Keep-Alive: timeout=N, max=N",
        "Expires: N", "Date: N",
    ]

    @Test(arguments: fields)
    func `a number of any size in a field leaves the response as it is`(
        field: String
    ) async throws {
        let keys = "cache: standard, retry: none, resume: true, cookies: {jar: DIR/jar}"
        try await ProxyFixture.run(everywhere(keys)) { proxy in
            let origin = try proxy.origin { connection in
                while let request = try connection.nextRequest() {
                    let index = Int(request.target.dropFirst(2)) ?? 0
                    let line = field.replacing("N", with: Self.numbers[index])
                    try connection.reply(200, line, body: "ok")
                }
            }
            let client = try proxy.client()
            for index in Self.numbers.indices {
                for _ in 0..<2 {
                    let response = try client.get(origin.url("/n\(index)"))
                    #expect(response.status == 200)
                    #expect(response.bodyText == "ok")
                }
            }
        }
    }

    @Test(arguments: numbers.prefix(5))
    func `an Age of any size makes a response old and never young`(number: String) async throws {
        try await ProxyFixture.run(everywhere("cache: standard")) { proxy in
            let (flaky, origin) = try proxy.flaky(.fresh("ok", ["Age: \(number)"]))
            let client = try proxy.client()
            for _ in 0..<3 { #expect(try !client.get(origin.url()).isHit) }
            #expect(flaky.asked == 3)
        }
    }

    /// A value greater than can be represented counts as 2^31 (RFC 9111 §1.2.2).
    @Test(arguments: numbers.prefix(5))
    func `a max-age of any size is long and never none`(number: String) async throws {
        try await ProxyFixture.run(everywhere("cache: standard")) { proxy in
            let (flaky, origin) = try proxy.flaky(
                .answer(200, ["Cache-Control: max-age=\(number)"], "ok")
            )
            let client = try proxy.client()
            try client.get(origin.url())
            #expect(try client.get(origin.url()).isHit)
            #expect(flaky.asked == 1)
        }
    }

    /// A server may ignore a Range (RFC 9110 §14.2), and otherwise cuts at the end (§14.1.2).
    @Test(arguments: [
        ("18446744073709551616-", nil), ("9223372036854775807-", nil),
        ("18446744073709551615-18446744073709551616", nil),
        ("9223372036854775808-9223372036854775809", nil), ("-18446744073709551616", 0),
        ("-9223372036854775808", 0), ("0-18446744073709551616", 0), ("2-9223372036854775807", 2),
        ("2-18446744073709551617", 2),
    ])
    func `a range of any size is answered out of memory`(range: String, first: Int?) async throws {
        try await ProxyFixture.run(everywhere("cache: standard")) { proxy in
            let (flaky, origin) = try proxy.flaky(.fresh("0123", ["ETag: \"v1\""]))
            let client = try proxy.client()
            try client.get(origin.url())
            let response = try client.get(origin.url(), "Range: bytes=\(range)")
            switch response.status {
            case 200: #expect(response.bodyText == "0123")
            case 206:
                let place = try #require(first)
                #expect(response.bodyText == "0123".dropFirst(place))
                #expect(response["Content-Range"] == "bytes \(place)-3/4")
            default:
                #expect(first == nil)
                #expect(response.status == 416)
                #expect(response["Content-Range"] == "bytes */4")
            }
            #expect(try client.get(origin.url()).isHit)
            #expect(flaky.asked == 1)
        }
    }

    @Test(arguments: [
        "bytes 5-18446744073709551615/10", "bytes 5-9/18446744073709551616",
        "bytes 18446744073709551621-18446744073709551625/10", "bytes 5-9/9",
        "bytes 4294967301-4294967305/10", "bytes 9-5/10", "bytes -5-9/10", "5-9/10", "bytes 4-8/10",
        "bytes 6-10/11",
    ])
    func `a part that is not what was asked for is not stitched in`(
        place: String
    ) async throws {
        try await ProxyFixture.run(everywhere("cache: standard, resume: true")) { proxy in
            let whole = ["HTTP/1.1 200 OK", "Content-Length: 10", "ETag: \"v1\""]
            let fresh = "Cache-Control: max-age=600"
            let (flaky, origin) = try proxy.flaky(
                .breakOff((whole + [fresh, "", "01234"]).joined(separator: "\r\n")),
                .answer(206, ["ETag: \"v1\"", "Content-Range: \(place)"], "EVILS"),
                .fresh("0123456789")
            )
            let client = try proxy.client()
            try client.send("GET", origin.url())
            let bytes = try client.stream.untilEnd().bytes
            let text = String(decoding: bytes, as: UTF8.self)
            #expect(!text.contains("EVIL"))
            #expect(text.hasSuffix("\r\n\r\n01234"))
            let next = try proxy.client().get(origin.url())
            #expect(next.bodyText == "0123456789")
            #expect(!next.isHit)
            #expect(flaky.asked >= 3)
        }
    }

    @Test(arguments: [
        "7FFFFFFFFFFFFFFF", "8000000000000000", "FFFFFFFFFFFFFFFF", "10000000000000005",
        "FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF",
    ])
    func `a chunk of any size ends with the connection and is not stored`(
        size: String
    ) async throws {
        try await ProxyFixture.run(everywhere("cache: standard, retry: none")) { proxy in
            let lines = ["Cache-Control: max-age=600", "Transfer-Encoding: chunked"]
            let begin = (["HTTP/1.1 200 OK"] + lines).joined(separator: "\r\n")
            let (flaky, origin) = try proxy.flaky(
                .breakOff("\(begin)\r\n\r\n2\r\nok\r\n\(size)\r\nhello"),
                .fresh("good")
            )
            let client = try proxy.client()
            try client.send("GET", origin.url())
            let text = String(decoding: try client.stream.untilEnd().bytes, as: UTF8.self)
            #expect(!text.hasSuffix("\r\n0\r\n\r\n"))
            #expect(!text.uppercased().contains(size))
            let next = try proxy.client().get(origin.url())
            #expect(next.bodyText == "good")
            #expect(!next.isHit)
            #expect(flaky.asked == 2)
        }
    }

    @Test func `a length of 2^63 - 1 takes no memory and is not stored`() async throws {
        try await ProxyFixture.run(everywhere("cache: standard, retry: none")) { proxy in
            let length = "Content-Length: 9223372036854775807"
            let (flaky, origin) = try proxy.flaky(
                .breakOff(
                    head("HTTP/1.1 200 OK", length, "Cache-Control: max-age=600") + "hello"
                ),
                .fresh("good")
            )
            let client = try proxy.client()
            try client.send("GET", origin.url())
            _ = try client.stream.untilEnd()
            #expect(try proxy.record()["outcome"] == "truncated")
            #expect(try proxy.client().get(origin.url()).bodyText == "good")
            #expect(flaky.asked == 2)
        }
    }

    /// An origin that has answered once, and has the next request on the same connection.
    private func askedTwice(
        _ proxy: ProxyFixture
    ) throws -> (origin: PlayedOrigin, client: ScriptedClient, far: OriginConnection) {
        let origin = try PlayedOrigin()
        let client = try proxy.client()
        try client.send("GET", origin.url())
        let far = try origin.accept()
        try far.request()
        try far.reply(body: "good")
        #expect(try client.response().bodyText == "good")
        try client.send("GET", origin.url())
        try far.request()
        return (origin, client, far)
    }

    /// Every response on a connection is read as strictly as the first.
    @Test(arguments: HostileResponse.all)
    func `an ambiguous head behind a good one is a 502 too`(
        response: HostileResponse
    ) async throws {
        try await ProxyFixture.run("rules: []") { proxy in
            let (origin, client, far) = try askedTwice(proxy)
            try far.send(response.text)
            #expect(try client.response().status == 502)
            try client.send("GET", origin.url())
            let next = try origin.accept()
            try next.request()
            try next.reply(body: "again")
            #expect(try client.response().bodyText == "again")
        }
    }

    @Test(arguments: [
        head("HTTP/1.1 101 Switching", "Connection: Upgrade", "Upgrade: chat"),
        String(repeating: head("HTTP/1.1 103 Early Hints", "X: y"), count: 20_000),
    ])
    func `nor does an interim response behind a good one switch or flood anything`(
        interim: String
    ) async throws {
        try await ProxyFixture.run("rules: []") { proxy in
            let (_, client, far) = try askedTwice(proxy)
            try? far.send(interim)
            #expect(try client.response().status == 502)
        }
    }

    @Test func `a folded line brings the client no field of its own`() async throws {
        try await ProxyFixture.run { proxy in
            let origin = try proxy.origin(
                answering: head(
                    "HTTP/1.1 200 OK",
                    "X-Fold: a",
                    "\tSet-Cookie: evil=1",
                    " ",
                    "  HTTP/1.1 200 OK",
                    "Content-Length: 0"
                )
            )
            let client = try proxy.client()
            for _ in 0..<2 {
                let response = try client.get(origin.url())
                #expect(response.status == 200)
                #expect(response["Set-Cookie"] == nil)
                #expect(response["X-Fold"]?.contains("Set-Cookie: evil=1") == true)
            }
        }
    }

    @Test(arguments: ["*", "Accept, *", "*, Accept", ", *", "\"*\""])
    func `a response that varies by everything answers one request`(
        vary: String
    ) async throws {
        try await ProxyFixture.run(everywhere("cache: standard")) { proxy in
            let (flaky, origin) = try proxy.flaky(.fresh("ok", ["Vary: \(vary)"]))
            let client = try proxy.client()
            for _ in 0..<3 { #expect(try !client.get(origin.url()).isHit) }
            #expect(flaky.asked == 3)
        }
    }
}
