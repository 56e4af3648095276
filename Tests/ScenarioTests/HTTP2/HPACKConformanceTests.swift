// RFC 7541: header blocks in every form that they may have, and in forms that they may not.
import LupinTestKit
import Testing

extension HTTP2Case {
    static let fieldRepresentations: [HTTP2Case] = literals + others

    private static let literals: [HTTP2Case] =
        HPACK.Indexing.allCases.flatMap { indexing in
            [false, true].flatMap { isHuffman in
                [
                    block("a literal, \(indexing)\(isHuffman ? ", in Huffman code" : "")") {
                        HPACK.literal("x-name", "a value", indexing, isHuffman: isHuffman)
                    },
                    block("a known name, \(indexing)\(isHuffman ? ", in Huffman code" : "")") {
                        HPACK.literal(nameAt: 58, "judge/1.0", indexing, isHuffman: isHuffman)
                    },
                ]
            }
        }

    private static let others: [HTTP2Case] = [
        block("indexed fields of the static table") {
            HPACK.indexed(16) + HPACK.indexed(19)
        },
        block("an indexed field of the dynamic table") {
            HPACK.literal("x-name", "a value", .incremental) + HPACK.indexed(62)
        },
        block("a name of the dynamic table") {
            HPACK.literal("x-name", "a value", .incremental)
                + HPACK.literal(nameAt: 62, "another")
        },
        block("a string of nothing in Huffman code") {
            HPACK.literal(name: HPACK.string("x"), value: HPACK.huffmanString([]))
        },
        block("every octet that a value may have, in Huffman code") {
            HPACK.literal(
                name: HPACK.string("x"),
                value: HPACK.string(
                    octets: [0x21, 0x09] + (0x20...0x7E).dropFirst()
                        + (0x80...0xFF),
                    isHuffman: true
                )
            )
        },
        block("a field that is bigger than the whole table") {
            HPACK.literal("x-big", String(repeating: "a", count: 5000), .incremental)
        },
        block("an integer with octets that add nothing") {
            [0x40, 0x01, 0x78, 0x7F, 0x80, 0x80, 0x00] + [UInt8](repeating: 0x61, count: 127)
        },
        HTTP2Case("a field is remembered from block to block") { target in
            let client = try target.client()
            let head = HPACK.block(target.get)
            let field = HPACK.literal("x-name", "a value", .incremental)
            try client.frames.send(.headers(1, block: head + field, end: true))
            try client.frames.send(.headers(3, block: head + HPACK.indexed(62), end: true))
            try client.expectAnswer(on: 1)
            try client.expectAnswer(on: 3)
        },
    ]

    /// A request with these octets behind its pseudo-fields.
    private static func block(_ name: String, _ octets: @Sendable () -> [UInt8]) -> HTTP2Case {
        let field = octets()
        return .fine(name, answered: 1) { target in
            [.headers(1, block: HPACK.block(target.get) + field, end: true)]
        }
    }

    static let decodingErrors: [HTTP2Case] = [
        error("index 0") { [0x80] },
        error("an index behind the tables") { HPACK.indexed(62) },
        error("a name at an index behind the tables") { HPACK.literal(nameAt: 62, "value") },
        error("a name to remember at an index behind the tables") {
            HPACK.literal(nameAt: 62, "value", .incremental)
        },
        error("a huge index") { [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x07] },
        error("an integer without an end") { [0xFF] + [UInt8](repeating: 0xFF, count: 20) },
        error("an integer of many octets that add nothing") {
            [0xFF] + [UInt8](repeating: 0x80, count: 40) + [0]
        },
        error("an integer that is cut") { [0xFF, 0x80] },
        error("a string that is longer than the block") {
            HPACK.literal(name: HPACK.string("x"), value: HPACK.integer(5, prefix: 7) + [0x61])
        },
        error("a literal without its value") { HPACK.literal(name: HPACK.string("x"), value: []) },
        error("a field that the table has thrown out") {
            HPACK.literal("x-name", "a value", .incremental)
                + HPACK.literal("x-big", String(repeating: "a", count: 5000), .incremental)
                + HPACK.indexed(62)
        },
        huffman("padding of eight ones", HPACKHuffman.encode(Array("value".utf8)) + [0xFF]),
        huffman(
            "padding of 24 ones",
            HPACKHuffman.encode(Array("value".utf8)) + [0xFF, 0xFF, 0xFF]
        ),
        huffman("padding of zeros", HPACKHuffman.encodeFillingWithZeros(Array("value".utf8))),
        huffman("the end of the string", HPACKHuffman.encodeWithEndOfString(Array("value".utf8))),
        huffman("nothing but the end of the string", [0xFF, 0xFF, 0xFF, 0xFF]),
        huffman("a code that is cut", [0x1F, 0xFF, 0xFF]),
    ]

