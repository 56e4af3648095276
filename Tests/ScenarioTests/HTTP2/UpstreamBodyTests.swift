// Bodies to and from an origin of HTTP/2: every byte, at the pace of the slower side.
import LupinTestKit
import Testing

struct UpstreamBodyTests {
    private static let count = 1 << 20

    @Test func `a megabyte goes both ways between HTTP 1_1 and HTTP 2`() async throws {
        try await UpstreamStory.run { story in
            let client = try story.client()
            let lines = [
                "POST \(story.url()) HTTP/1.1", "Host: a", "Content-Length: \(Self.count)",
            ]
            let thread = TestThread {
                try client.send(lines.joined(separator: "\r\n") + "\r\n\r\n")
                try client.stream.socket.send(pattern: 5, count: Self.count)
            }
            let origin = try story.accept()
            let request = try origin.request()
            try thread.join()
            #expect(request["content-length"] == "\(Self.count)")
            #expect(request.body == BytePattern.bytes(5, Self.count))
            let back = TestThread {
                try origin.frames.sendMessage(
                    request.stream,
                    [":status": "200"],
                    body: BytePattern.bytes(6, Self.count)
                )
            }
            let response = try client.response(to: "POST")
            try back.join()
            #expect(response.body == BytePattern.bytes(6, Self.count))
            let record = try story.proxy.record()
            #expect(record.number("http.request.body.size") == Double(Self.count))
            #expect(record.number("http.response.body.size") == Double(Self.count))
            for path in ["bytes.upstream_in", "bytes.upstream_out"] {
                let bytes = try #require(record.number(path))
                #expect(bytes > Double(Self.count) && bytes < Double(Self.count) * 1.01)
            }
        }
    }

    @Test func `a megabyte goes both ways between HTTP 2 and HTTP 2`() async throws {
        try await UpstreamStory.run { story in
            let client = try story.streams()
            let body = BytePattern.bytes(7, Self.count)
            let stream = try client.open(story.head("POST"))
            let thread = TestThread { try client.frames.sendData(stream, body) }
            let origin = try story.accept()
            let request = try origin.request()
            try thread.join()
            #expect(request["content-length"] == nil)
            #expect(request.body == body)
            let back = TestThread {
                try origin.frames.sendMessage(request.stream, [":status": "200"], body: body)
            }
            #expect(try client.response(on: stream).body == body)
            try back.join()
        }
    }

    @Test func `an origin that gives no window stops the client, and not its siblings`()
        async throws
    {
        try await UpstreamStory.run { story in
            let (client, other) = (try story.streams(), try story.client())
            let origin = try story.served(by: other)
            origin.frames.manners.opensWindows = false
            try origin.frames.send(.settings(.initialWindowSize(20_000)))
            try origin.frames.expectAlive()
            let stream = try client.open(story.head("POST", "/slow"))
            let thread = TestThread {
                try client.frames.sendData(stream, BytePattern.bytes(8, Self.count))
            }
            let request = try origin.requestHead()
            var body = try origin.frames.bytes(of: request.stream, exactly: 20_000)
            try origin.expectNoRequest()
            #expect(!origin.frames.unasked.contains { $0.stream == request.stream })
            try other.send("POST", story.url("/quick"), body: "quick")
            let quick = try origin.request()
            #expect(quick.bodyText == "quick")
            try origin.reply(to: quick.stream, body: "well")
            #expect(try other.response(to: "POST").bodyText == "well")
            // One octet more is one octet more.
            try origin.frames.send(.windowUpdate(request.stream, 1))
            body += try origin.frames.bytes(of: request.stream, exactly: 1)
            try origin.frames.send(
                .windowUpdate(0, 4 << 20),
                .windowUpdate(request.stream, 4 << 20)
            )
            body += try origin.frames.message(on: request.stream).body
            try thread.join()
            #expect(body == BytePattern.bytes(8, Self.count))
        }
    }

    @Test func `with windows of 0 an empty body passes, and others wait for SETTINGS`() async throws
    {
        try await UpstreamStory.run { story in
            let client = try story.client()
            let origin = try story.served(by: client)
            try origin.frames.send(.settings(.initialWindowSize(0)))
            try origin.frames.expectAlive()
            try client.send("POST", story.url(), body: "")
            let empty = try origin.request()
            #expect(empty["content-length"] == "0")
            try origin.reply(to: empty.stream, 204)
            #expect(try client.response(to: "POST").status == 204)
            try client.send("POST", story.url(), body: "one lamp")
            let full = try origin.requestHead()
            try origin.frames.expectAlive()
            #expect(!origin.frames.unasked.contains { $0.stream == full.stream })
            try origin.frames.send(.settings(.initialWindowSize(5)))
            #expect(try origin.frames.bytes(of: full.stream, exactly: 5) == Array("one l".utf8))
            try origin.frames.send(.windowUpdate(full.stream, 3))
            #expect(try origin.frames.bytes(of: full.stream, exactly: 3) == Array("amp".utf8))
            try origin.reply(to: full.stream)
            #expect(try client.response(to: "POST").status == 200)
        }
    }

    @Test func `a client that reads nothing stops the origin`() async throws {
        try await UpstreamStory.run("limits: {h2: {window: 64KiB}}") { story in
            let client = try story.streams([.initialWindowSize(1000)])
            client.frames.manners.opensWindows = false
            let stream = try client.send(story.head())
            let origin = try story.accept()
            let request = try origin.request()
            try origin.sendHead(request.stream)
            // The head has arrived, and with it whatever window lupin gives.
            try origin.frames.expectAlive()
            let room = origin.frames.sendWindow(request.stream)
            #expect(room == 64 << 10)
            try origin.frames.sendData(request.stream, BytePattern.bytes(9, room), end: false)
            try origin.frames.expectAlive()
            // The client has 1,000 octets, and the origin as many back at most.
            #expect(origin.frames.sendWindow(request.stream) <= 1000)
            #expect(try client.frames.head(on: stream)[":status"] == "200")
            let first = try client.frames.bytes(of: stream, exactly: 1000)
            try client.frames.send(.windowUpdate(0, 1 << 20), .windowUpdate(stream, 1 << 20))
            let rest = try client.frames.bytes(of: stream, exactly: room - 1000)
            #expect(first + rest == BytePattern.bytes(9, room))
            try origin.frames.sendData(request.stream, Array("end".utf8))
            #expect(try client.frames.bytes(of: stream, exactly: 3) == Array("end".utf8))
        }
    }
}
