// The tests' own HTTP/2: header blocks as RFC 7541 prints them, and what the kit forgives nobody.
import LupinTestKit
import Testing

struct FrameKitTests {
    private static func octets(_ text: String) -> [UInt8] {
        let digits = Array(text.utf8.filter { $0 != 0x20 })
        return stride(from: 0, to: digits.count, by: 2).compactMap {
            UInt8(String(decoding: digits[$0..<$0 + 2], as: UTF8.self), radix: 16)
        }
    }

    private static let requests: [HTTP2Fields] = [
        .request(authority: "www.example.com"),
        .request(authority: "www.example.com") + ["cache-control": "no-cache"],
        .request(scheme: "https", authority: "www.example.com", path: "/index.html")
            + ["custom-key": "custom-value"],
    ].map { fields in
        let order = [":method", ":scheme", ":path", ":authority", "cache-control", "custom-key"]
        return HTTP2Fields(order.flatMap { name in fields.lines.filter { $0.name == name } })
    }

    @Test(arguments: [
        [
            "828684410f7777772e6578616d706c652e636f6d", "828684be58086e6f2d6361636865",
            "828785bf400a637573746f6d2d6b65790c637573746f6d2d76616c7565",
        ],
        [
            "828684418cf1e3c2e5f23a6ba0ab90f4ff", "828684be5886a8eb10649cbf",
            "828785bf408825a849e95ba97d7f8925a849e95bb8e8b4bf",
        ],
    ])
    func `the requests of RFC 7541 C_3 and C_4 are read`(blocks: [String]) throws {
        var decoder = HPACKDecoder()
        for (block, fields) in zip(blocks, Self.requests) {
            #expect(try decoder.decode(Self.octets(block)) == fields)
        }
    }

    @Test func `the responses of RFC 7541 C_6 are read with a table of 256 octets`() throws {
        var decoder = HPACKDecoder()
        decoder.allow(256)
        let first = Self.octets(
            "488264025885aec3771a4b6196d07abe941054d444a8200595040b8166e082a62d1bff"
                + "6e919d29ad171863c78f0b97c8e9ae82ae43d3"
        )
        #expect(throws: HPACKProblem.self) { try decoder.decode(first) }
        let fields = try decoder.decode(HPACK.sizeUpdate(256) + first)
        #expect(fields[":status"] == "302")
        #expect(fields["cache-control"] == "private")
        #expect(fields["date"] == "Mon, 21 Oct 2013 20:13:21 GMT")
        #expect(fields["location"] == "https://www.example.com")
        #expect(try decoder.decode(Self.octets("4883640effc1c0bf"))[":status"] == "307")
        let third = try decoder.decode(
            Self.octets(
                "88c16196d07abe941054d444a8200595040b8166e084a62d1bffc05a839bd9ab77ad94e7"
                    + "821dd7f2e6c7b335dfdfcd5b3960d5af27087f3672c1ab270fb5291f9587316065c003"
                    + "ed4ee5b1063d5007"
            )
        )
        #expect(third["set-cookie"] == "foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1")
    }

    @Test func `Huffman code goes there and back for every octet`() throws {
        let all = (0...255).map { UInt8($0) }
        #expect(try HPACKHuffman.decode(HPACKHuffman.encode(all)[...]) == all)
        #expect(throws: HPACKProblem.self) {
            try HPACKHuffman.decode(HPACKHuffman.encodeWithEndOfString(all)[...])
        }
        #expect(throws: HPACKProblem.self) {
            try HPACKHuffman.decode(HPACKHuffman.encodeFillingWithZeros([0x61])[...])
        }
    }

    private static let head: HTTP2Fields = [":status": "200"]

    @Test(
        arguments: [
            [.ping()],
            [.settings(), .data(1, "body")],
            [.settings(), .headers(1, head, end: true), .data(1, "body")],
            [.settings(), .headers(2, head)],
            [.settings(), .headers(1, [:], end: true)],
            [.settings(), .headers(1, head + head)],
            [.settings(), .headers(1, head + ["X": "y"])],
            [.settings(), .headers(1, head + ["connection": "close"])],
            [.settings(), .headers(1, head + ["x": "a\nb"])],
            [.settings(), .headers(1, [":status": "101"])],
            [.settings(), .headers(1, [":status": "103"], end: true)],
            [.settings(), .headers(1, head), .headers(1, ["x": "y"])],
            [.settings(), .headers(1, head), .headers(1, head, end: true)],
            [.settings(), .headers(1, block: [0x88], endHeaders: false), .ping()],
            [.settings(), .headers(1, block: [0xBE])],
            [.settings(), .pushPromise(1, promising: 2, head)],
            [.settings(), .settingsAcknowledgement],
            [.settings(), .windowUpdate(0, 0)],
            [.settings(), .windowUpdate(0, 0x7FFF_FFFF)],
            [.settings(), .ping().sized(7)],
            [.settings(.enablePush(1))],
            [.settings(.maxFrameSize(1))],
            [.settings(), .unknown().sized(16_385)],
            [.settings(), .headers(1, head)]
                + [HTTP2Frame](repeating: .data(1, [UInt8](repeating: 0, count: 16_384)), count: 4),
        ] as [[HTTP2Frame]]
    )
    func `what a server may not send is a violation`(frames: [HTTP2Frame]) throws {
        var judge = FrameJudge(of: .server)
        for frame in frames.dropLast() { _ = try judge.take(frame) }
        let last = try #require(frames.last)
        #expect(throws: HTTP2Violation.self) { try judge.take(last) }
    }

    @Test(arguments: [
        HTTP2Fields.request(authority: "a"), .request(authority: "a") + ["te": "trailers"],
        .request("CONNECT", scheme: nil, authority: "a:1", path: nil),
        .request("CONNECT", authority: "a", protocol: "websocket"),
    ])
    func `a sound request is none`(fields: HTTP2Fields) throws {
        #expect(FieldJudge.problem(inRequest: fields) == nil)
    }

    @Test(arguments: [
        HTTP2Fields.request(authority: "a", path: nil), .request("CONNECT", authority: "a"),
        .request(authority: "a", protocol: "websocket"), .request(authority: "u@a"),
        .request(authority: "a") + ["host": "b"], .request(authority: "a") + ["te": "gzip"],
        .request(authority: "a") + [":path": "/"], .request(authority: "a") + ["x": " y"],
    ])
    func `a request that a proxy must not forward is one`(fields: HTTP2Fields) throws {
        #expect(FieldJudge.problem(inRequest: fields) != nil)
    }
}
