// A client and an origin, both of HTTP/2, that say the same again and again.
import LupinTestKit
import Testing

/// One GET on stream after stream, and what `origin.test` says to it on streams inside TLS.
///
/// `warmUps` of them go before each story.
struct EqualBridges: Sendable {
    static let warmUps = 4
    static let date: HTTP2Fields = ["date": EqualRequests.date]

    /// A response of the origin.
    struct Answer: Sendable {
        var status = 200
        var fields = EqualBridges.date
        var body = "good"
        var trailers: HTTP2Fields?

        var head: HTTP2Fields {
            let length: HTTP2Fields =
                status == 204 ? [:] : ["content-length": "\(body.utf8.count)"]
            return [":status": "\(status)"] + fields + length
        }
    }

    let story: UpstreamStory
    let client: HTTP2Client
    /// The origin's end of the connection that lupin keeps.
    let far: HTTP2OriginConnection
    let head: HTTP2Fields
    private let usual: Answer

    /// Warms up, by default with a client of its own.
    init(
        _ story: UpstreamStory,
        _ answer: Answer = Answer(),
        settings: [HTTP2Frame.Setting] = [],
        by client: HTTP2Client? = nil
    ) throws {
        self.story = story
        usual = answer
        let client = try client ?? story.streams()
        self.client = client
        head = story.head("GET", "/same?q")
        let first = try client.send(head)
        far = try story.accept(settings: settings)
        try far.send(usual, on: try far.request().stream)
        _ = try client.response(on: first)
        for _ in 1..<Self.warmUps { try repeatOnce() }
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
        try far.send(other ?? usual, on: beyond)
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

    /// The record behind those of the warm-up and of `count` more requests.
    func record(after count: Int = 0) throws -> RecordLine {
        try proxy.records(Self.warmUps + count + 1)[Self.warmUps + count]
    }
}

extension HTTP2OriginConnection {
    /// Sends a response in one go: what comes in pieces is worth no memory.
    func send(_ answer: EqualBridges.Answer, on stream: UInt32) throws {
        let hasEnd = answer.trailers == nil
        var frames = HTTP2Frame.headerFrames(
            stream,
            block: HPACK.block(answer.head),
            end: hasEnd && answer.body.isEmpty
        )
        var rest = Array(answer.body.utf8)[...]
        while !rest.isEmpty {
            let piece = Array(rest.prefix(16_384))
            rest = rest.dropFirst(piece.count)
            frames.append(.data(stream, piece, end: hasEnd && rest.isEmpty))
        }
        if let trailers = answer.trailers { frames.append(.headers(stream, trailers, end: true)) }
        try self.frames.send(frames)
    }
}
