// Rules about the client's program hold for every stream, however many come before it is known.
import LupinTestKit
import Testing

struct ProgramStreamTests {
    private static let rules = """
        rules:
          - {name: others, match: {host: a.test}, respond: {status: 200, body: slipped by}}
          - {name: mine, match: {program: "*"}, respond: {status: 451}}
        """

    @Test func `streams that come in one write all wait for the program`() async throws {
        try await ProxyFixture.run(Self.rules) { proxy in
            let client = try proxy.http2Client()
            let head = HTTP2Fields.request(authority: "a.test")
            let streams = (0..<20).map { _ in client.frames.nextStream() }
            try client.frames.send(streams.map { .headers($0, head, end: true) })
            for stream in streams {
                #expect(try client.response(on: stream).status == 451)
            }
            #expect(try client.request(head).status == 451)
            #expect(try proxy.records(21).allSatisfy { $0["http.response.status_code"] == "451" })
        }
    }
}
