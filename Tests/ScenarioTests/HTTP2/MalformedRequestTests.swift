// Requests that break HTTP/2: nobody is bothered with them, and the record says why.
import LupinTestKit
import Testing

struct MalformedRequestTests {
    /// What a head has that it must not have, or lacks.
    static let spoilt: [(name: String, spoil: @Sendable (HTTP2Fields) -> HTTP2Fields)] = [
        ("a name in upper case", { $0 + ["X-Upper": "1"] }),
        ("a field of the connection", { $0 + ["connection": "close"] }),
        ("a line break in a value", { $0 + ["x": "a\r\nb"] }),
        ("no path", { $0.without(":path") }),
        ("a path that is none", { $0.with(":path", "nothing") }),
        ("another host than the authority", { $0 + ["host": "elsewhere.test"] }),
    ]

    @Test(arguments: spoilt.indices)
    func `a malformed request leaves a record and reaches nobody`(index: Int) async throws {
        try await ProxyFixture.run { proxy in
            let origin = try proxy.measuredOrigin()
            let client = try proxy.http2Client()
            let head = HTTP2Fields.request(authority: origin.authority, path: "/1")
            try client.frames.send(.headers(1, Self.spoilt[index].spoil(head), end: true))
            try client.frames.expectReset(1, .protocolError)
            let record = try proxy.record()
            #expect(record["outcome"] == "error")
            #expect(record["error.type"] == "http_request_error")
            #expect(record["network.protocol.version"] == "2")
            #expect(record["network.stream"] == "1")
            #expect(record["network.reset"] == "PROTOCOL_ERROR")
            #expect(record["network.reset_by"] == "proxy")
            #expect(origin.connections.isEmpty)
        }
    }
}
