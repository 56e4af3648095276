// A few octets that unpack to megabytes of fields: they are given up long before.
import LupinTestKit
import Testing

struct HPACKBombTests {
    private static let answer =
        "rules: [{name: canned, match: {host: a.test}, respond: {status: 200, body: fine}}]"

    /// A block that has one long field and then names it again and again.
    private static func bomb(field bytes: Int, repeated count: Int) -> [UInt8] {
        let long = HPACK.literal("x", String(repeating: "b", count: bytes), .incremental)
        return HPACK.sizeUpdate(max(4096, bytes + 64)) + HPACK.block(.request(authority: "a.test"))
            + long
            + (0..<count).flatMap { _ in HPACK.indexed(62) }
    }

    @Test(arguments: [("4KiB", 4000, 4000), ("64KiB", 60 << 10, 3000)])
    func `a field of the table named thousands of times ends the connection`(
        table: String,
        field: Int,
        count: Int
    ) async throws {
        let rules = "limits: {h2: {table: \(table)}}\n" + Self.answer
        try await ProxyFixture.run(rules) { proxy in
            let client = try proxy.http2Client()
            let innocent = try proxy.http2Client()
            let block = Self.bomb(field: field, repeated: count)
            try client.frames.send(HTTP2Frame.headerFrames(1, block: block, end: true))
            try client.frames.expectCalm()
            #expect(try innocent.request(authority: "a.test").bodyText == "fine")
        }
    }

    @Test func `fields somewhat beyond the limit are refused and the connection lives`()
        async throws
    {
        try await ProxyFixture.run("limits: {header_bytes: 8KiB}\n" + Self.answer) { proxy in
            let client = try proxy.http2Client()
            let block = Self.bomb(field: 3000, repeated: 4)
            try client.frames.send(HTTP2Frame.headerFrames(1, block: block, end: true))
            #expect(try client.response(on: 1).status == 431)
            // Both sides still mean the same by their tables.
            let small = HPACK.block(.request(authority: "a.test")) + HPACK.indexed(62)
            try client.frames.send(.headers(3, block: small, end: true))
            #expect(try client.response(on: 3).bodyText == "fine")
        }
    }
}
