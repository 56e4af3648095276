// Heads that were made once, on one stream after another.
import LupinCore
import LupinWire
import Testing

struct PreparedHeadTests {
    private static let date = "Sun, 22 Nov 2026 09:30:00 GMT"
    private static let later = "Mon, 23 Nov 2026 10:31:01 GMT"

    private static func request(_ value: String) -> PreparedHead {
        var head = RequestHead()
        head.fields.add(name: "X-Case", value: value)
        let options = RequestOptions(target: .origin, authority: "a.test", framing: .none)
        return PreparedHead(head, options)
    }

    /// A client and a server that have met, and the stream of a request.
    private static func talk() throws -> (HTTP2Connection, HTTP2Connection, Int32) {
        let client = HTTP2Connection(.client, .standard)
        let server = HTTP2Connection(.server, .standard)
        var bytes: [UInt8] = []
        let stream = try #require(client.open(request("kept"), into: &bytes))
        try server.receive(bytes.span, now: 0)
        return (client, server, stream)
    }

    private static func pass(_ from: HTTP2Connection, _ to: HTTP2Connection) throws {
        var bytes: [UInt8] = []
        from.drain(into: &bytes)
        try to.receive(bytes.span, now: 0)
    }

    /// The requests that came, as the value of their field.
    private static func cases(_ server: HTTP2Connection) -> [String] {
        var cases: [String] = []
        while let event = server.nextEvent() {
            guard case .request(_, let request, _) = event else { continue }
            cases.append(request.takeHead().fields.value(of: "x-case") ?? "")
        }
        return cases
    }

    @Test func `a request arrives, and its answer is the answer to a GET`() throws {
        let (_, server, stream) = try Self.talk()
        var seen: ParsedRequest?
        while let event = server.nextEvent() {
            if case .request(stream, let request, _) = event { seen = request }
        }
        let head = try #require(seen).takeHead()
        #expect(head.method == .get)
        #expect(head.fields.text(head.authority) == "a.test")
        #expect(head.fields.value(of: "x-case") == "kept")
    }

    @Test(arguments: ["Date", "date"])
    func `a response says the Date that was set last`(name: String) throws {
        let (client, server, stream) = try Self.talk()
        var head = ResponseHead()
        head.status = 200
        head.fields.add(name: name, value: Self.date)
        let answer = PreparedHead(head, ResponseOptions(framing: .none), hasBody: false)
        #expect(answer.isDated)
        answer.set(date: Self.later.utf8.span)
        answer.set(date: "too short".utf8.span)
        var bytes: [UInt8] = []
        let result = server.answer(answer, Span(), isLast: true, on: stream, into: &bytes)
        #expect(result == (0, true))
        try client.receive(bytes.span, now: 0)
        var seen: ParsedResponse?
        while let event = client.nextEvent() {
            if case .response(stream, let response, _) = event { seen = response }
        }
        #expect(try #require(seen).takeHead().fields.value(of: "date") == Self.later)
    }

    @Test func `what waits for the peer's leave lives on until it was sent`() throws {
        var parameters = HTTP2Parameters.standard
        parameters.limits.streams = 1
        let client = HTTP2Connection(.client, .standard)
        let server = HTTP2Connection(.server, parameters)
        try Self.pass(server, client)
        try Self.pass(client, server)
        var bytes: [UInt8] = []
        let first = try #require(client.open(Self.request("first"), into: &bytes))
        weak var known: PreparedHead?
        do {
            let second = Self.request("second")
            known = second
            #expect(client.open(second, into: &bytes) != nil)
        }
        #expect(known != nil)
        try server.receive(bytes.span, now: 0)
        #expect(Self.cases(server) == ["first"])
        let answer = PreparedHead(ResponseHead(), ResponseOptions(framing: .none), hasBody: false)
        for (stream, next) in [(first, ["second"]), (first + 2, [])] {
            bytes = []
            _ = server.answer(answer, Span(), isLast: true, on: stream, into: &bytes)
            try client.receive(bytes.span, now: 0)
            try Self.pass(client, server)
            #expect(Self.cases(server) == next)
        }
        _ = client.open(Self.request("third"), into: &bytes)
        #expect(known == nil)
    }

    @Test func `only one Date of the usual length can be replaced`() {
        let options = ResponseOptions(framing: .none)
        for dates in [[], ["yesterday"], [Self.date, Self.date]] {
            var head = ResponseHead()
            for date in dates { head.fields.add(name: "date", value: date) }
            #expect(!PreparedHead(head, options, hasBody: false).isDated)
        }
        var dated = options
        dated.date = Self.date
        #expect(PreparedHead(ResponseHead(), dated, hasBody: false).isDated)
    }
}
