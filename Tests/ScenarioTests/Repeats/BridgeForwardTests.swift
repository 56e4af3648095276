// Equal requests on streams of both sides: each has its answer and its record.
import LupinTestKit
import Testing

struct BridgeForwardTests {
    private typealias Answer = EqualBridges.Answer
    private static let warmUps = EqualBridges.warmUps

    @Test(arguments: [0, 4, 8000, 20_000])
    func `equal requests get equal answers, and a record each`(size: Int) async throws {
        try await UpstreamStory.run { story in
            let answer = Answer(
                fields: EqualBridges.date + ["x-kind": "one"],
                body: String(repeating: "b", count: size)
            )
            let equal = try EqualBridges(story, answer)
            var answers: Set<HTTP2Message.Content> = []
            let clients = try (0..<3).map { _ in try story.streams() }
            for _ in 0..<2 {
                for client in clients {
                    answers.insert(try equal.repeatOnce(by: client).content)
                }
            }
            var places: Set<String> = []
            for client in clients {
                let asked = try (0..<6).map { _ in try equal.ask(by: client) }
                for one in asked.reversed() { try equal.far.send(answer, on: one.far) }
                for one in asked {
                    answers.insert(try client.response(on: one.stream).content)
                    places.insert("\(one.stream) \(one.far)")
                }
            }
            #expect(answers.count == 1)
            #expect(answers.first?.body.count == size)
            #expect(answers.first?.fields["via"]?.hasPrefix("2 ") == true)
            #expect(answers.first?.fields["x-kind"] == "one")
            #expect(!story.origin.hasWaiting)
            let records = try story.proxy.records(Self.warmUps + 24)
            let last = records.suffix(18).map {
                "\($0["network.stream"] ?? "") \($0["attempts.0.stream"] ?? "")"
            }
            #expect(Set(last) == places)
            try check(records.dropFirst(2), size)
        }
    }

    @Test func `history has the stream of each`() async throws {
        try await UpstreamStory.run(ProxyFixture.adminSocket) { story in
            let equal = try EqualBridges(story)
            for _ in 0..<3 { try equal.repeatOnce() }
            for record in try story.proxy.records(Self.warmUps + 3).suffix(3) {
                let id = try #require(record["id"])
                let shown = try story.proxy.adminJSON("/v1/exchanges/\(id)")
                for value in ["network.stream", "attempts.0.stream"] {
                    #expect(shown["record.\(value)"] == record[value])
                }
            }
        }
    }

    private func check(_ records: ArraySlice<RecordLine>, _ size: Int) throws {
        let one = try #require(records.first)
        #expect(Set(records.compactMap { $0["id"] }).count == records.count)
        #expect(Set(records.compactMap { $0["client.port"] }).count == 4)
        #expect(Set(records.compactMap { $0["attempts.0.stream"] }).count == records.count)
        for record in records {
            #expect(record["outcome"] == "ok")
            #expect(record["network.protocol.version"] == "2")
            #expect(record["http.response.body.size"] == "\(size)")
            #expect(record.count("attempts") == 1)
            #expect(record["attempts.0.status"] == "200")
            #expect(record["attempts.0.version"] == one["attempts.0.version"])
            #expect(record["attempts.0.tls"] == one["attempts.0.tls"])
            #expect(record["attempts.0.port"] == one["attempts.0.port"])
            #expect(record["attempts.0.reused"] == "1")
            #expect(record["tls.trust.verdict"] == one["tls.trust.verdict"])
            // The kit's heads are never compressed.
            #expect(record["bytes.upstream_in"] == one["bytes.upstream_in"])
            #expect(record["bytes.client_in"] == one["bytes.client_in"])
            #expect(try #require(record.number("bytes.upstream_out")) > 9)
        }
    }

    @Test func `behind TLS on both sides they are answered as well`() async throws {
        let files = try TestAuthority.identityFiles("proxy.test")
        let listener =
            "listen: [{address: \"127.0.0.1:1\", tls: {cert: DIR/proxy.pem, key: DIR/proxy.key}}]"
        try await ProxyFixture.run(
            listener,
            clock: VirtualClock(),
            files: ["proxy.pem": files.pem, "proxy.key": files.key],
            resolve: ProxyFixture.here
        ) { proxy in
            let story = UpstreamStory(proxy: proxy, origin: try PlayedOrigin())
            var tls = SecureSocket.Client("proxy.test")
            tls.protocols = ["h2"]
            let equal = try EqualBridges(
                story,
                by: try HTTP2Client(inside: try proxy.client().secure(tls))
            )
            for _ in 0..<3 {
                #expect(try equal.repeatOnce().bodyText == "good")
            }
        }
    }

