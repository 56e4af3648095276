// A client and an origin, both of HTTP/2, with connections that are kept.
import LupinTestKit
import Testing

/// GETs on stream after stream, and what `origin.test` says to them on streams inside TLS.
struct KeptStreams: Sendable {
    /// So many exchanges go before each story.
    static let served = 1
    static let date: HTTP2Fields = ["date": KeptConnection.date]

    /// A response of the origin.
    struct Answer: Sendable {
        var fields = KeptStreams.date
        var body = "good"

        var head: HTTP2Fields {
            [":status": "200"] + fields + ["content-length": "\(body.utf8.count)"]
        }
    }

    let story: UpstreamStory
    let client: HTTP2Client
    /// The origin's end of the connection that lupin keeps.
    let far: HTTP2OriginConnection
    let head: HTTP2Fields

    /// Has the connections made.
    init(_ story: UpstreamStory) throws {
        self.story = story
        client = try story.streams()
        head = story.head("GET", "/same?q")
        let first = try client.send(head)
        far = try story.accept()
        try far.send(Answer(), on: try far.request().stream)
        _ = try client.response(on: first)
    }

    var proxy: ProxyFixture { story.proxy }

    /// Has the request come to the origin once more.
    func ask(by client: HTTP2Client? = nil) throws -> (stream: UInt32, far: UInt32) {
        let stream = try (client ?? self.client).send(head)
        return (stream, try far.request().stream)
    }

    /// Asks once more; the origin answers as ever, or with `other`.
    @discardableResult
    func repeatOnce(_ other: Answer? = nil, by client: HTTP2Client? = nil) throws -> HTTP2Message {
        let (stream, beyond) = try ask(by: client)
        try far.send(other ?? Answer(), on: beyond)
        return try (client ?? self.client).response(on: stream)
    }

    /// Has the origin answer a request of `stream` that comes on a new connection.
    @discardableResult
    func expectAnew(_ stream: UInt32) throws -> HTTP2OriginConnection {
        let new = try story.accept()
        let request = try new.request()
        #expect(request.path == "/same?q")
        try new.reply(to: request.stream, body: "new")
        #expect(try client.response(on: stream).bodyText == "new")
        return new
    }

    /// The record behind the first one and those of `count` more requests.
    func record(after count: Int = 0) throws -> RecordLine {
        try proxy.records(Self.served + count + 1)[Self.served + count]
    }
}

extension HTTP2OriginConnection {
    /// Sends a response in one go.
    func send(_ answer: KeptStreams.Answer, on stream: UInt32) throws {
        try frames.send(.headers(stream, answer.head), .data(stream, answer.body, end: true))
    }
}
