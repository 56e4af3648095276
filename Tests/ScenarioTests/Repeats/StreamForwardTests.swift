// Requests on streams that are equal: each has its answer and its record.
import LupinTestKit
import Testing

struct StreamForwardTests {
    @Test(arguments: [0, 4, 8000, 20_000])
    func `equal requests get equal answers, and a record each`(size: Int) async throws {
        try await ProxyFixture.run { proxy in
            let body = String(repeating: "b", count: size)
            let date = "Date: \(EqualStreams.date)"
            let origin = try proxy.origin(
                answering: EqualStreams.response(200, "X-Kind: one", date, body: body)
            )
            let clients = try (0..<3).map { _ in try proxy.http2Client() }
            var answers: Set<HTTP2Message.Content> = []
            for _ in 0..<4 {
                for client in clients {
                    let response = try client.request(authority: origin.authority, path: "/a?b")
                    answers.insert(response.content)
                }
            }
            for client in clients {
                let head = HTTP2Fields.request(authority: origin.authority, path: "/a?b")
                let streams = try (0..<6).map { _ in try client.send(head) }
                for stream in streams.reversed() {
                    answers.insert(try client.response(on: stream).content)
                }
            }
            #expect(answers.count == 1)
            #expect(answers.first?.body.count == size)
            #expect(answers.first?.fields["via"]?.hasPrefix("1.1 ") == true)
            #expect(answers.first?.fields["x-kind"] == "one")
            try check(try proxy.records(30), size)
        }
    }

    private func check(_ records: [RecordLine], _ size: Int) throws {
        #expect(Set(records.compactMap { $0["id"] }).count == 30)
        #expect(Set(records.compactMap { $0["client.port"] }).count == 3)
        let streams = records.map { "\($0["client.port"] ?? "") \($0["network.stream"] ?? "")" }
        #expect(Set(streams).count == 30)
        for record in records {
            #expect(record["outcome"] == "ok")
            #expect(record["network.protocol.version"] == "2")
            #expect(record["http.response.body.size"] == "\(size)")
            #expect(record.count("attempts") == 1)
            #expect(record["attempts.0.status"] == "200")
            #expect(record["bytes.client_in"] == records[0]["bytes.client_in"])
            #expect(record["bytes.upstream_in"] == records[0]["bytes.upstream_in"])
            guard size <= 8000 else { continue }
            // The second time the head enters the client's table, and from then on it takes next to
            // nothing.
            let alike = try #require(records.first { turn(of: $0) == turn(of: record) })
            #expect(record["bytes.client_out"] == alike["bytes.client_out"])
        }
    }

    /// How many responses had come on the connection before, two at most.
    private func turn(of record: RecordLine) -> Int {
        ["1", "3"].firstIndex(of: record["network.stream"]) ?? 2
    }

    @Test func `the origin sees equal requests`() async throws {
        try await ProxyFixture.run { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.http2Client()
            let head = HTTP2Fields.request(authority: origin.authority, path: "/?q")
            var connection: OriginConnection?
            for _ in 0..<8 {
                let stream = try client.send(head + ["x-a": "1", "cookie": "a=1", "cookie": "b=2"])
                let far = try connection ?? origin.accept()
                connection = far
                let request = try far.request()
                #expect(request.startLine == "GET /?q HTTP/1.1")
                #expect(request.fields.map(\.name) == ["Host", "x-a", "cookie", "Via"])
                #expect(request["cookie"] == "a=1; b=2")
                try far.send(EqualStreams.good)
                #expect(try client.response(on: stream).bodyText == "good")
            }
        }
    }

    /// Responses unlike those before, and what is due to the client of them.
    static let others: [(response: String, status: Int, body: String)] = [
        (EqualStreams.response(404, "Date: \(EqualStreams.date)", body: "good"), 404, "good"),
        (EqualStreams.response(200, "X-Other: 1", body: "good"), 200, "good"),
        (EqualStreams.response(200, "Date: \(EqualStreams.date)", body: "longer"), 200, "longer"),
        (EqualStreams.response(200, "Date: \(EqualStreams.date)", body: "evil"), 200, "evil"),
        (EqualStreams.response(204), 204, ""),
        ("HTTP/1.1 200 X\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n", 200, "abc"),
        ("HTTP/1.1 103 E\r\nLink: </a>\r\n\r\n" + EqualStreams.good, 200, "good"),
    ]

