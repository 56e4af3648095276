// What records say of streams: which one it was, what went over it, and who ended it early.
import LupinTestKit
import Testing

struct StreamRecordTests {
    @Test func `every stream has a record with its number and its bytes`() async throws {
        try await ProxyFixture.run { proxy in
            let origin = try proxy.measuredOrigin()
            let client = try proxy.http2Client()
            for path in ["/1", "/50000"] {
                let response = try client.request(authority: origin.authority, path: path)
                #expect(response.status == 200)
            }
            let records = try proxy.records(2)
            #expect(records.map { $0["network.stream"] } == ["1", "3"])
            #expect(records.map { $0["network.protocol.version"] } == ["2", "2"])
            #expect(records.map { $0["network.reset"] } == [nil, nil])
            #expect(records.map { $0["network.reset_by"] } == [nil, nil])
            let (small, large) = (records[0], records[1])
            #expect(try #require(small.number("bytes.client_out")) < 1000)
            let sent = try #require(large.number("bytes.client_out"))
            // The body, four frames of it at least, and the head.
            #expect((50_036...51_000).contains(sent))
            #expect(large["http.response.body.size"] == "50000")
        }
    }

    @Test func `a request of no use has a record as well`() async throws {
        try await ProxyFixture.run { proxy in
            let client = try proxy.http2Client()
            let head = HTTP2Fields.request(scheme: "ftp", authority: "a.test")
            #expect(try client.request(head).status / 100 == 4)
            let record = try proxy.record()
            #expect(record["network.protocol.version"] == "2")
            #expect(record["network.stream"] == "1")
            #expect(record["outcome"] == "error")
        }
    }

    @Test func `a request that was taken back at once says where it was to go`() async throws {
        try await ProxyFixture.run { proxy in
            let client = try proxy.http2Client()
            let stream = client.frames.nextStream()
            // In one go, so that lupin reads both before it serves anything.
            try client.frames.send(
                .headers(stream, .request(authority: "a.test", path: "/x"), end: true),
                .resetStream(stream, .cancel)
            )
            let record = try proxy.record()
            #expect(record["outcome"] == "aborted")
            #expect(record["url.full"] == "http://a.test/x")
            #expect(record["network.reset"] == "CANCEL")
        }
    }

    @Test func `an upload that is given up says by whom`() async throws {
        try await ProxyFixture.run { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.http2Client()
            let stream = try client.open(.request("POST", authority: origin.authority))
            try client.frames.send(.data(stream, "some"))
            let far = try origin.accept()
            _ = try far.requestHead()
            try client.frames.send(.resetStream(stream, .internalError))
            let record = try proxy.record()
            #expect(record["outcome"] == "aborted")
            #expect(record["network.reset"] == "INTERNAL_ERROR")
            #expect(record["network.reset_by"] == "client")
            #expect(record["http.request.body.size"] == "4")
        }
    }
}
