// Heads of HTTP/2 that are beyond a limit: a status for the request, and the connection lives on.
import LupinTestKit
import Testing

struct StreamHeadLimitTests {
    private static let rules = """
        limits: {header_bytes: 4KiB, header_fields: 16, request_line: 1KiB}
        rules: [{name: canned, match: {host: a.test}, respond: {status: 200, body: fine}}]
        """

    struct Sample: Sendable, CustomTestStringConvertible {
        let name: String
        let status: Int
        var path = "/"
        var fields = HTTP2Fields()

        var testDescription: String { name }
    }

    private static func lines(_ count: Int, _ name: (Int) -> String) -> HTTP2Fields {
        HTTP2Fields((0..<count).map { HTTP2Fields.Line(name($0), "v\($0)") })
    }

    private static let long = String(repeating: "x", count: 5000)

    static let samples: [Sample] = [
        Sample(name: "as many fields as may be", status: 200, fields: lines(16) { "x-\($0)" }),
        Sample(name: "one field more", status: 431, fields: lines(17) { "x-\($0)" }),
        Sample(name: "crumbs count as one", status: 200, fields: lines(40) { _ in "cookie" }),
        Sample(name: "a field that is too long", status: 431, fields: ["x": long]),
        Sample(
            name: "crumbs that are too long together",
            status: 431,
            fields: lines(200) { _ in "cookie" }
        ),
        Sample(name: "a path that is long", status: 200, path: "/" + long.prefix(1000)),
        Sample(name: "a path that is too long", status: 414, path: "/" + long.prefix(2000)),
    ]

    @Test(arguments: samples)
    func `what is beyond a limit gets its status`(sample: Sample) async throws {
        try await ProxyFixture.run(Self.rules) { proxy in
            let client = try proxy.http2Client()
            let head = HTTP2Fields.request(authority: "a.test", path: sample.path)
            let response = try client.request(head + sample.fields)
            #expect(response.status == sample.status)
            #expect(try client.request(authority: "a.test").bodyText == "fine")
            let record = try proxy.records(2)[0]
            #expect(record["http.response.status_code"] == "\(sample.status)")
            #expect(record["network.protocol.version"] == "2")
            #expect(record["network.stream"] == "1")
        }
    }
}