    @Test(arguments: others.indices)
    func `a response of another kind is passed on as it is`(index: Int) async throws {
        let other = Self.others[index]
        try await ProxyFixture.run { proxy in
            let equal = try EqualStreams(proxy)
            for _ in 0..<6 {
                let response = try equal.repeatOnce(other.response)
                #expect(response.status == other.status)
                #expect(response.bodyText == other.body)
                #expect(try equal.repeatOnce().bodyText == "good")
            }
            #expect(try proxy.records(16).allSatisfy { $0["outcome"] == "ok" })
            #expect(!equal.origin.hasWaiting)
        }
    }

    @Test func `the origin's Date is passed on as it changes`() async throws {
        try await ProxyFixture.run { proxy in
            let equal = try EqualStreams(proxy)
            for i in 0..<6 {
                let date = "Mon, 23 Nov 2026 09:3\(i / 2):0\(i) GMT"
                let dated = EqualStreams.response(200, "Date: \(date)", body: "good")
                for _ in 0..<2 { #expect(try equal.repeatOnce(dated)["date"] == date) }
            }
            #expect(try equal.repeatOnce()["date"] == EqualStreams.date)
        }
    }

    @Test func `lupin's own Date goes on`() async throws {
        try await ProxyFixture.run { proxy in
            let equal = try EqualStreams(proxy, EqualStreams.response(200, body: "good"))
            var dates: Set<String> = []
            try eventually("another second") {
                guard let date = try? equal.repeatOnce()["date"] else { return false }
                dates.insert(date)
                return dates.count > 1
            }
            #expect(dates.allSatisfy { $0.hasSuffix(" GMT") && $0.utf8.count == 29 })
        }
    }

    @Test func `heads whose bytes are the same and mean something else are others`() async throws {
        try await ProxyFixture.run(resolve: ProxyFixture.here) { proxy in
            let equal = try EqualStreams(proxy, path: "/a", authority: "bc.test")
            let head = equal.head.with(":path", "/ab")
                .with(":authority", equal.origin.authority("c.test"))
            #expect(head.joined == equal.head.joined)
            for (path, host) in [("/ab", "c.test"), ("/abc", ".test"), ("/a", "bc.test")] {
                let authority = equal.origin.authority(host)
                let other = head.with(":path", path).with(":authority", authority)
                let stream = try equal.client.send(other)
                guard host != ".test" else {
                    #expect(try equal.client.response(on: stream).status / 100 != 2)
                    continue
                }
                let isKnown = host == "bc.test"
                let far = try isKnown ? equal.connection : equal.origin.accept()
                let request = try far.request()
                #expect(request.target == path)
                #expect(request["Host"] == authority)
                try far.send(EqualStreams.good)
                #expect(try equal.client.response(on: stream).bodyText == "good")
            }
        }
    }

    @Test func `what is no GET, or is more than a head, is no repetition`() async throws {
        try await ProxyFixture.run { proxy in
            let equal = try EqualStreams(proxy)
            for method in ["HEAD", "POST", "OPTIONS", "HEAD"] {
                let stream = try equal.client.send(equal.head.with(":method", method))
                #expect(try equal.connection.request().method == method)
                let length = method == "HEAD" ? "7" : "0"
                try equal.connection.send("HTTP/1.1 200 X\r\nContent-Length: \(length)\r\n\r\n")
                let response = try equal.client.response(on: stream, to: method)
                #expect(response.body.isEmpty)
                #expect(response["content-length"] == length)
            }
            for _ in 0..<2 {
                let stream = try equal.client.send(equal.head, body: Array("body".utf8))
                #expect(try equal.connection.request().bodyText == "body")
                try equal.connection.send(EqualStreams.good)
                #expect(try equal.client.response(on: stream).bodyText == "good")
            }
            #expect(try equal.repeatOnce().bodyText == "good")
        }
    }
}

extension HTTP2Message {
    /// All that a client sees of it.
    fileprivate struct Content: Hashable {
        let fields: HTTP2Fields
        let body: [UInt8]
    }

    fileprivate var content: Content { Content(fields: fields, body: body) }
}

extension HTTP2Fields {
    /// What all values read in one.
    fileprivate var joined: String { lines.map(\.value).joined() }
}
