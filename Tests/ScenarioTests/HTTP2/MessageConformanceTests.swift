// RFC 9113 §8.1: how a message is put together, and how long its body is.
import LupinTestKit
import Testing

extension HTTP2Case {
    static let messages: [HTTP2Case] = [
        HTTP2Case("GET") { target in
            let client = try target.client()
            let response = try client.request(target.get)
            guard response.status == 200, !response.body.isEmpty else {
                throw SocketFailure("GET got \(response)")
            }
        },
        HTTP2Case("HEAD has a response without a body") { target in
            let client = try target.client()
            let response = try client.request(target.head("HEAD"))
            guard response.status == 200, response.body.isEmpty else {
                throw SocketFailure("HEAD got \(response)")
            }
        },
        .fine("POST", answered: 1) { [$0.post(1), .data(1, "body", end: true)] },
        .fine("POST with the length of its body", answered: 1) { target in
            [.headers(1, target.post + ["content-length": "4"]), .data(1, "body", end: true)]
        },
        .fine("POST without a body", answered: 1) { [.headers(1, $0.post, end: true)] },
        .fine("POST with a body of nothing", answered: 1) { [$0.post(1), .data(1, end: true)] },
        .fine("POST with trailers", answered: 1) { target in
            [target.post(1), .data(1, "body"), .headers(1, ["x-sum": "1"], end: true)]
        },
        .fine("POST with trailers and no body", answered: 1) { target in
            [target.post(1), .headers(1, ["x-sum": "1"], end: true)]
        },
        .fine("trailers with no field", answered: 1) { target in
            [target.post(1), .data(1, "body"), .headers(1, block: [], end: true)]
        },
        .refused("a second head without END_STREAM", .protocolError) { target in
            [target.post(1), .headers(1, ["x-sum": "1"])]
        },
        .refused("trailers without END_STREAM", .protocolError) { target in
            [target.post(1), .data(1, "body"), .headers(1, ["x-sum": "1"])]
        },
        .refused("a pseudo-field in trailers", .protocolError) { target in
            [target.post(1), .data(1, "body"), .headers(1, [":method": "GET"], end: true)]
        },
        .refused("a status in trailers", .protocolError) { target in
            [target.post(1), .data(1, "body"), .headers(1, [":status": "200"], end: true)]
        },
        .refused("an upper-case name in trailers", .protocolError) { target in
            [target.post(1), .data(1, "body"), .headers(1, ["X-Sum": "1"], end: true)]
        },
        .refused("DATA behind trailers", .streamClosed, settings: [.initialWindowSize(0)]) {
            target in
            [target.post(1), .headers(1, ["x-sum": "1"], end: true), .data(1, "body")]
        },
    ]

    /// What content-length promises and DATA keep (§8.1.1).
    static let contentLength: [HTTP2Case] = [
        length("1 and a body of four octets", "1", "body"),
        length("9 and a body of four octets", "9", "body"),
        length("1 and a body of two pieces", "1", "bo", "dy"),
        length("9 and a body of two pieces", "9", "bo", "dy"),
        length("0 and a body", "0", "body"),
        .malformed("4 and no body at all") { target in
            [.headers(1, target.post + ["content-length": "4"], end: true)]
        },
        length("4 and only trailers", "4"),
        lengths("of no digits", "four"),
        lengths("with a sign", "+4"),
        lengths("below 0", "-4"),
        lengths("in hexadecimal", "0x4"),
        lengths("of nothing", ""),
        lengths("beyond 2^64", "18446744073709551620"),
        lengths("twice, and different", "4", "5"),
        lengths("as a list of different ones", "4, 5"),
        .fine("HEAD may name a length without a body", answered: 1) { target in
            [.headers(1, target.get + ["content-length": "0"], end: true)]
        },
    ]

    /// The head may have gone to the origin already, but never a whole request.
    private static func length(_ name: String, _ value: String, _ body: String...) -> HTTP2Case {
        .refused("content-length \(name)", .protocolError) { target in
            let head = HTTP2Frame.headers(1, target.post + ["content-length": value])
            if body.isEmpty { return [head, .headers(1, ["x-sum": "1"], end: true)] }
            return [head]
                + body.enumerated().map { .data(1, $1, end: $0 == body.count - 1) }
        }
    }

    private static func lengths(_ name: String, _ values: String...) -> HTTP2Case {
        .malformed("content-length \(name)") { target in
            let lines = values.map { HTTP2Fields.Line("content-length", $0) }
            return [.headers(1, target.post + HTTP2Fields(lines)), .data(1, "body", end: true)]
        }
    }
}

struct MessageConformanceTests {
    @Test(arguments: HTTP2Route.allCases)
    func `a message is a head, DATA and trailers (8_1)`(route: HTTP2Route)
        async throws
    {
        try await route.play(HTTP2Case.messages)
    }

    @Test(arguments: HTTP2Route.allCases)
    func `a body has the length that its head says (8_1_1)`(route: HTTP2Route)
        async throws
    {
        try await route.play(HTTP2Case.contentLength)
    }
}
