// Exchanges as gRPC makes them: both sides speak in turn on one stream, and trailers say the end.
import LupinTestKit
import Testing

struct UpstreamStreamingTests {
    private static let fields: HTTP2Fields = [
        "te": "trailers", "content-type": "application/grpc", "grpc-timeout": "5S",
    ]

    /// A call whose head has come to the origin.
    private static func call(
        _ body:
            @Sendable @escaping (
                _ client: HTTP2Client, _ stream: UInt32, HTTP2OriginConnection, HTTP2Message,
                UpstreamStory
            ) throws -> Void
    ) async throws {
        try await UpstreamStory.run { story in
            let client = try story.streams()
            let stream = try client.open(story.head("POST", "/pkg.Service/Call") + fields)
            let origin = try story.accept()
            try body(client, stream, origin, try origin.requestHead(), story)
        }
    }

    @Test func `both sides speak in turn, and the answer begins before the request ends`()
        async throws
    {
        try await Self.call { client, stream, origin, request, _ in
            #expect(request["te"] == "trailers")
            #expect(request["grpc-timeout"] == "5S")
            #expect(request["content-type"] == "application/grpc")
            try origin.sendHead(request.stream, 200, ["content-type": "application/grpc"])
            #expect(try client.frames.head(on: stream)[":status"] == "200")
            for turn in 0..<20 {
                let question = Array("question \(turn)".utf8)
                let answer = Array("answer \(turn)".utf8)
                try client.frames.send(.data(stream, question))
                let asked = try origin.frames.bytes(of: request.stream, exactly: question.count)
                #expect(asked == question)
                try origin.frames.send(.data(request.stream, answer))
                let answered = try client.frames.bytes(of: stream, exactly: answer.count)
                #expect(answered == answer)
            }
            try client.frames.send(.data(stream, end: true))
            #expect(try origin.rest(of: request).body.isEmpty)
            try origin.sendTrailers(request.stream, ["grpc-status": "0"])
            let end = try client.response(on: stream)
            #expect(end.reset == nil)
            #expect(end.fields["grpc-status"] == "0")
        }
    }

    @Test func `an error is one head that ends the stream`() async throws {
        try await Self.call { client, stream, origin, request, _ in
            try client.frames.send(.data(stream, "question", end: true))
            _ = try origin.rest(of: request)
            let fields: HTTP2Fields = ["grpc-status": "5", "grpc-message": "not%20found"]
            try origin.sendHead(request.stream, 200, fields, end: true)
            guard case .fields(_, let head, true) = try client.frames.part(of: stream) else {
                throw SocketFailure("the head does not end the stream")
            }
            #expect(head["grpc-status"] == "5")
            #expect(head["grpc-message"] == "not%20found")
            // What the origin did not say is not said for it.
            #expect(head["content-length"] == nil)
        }
    }

    @Test func `an error that comes before the request has ended arrives whole`() async throws {
        try await Self.call { client, stream, origin, request, story in
            try client.frames.send(.data(stream, "question"))
            _ = try origin.frames.bytes(of: request.stream, exactly: 8)
            try origin.sendHead(request.stream, 200, ["grpc-status": "8"], end: true)
            let response = try client.response(on: stream)
            #expect(response["grpc-status"] == "8")
            // Whether to go on is the client's decision: for HTTP this is a success.
            try client.frames.send(.data(stream, " and more", end: true))
            #expect(try origin.rest(of: request).bodyText == " and more")
            #expect(try story.proxy.record()["outcome"] == "ok")
        }
    }

    @Test func `a client that cancels has the origin's stream cancelled`() async throws {
        try await Self.call { client, stream, origin, request, story in
            try origin.sendHead(request.stream)
            try origin.frames.send(.data(request.stream, "answer"))
            _ = try client.frames.head(on: stream)
            try client.frames.send(.resetStream(stream, .cancel))
            try origin.frames.expectReset(request.stream, .cancel)
            try client.frames.expectAlive()
            let record = try story.proxy.record()
            #expect(record["outcome"] == "aborted")
            #expect(record["network.reset"] == "CANCEL")
            #expect(record["network.reset_by"] == "client")
        }
    }

    @Test func `an origin that cancels has the client's stream broken`() async throws {
        try await Self.call { client, stream, origin, request, _ in
            try origin.sendHead(request.stream)
            try origin.frames.send(.data(request.stream, "answer"), .resetStream(request.stream))
            let response = try client.response(on: stream)
            #expect(response.bodyText == "answer")
            #expect(response.reset == .internalError)
            try client.frames.expectAlive()
        }
    }

    @Test func `trailers behind a body arrive without being announced`() async throws {
        try await Self.call { client, stream, origin, request, _ in
            try client.frames.send(.data(stream, end: true))
            try origin.sendHead(request.stream)
            try origin.frames.send(.data(request.stream, "answer"))
            try origin.sendTrailers(request.stream, ["grpc-status": "0", "x-bin": "AA=="])
            let response = try client.response(on: stream)
            #expect(response.bodyText == "answer")
            #expect(response.trailers["grpc-status"] == "0")
            #expect(response.trailers["x-bin"] == "AA==")
        }
    }
}
