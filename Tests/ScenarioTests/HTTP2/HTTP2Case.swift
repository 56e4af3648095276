// One case of HTTP/2 conformance: what a client sends, and what the server must do about it.
import LupinTestKit
import Testing

/// A row of the tables in this folder.
struct HTTP2Case: Sendable {
    typealias Frames = @Sendable (HTTP2Target) -> [HTTP2Frame]
    typealias Story = @Sendable (HTTP2Target) throws -> Void

    let name: String
    /// Whether no origin may learn of anything that the client sent.
    private(set) var reachesNobody = false
    /// Whether it asks more than RFC 9113 asks of every server.
    private(set) var isForLupinAlone = false
    private let story: Story

    /// A case that tells its own story.
    init(_ name: String, _ story: @escaping Story) {
        self.name = name
        self.story = story
    }

    /// - Throws: What the server did instead.
    func play(on target: HTTP2Target) throws {
        try story(target)
        guard reachesNobody, let text = target.origin?.receivedText else { return }
        // The request in order is the one HEAD of such a case.
        let heads = text.split(separator: "\r\n\r\n")
        guard heads.allSatisfy({ $0.hasPrefix("HEAD / HTTP/1.1\r\n") }) else {
            throw SocketFailure("the origin heard of it: \(text)")
        }
    }

    var forLupinAlone: HTTP2Case {
        var copy = self
        copy.isForLupinAlone = true
        return copy
    }

    var reachingNobody: HTTP2Case {
        var copy = self
        copy.reachesNobody = true
        return copy
    }

    // MARK: Verdicts

    /// The server has no objection: streams `answered` get 200, and the connection lives on.
    static func fine(
        _ name: String,
        answered: UInt32...,
        settings: [HTTP2Frame.Setting] = [],
        _ frames: @escaping Frames
    ) -> HTTP2Case {
        HTTP2Case(name) { target in
            let client = try target.client(settings)
            try client.frames.send(frames(target))
            for stream in answered { try client.expectAnswer(on: stream) }
            try client.expectService(target)
        }
    }

    /// The server ends the connection, with one of `codes` if it says anything.
    static func broken(
        _ name: String,
        _ codes: HTTP2Frame.Code...,
        settings: [HTTP2Frame.Setting] = [],
        _ frames: @escaping Frames
    ) -> HTTP2Case {
        HTTP2Case(name) { target in
            let client = try target.client(settings)
            try client.frames.send(frames(target))
            try client.frames.expectConnectionError(codes)
        }
    }

    /// The server resets a stream or ends the connection, with one of `codes`.
    static func refused(
        _ name: String,
        on stream: UInt32 = 1,
        _ codes: HTTP2Frame.Code...,
        settings: [HTTP2Frame.Setting] = [],
        _ frames: @escaping Frames
    ) -> HTTP2Case {
        HTTP2Case(name) { target in
            let client = try target.client(settings)
            try client.frames.send(frames(target))
            let reaction = try client.frames.expectStreamError(stream, codes)
            if case .reset = reaction { try client.expectService(target) }
        }
    }

    /// The server may do what is due to an error of `stream`, or nothing at all.
    static func refusedOrIgnored(
        _ name: String,
        on stream: UInt32 = 1,
        _ codes: HTTP2Frame.Code...,
        sending frames: @escaping Frames
    ) -> HTTP2Case {
        HTTP2Case(name) { target in
            let client = try target.client()
            try client.frames.send(frames(target) + [.ping("then one")])
            let reaction = try client.frames.first("an error or an answer to PING") { event in
                switch event {
                case .goAway(_, let code, _), .reset(stream, let code): code
                case .pingAnswered: HTTP2Frame.Code?.some(.noError)
                default: nil
                }
            }
            guard (codes + [.noError]).contains(reaction) else {
                throw SocketFailure("\(reaction) instead of \(codes)")
            }
        }
    }

    /// Stream 1 is a malformed message (RFC 9113 §8.1.1): it is reset with PROTOCOL_ERROR or
    /// refused by a status, and nobody else hears of it.
    static func malformed(_ name: String, _ frames: @escaping Frames) -> HTTP2Case {
        HTTP2Case(name) { target in
            let client = try target.client()
            try client.frames.send(frames(target))
            try client.expectMalformed(on: 1, target)
        }.reachingNobody
    }

    /// The same with a request of these fields and no body.
    static func malformedHead(
        _ name: String,
        _ fields: @escaping @Sendable (HTTP2Target) -> HTTP2Fields
    ) -> HTTP2Case {
        malformed(name) { [.headers(1, fields($0), end: true)] }
    }
}

extension HTTP2Client {
    /// The far end of the streams that a case uses.
    private static let lateStream: UInt32 = 1001

    /// That the connection is in order: a late request is answered, and so is a PING.
    ///
    /// It is a HEAD, to which no window matters.
    func expectService(_ target: HTTP2Target) throws {
        try frames.send(.headers(Self.lateStream, target.head("HEAD"), end: true))
        let response = try frames.message(on: Self.lateStream, to: "HEAD")
        guard response.status == 200 else {
            throw SocketFailure("a request in order got \(response)")
        }
        try frames.expectAlive()
    }

    /// That the request on `stream` gets 200 and a body.
    @discardableResult
    func expectAnswer(on stream: UInt32, to method: String = "GET") throws -> HTTP2Message {
        let response = try response(on: stream, to: method)
        let isWhole = response.reset == nil || response.reset == .noError
        guard response.status == 200, isWhole else {
            throw SocketFailure("no 200 on stream \(stream): \(response)")
        }
        return response
    }

    /// That the message on `stream` counts as malformed, and nothing else.
    func expectMalformed(on stream: UInt32, _ target: HTTP2Target) throws {
        let statuses = 400..<500
        let reaction = try frames.reaction(wanting: "a refusal", resetOf: stream) { event in
            guard case .fields(stream, let fields, _) = event else { return nil }
            let status = fields[":status"].flatMap { Int($0) } ?? 0
            // A server may speak of the error first (RFC 9113 §8.1.1).
            if statuses.contains(status) { return .reset(.protocolError) }
            throw SocketFailure("a malformed message got \(status)")
        }
        switch reaction {
        case .reset(.protocolError): try expectService(target)
        case .goAway(.protocolError), .ended: break
        default: throw SocketFailure("\(reaction), where PROTOCOL_ERROR was due")
        }
    }
}
