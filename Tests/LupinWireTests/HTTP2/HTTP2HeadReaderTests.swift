// What a header block becomes: limits, crumbs of Cookie, lengths, and what contradicts itself.
import LupinCore
import LupinWire
import Testing

struct HTTP2HeadReaderTests {
    /// What a server with `limits` makes of one request.
    private func request(
        _ fields: [(String, String)],
        path: String = "/",
        _ limits: HTTP1Limits = HTTP1Limits()
    ) -> String {
        let client = HTTP2Connection(.client, .standard)
        _ = client.ask(RequestHead(.get, path, fields))
        let parameters = HTTP2Parameters(limits: HTTP2Limits(), heads: limits)
        let server = HTTP2Connection(.server, parameters)
        let events = events(of: [client.drained()[...]], at: server)
        return events.first { $0.hasPrefix("re") } ?? "\(events)"
    }

    /// What a client with `limits` makes of one response to GET.
    private func response(
        _ status: UInt16 = 200,
        _ fields: [(String, String)] = [],
        isEnd: Bool = true,
        _ limits: HTTP1Limits = HTTP1Limits()
    ) -> String {
        let parameters = HTTP2Parameters(limits: HTTP2Limits(), heads: limits)
        let client = HTTP2Connection(.client, parameters)
        let server = HTTP2Connection(.server, .standard)
        _ = client.ask(RequestHead(.get, "/"))
        server.take(client.drained())
        server.answer(1, status, fields, framing: isEnd ? .none : .chunked)
        let events = events(of: [server.drained()[...]], at: client)
        return events.first { $0.hasPrefix("re") } ?? "\(events)"
    }

    @Test func `crumbs of Cookie are one line behind the others, and one field`() {
        var limits = HTTP1Limits()
        limits.headerFields = 2
        let crumbs = [("Cookie", "a=1"), ("X", "y"), ("Cookie", "b=2"), ("Cookie", "c=3")]
        #expect(request(crumbs, limits).hasSuffix("none | x: y | cookie: a=1; b=2; c=3"))
        #expect(request(crumbs + [("Z", "")], limits) == "refused 1 tooManyFields")
    }

    @Test func `a field counts 32 bytes beside its name and value`() {
        var limits = HTTP1Limits()
        // :method GET, :scheme https, :path /, :authority a.test; then x: y.
        limits.headerBytes = (7 + 3 + 32) + (7 + 5 + 32) + (5 + 1 + 32) + (10 + 6 + 32) + 34
        #expect(request([("X", "y")], limits).hasPrefix("request 1"))
        limits.headerBytes -= 1
        #expect(request([("X", "y")], limits) == "refused 1 headerTooLarge")
    }

    @Test func `a path may be as long as a request line`() {
        var limits = HTTP1Limits()
        limits.requestLineBytes = 10
        #expect(request([], path: "/23456789x", limits).hasPrefix("request 1"))
        #expect(request([], path: "/23456789xy", limits) == "refused 1 startLineTooLong")
    }

    @Test(arguments: 0..<20)
    func `a number sign in a path is malformed wherever it stands`(_ count: Int) {
        let start = "/" + String(repeating: "a", count: count)
        #expect(request([], path: start + "?b").hasPrefix("request 1"))
        #expect(!request([], path: start + "#b").hasPrefix("request 1"))
    }

    @Test func `a response's limits blame the response`() {
        var limits = HTTP1Limits()
        limits.headerFields = 1
        #expect(response(200, [("A", "1"), ("B", "2")], limits).hasPrefix("response 1"))
        limits.isStrict = true
        #expect(response(200, [("A", "1")], limits).hasPrefix("response 1"))
        #expect(response(200, [("A", "1"), ("B", "2")], limits) == "refused 1 tooManyFields")
    }

    @Test func `a response that ends with its head has a length of 0`() {
        #expect(response().contains("length(0)"))
        #expect(response(isEnd: false).contains("chunked"))
        #expect(response(204).contains(" none"))
        #expect(response(304).contains(" none"))
    }

    @Test func `Host may repeat the authority and not contradict it`() {
        #expect(request([]).contains("https a.test /"))
        let client = HTTP2Connection(.client, .standard)
        _ = client.ask(RequestHead(.options, ""))
        let server = HTTP2Connection(.server, .standard)
        let events = events(of: [client.drained()[...]], at: server)
        // Of the server as a whole.
        #expect(events.contains { $0.hasPrefix("request 1 ends OPTIONS absolute https a.test") })
    }
}