    private static func huffman(_ name: String, _ octets: [UInt8]) -> HTTP2Case {
        error("Huffman code with \(name)") {
            HPACK.literal(name: HPACK.string("x"), value: HPACK.huffmanString(octets))
        }
    }

    private static func error(_ name: String, _ octets: @Sendable () -> [UInt8]) -> HTTP2Case {
        let field = octets()
        return .broken(name, .compressionError) { target in
            [.headers(1, block: HPACK.block(target.get) + field, end: true)]
        }.reachingNobody
    }

    static let tableSizes: [HTTP2Case] = [
        HTTP2Case("an update to the size that the server offers") { target in
            let client = try target.client()
            let block = HPACK.sizeUpdate(client.tableSizeMax) + HPACK.block(target.get)
            try client.frames.send(.headers(1, block: block, end: true))
            try client.expectAnswer(on: 1)
        },
        HTTP2Case("an update beyond the size that the server offers") { target in
            let client = try target.client()
            try client.frames.expectAlive()
            let block = HPACK.sizeUpdate(client.tableSizeMax + 1) + HPACK.block(target.get)
            try client.frames.send(.headers(1, block: block, end: true))
            try client.frames.expectConnectionError(.compressionError)
        }.reachingNobody,
        .fine("two updates at the beginning of a block", answered: 1) { target in
            let updates = HPACK.sizeUpdate(0) + HPACK.sizeUpdate(4096)
            return [.headers(1, block: updates + HPACK.block(target.get), end: true)]
        },
        .broken("an update behind a field", .compressionError) { target in
            let field = HPACK.literal("x", "y")
            let block = HPACK.sizeUpdate(0) + HPACK.block(target.get) + HPACK.sizeUpdate(0)
            return [.headers(1, block: block + field, end: true)]
        }.reachingNobody,
        .broken("an update at the end of a block", .compressionError) { target in
            let block = HPACK.block(target.get) + HPACK.sizeUpdate(4096)
            return [.headers(1, block: block, end: true)]
        }.reachingNobody,
        .broken("a field that an update has thrown out", .compressionError) { target in
            let head = HPACK.block(target.get)
            let field = HPACK.literal("x-name", "a value", .incremental)
            let later = HPACK.sizeUpdate(0) + head + HPACK.indexed(62)
            return [
                .headers(1, block: head + field, end: true),
                .headers(3, block: later, end: true),
            ]
        },
        .fine("a table of nothing remembers nothing", answered: 1) { target in
            let block = HPACK.sizeUpdate(0) + HPACK.block(target.get)
            return [
                .headers(1, block: block + HPACK.literal("x", "y", .incremental), end: true)
            ]
        },
    ]
}

extension HTTP2Client {
    /// The server's SETTINGS_HEADER_TABLE_SIZE.
    fileprivate var tableSizeMax: Int { Int(serverSetting(1) ?? 4096) }
}

struct HPACKConformanceTests {
    @Test(arguments: HTTP2Route.allCases)
    func `a field is read in every representation (RFC 7541 6_1, 6_2)`(route: HTTP2Route)
        async throws
    {
        try await route.play(HTTP2Case.fieldRepresentations)
    }

    @Test(arguments: HTTP2Route.allCases)
    func `what cannot be decoded ends the connection (RFC 7541 2_3_3, 5_1, 5_2, 6_1)`(
        route: HTTP2Route
    )
        async throws
    {
        try await route.play(HTTP2Case.decodingErrors)
    }

    @Test(arguments: HTTP2Route.allCases)
    func `the table has the size that both agreed on (RFC 7541 4_2, 6_3)`(route: HTTP2Route)
        async throws
    {
        try await route.play(HTTP2Case.tableSizes)
    }
}