    @Test func `the origin sees equal requests`() async throws {
        try await UpstreamStory.run { story in
            let client = try story.streams()
            let more: HTTP2Fields = ["x-a": "1", "cookie": "a=1", "cookie": "b=2"]
            var requests: [HTTP2Fields] = []
            var far: HTTP2OriginConnection?
            for _ in 0..<8 {
                let stream = try client.send(story.head("GET", "/?q") + more)
                let connection = try far ?? story.accept()
                far = connection
                let request = try connection.request()
                requests.append(request.fields)
                try connection.send(Answer(), on: request.stream)
                #expect(try client.response(on: stream).bodyText == "good")
            }
            #expect(Set(requests).count == 1)
            #expect(requests[0][":authority"] == story.authority)
            #expect(requests[0]["cookie"]?.contains("a=1") == true)
            #expect(requests[0]["via"]?.hasPrefix("2 ") == true)
        }
    }

    /// Responses unlike those before.
    private static let others: [Answer] = [
        Answer(status: 404),
        Answer(fields: ["x-other": "1"]),
        Answer(body: "longer"),
        Answer(body: "evil"),
        Answer(status: 204, fields: [:], body: ""),
        Answer(trailers: ["x-sum": "4"]),
    ]

    @Test(arguments: others.indices)
    func `a response of another kind is passed on as it is`(index: Int) async throws {
        let other = Self.others[index]
        try await UpstreamStory.run { story in
            let equal = try EqualBridges(story)
            for _ in 0..<6 {
                let response = try equal.repeatOnce(other)
                #expect(response.status == other.status)
                #expect(response.bodyText == other.body)
                #expect(response["x-other"] == other.fields["x-other"])
                #expect(response.reset == nil)
                #expect(try equal.repeatOnce().bodyText == "good")
            }
            #expect(try story.proxy.records(16).allSatisfy { $0["outcome"] == "ok" })
            #expect(!story.origin.hasWaiting)
        }
    }

    @Test func `trailers are passed on to who wants them`() async throws {
        try await UpstreamStory.run { story in
            let client = try story.streams()
            let head = story.head() + ["te": "trailers"]
            var far: HTTP2OriginConnection?
            for i in 0..<8 {
                let stream = try client.send(head)
                let connection = try far ?? story.accept()
                far = connection
                let sum: HTTP2Fields? = i > 4 ? ["x-sum": "4"] : nil
                let beyond = try connection.request().stream
                try connection.send(Answer(trailers: sum), on: beyond)
                #expect(try client.response(on: stream).trailers["x-sum"] == sum?["x-sum"])
            }
        }
    }

    @Test func `interim responses are passed on`() async throws {
        try await UpstreamStory.run { story in
            let equal = try EqualBridges(story)
            for _ in 0..<3 {
                let (stream, beyond) = try equal.ask()
                try equal.far.frames.send(.headers(beyond, [":status": "103", "link": "</a>"]))
                try equal.far.send(Answer(), on: beyond)
                let response = try equal.client.response(on: stream)
                #expect(response.interim.map { $0["link"] } == ["</a>"])
                #expect(response.bodyText == "good")
                #expect(try equal.repeatOnce().interim.isEmpty)
            }
        }
    }

    /// The first field stands behind the status without a line of its own.
    @Test(arguments: [[:], ["server": "x"]] as [HTTP2Fields])
    func `the origin's Date is passed on as it changes`(before: HTTP2Fields) async throws {
        try await UpstreamStory.run(clock: VirtualClock()) { story in
            let equal = try EqualBridges(story, Answer(fields: before + EqualBridges.date))
            for i in 0..<6 {
                let date = "Mon, 23 Nov 2026 09:3\(i / 2):0\(i) GMT"
                for _ in 0..<2 {
                    let dated = Answer(fields: before + ["date": date])
                    #expect(try equal.repeatOnce(dated)["date"] == date)
                }
            }
            #expect(try equal.repeatOnce()["date"] == EqualRequests.date)
        }
    }

    @Test func `lupin's own Date goes on`() async throws {
        try await UpstreamStory.run { story in
            let equal = try EqualBridges(story, Answer(fields: [:]))
            var dates: Set<String> = []
            try eventually("another second") {
                guard let date = try? equal.repeatOnce()["date"] else { return false }
                dates.insert(date)
                return dates.count > 1
            }
            #expect(dates.allSatisfy { $0.hasSuffix(" GMT") && $0.utf8.count == 29 })
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
