// Header blocks as a test writes them, representation by representation, good ones and broken ones.

/// RFC 7541 §6: each function gives octets, and a block is their sum.
///
/// ```swift
/// HPACK.sizeUpdate(0) + HPACK.indexed(2) + HPACK.literal("te", "trailers", .never)
/// ```
package enum HPACK {
    /// What becomes of a literal field (RFC 7541 §6.2).
    package enum Indexing: Sendable, CaseIterable {
        case incremental, without, never

        var pattern: UInt8 { [.incremental: 0x40, .without: 0, .never: 0x10][self] ?? 0 }
        var prefix: Int { self == .incremental ? 6 : 4 }
    }

    /// Fields as literals without indexing: a block that means the same in every state.
    package static func block(_ fields: HTTP2Fields) -> [UInt8] {
        fields.lines.flatMap { literal($0.name, $0.value) }
    }

    /// An indexed field (§6.1).
    package static func indexed(_ index: Int) -> [UInt8] {
        integer(index, prefix: 7, pattern: 0x80)
    }

    /// A literal with a name of its own (§6.2).
    package static func literal(
        _ name: String,
        _ value: String,
        _ indexing: Indexing = .without,
        isHuffman: Bool = false
    ) -> [UInt8] {
        literal(
            name: string(name, isHuffman: isHuffman),
            value: string(value, isHuffman: isHuffman),
            indexing
        )
    }

    /// A literal whose strings are encoded already, well or not.
    package static func literal(
        name: [UInt8],
        value: [UInt8],
        _ indexing: Indexing = .without
    ) -> [UInt8] {
        integer(0, prefix: indexing.prefix, pattern: indexing.pattern) + name + value
    }

    /// A literal with a name from the tables (§6.2).
    package static func literal(
        nameAt index: Int,
        _ value: String,
        _ indexing: Indexing = .without,
        isHuffman: Bool = false
    ) -> [UInt8] {
        integer(index, prefix: indexing.prefix, pattern: indexing.pattern)
            + string(value, isHuffman: isHuffman)
    }

    /// A change of the dynamic table's size (§6.3).
    package static func sizeUpdate(_ size: Int) -> [UInt8] {
        integer(size, prefix: 5, pattern: 0x20)
    }

    // MARK: Parts

    /// An integer (§5.1) below the bits of `pattern`.
    package static func integer(_ value: Int, prefix: Int, pattern: UInt8 = 0) -> [UInt8] {
        let full = 1 << prefix - 1
        if value < full { return [pattern | UInt8(value)] }
        var rest = value - full
        var octets = [pattern | UInt8(full)]
        while rest >= 0x80 {
            octets.append(UInt8(rest & 0x7F) | 0x80)
            rest >>= 7
        }
        return octets + [UInt8(rest)]
    }

    /// A string (§5.2).
    package static func string(_ text: String, isHuffman: Bool = false) -> [UInt8] {
        string(octets: Array(text.utf8), isHuffman: isHuffman)
    }

    package static func string(octets: [UInt8], isHuffman: Bool = false) -> [UInt8] {
        isHuffman
            ? huffmanString(HPACKHuffman.encode(octets))
            : integer(octets.count, prefix: 7) + octets
    }

    /// A string that calls `octets` Huffman code, whatever they are.
    package static func huffmanString(_ octets: [UInt8]) -> [UInt8] {
        integer(octets.count, prefix: 7, pattern: 0x80) + octets
    }

    /// The static table (Appendix A), from index 1.
    static let staticTable: [HTTP2Fields.Line] = {
        let methods = [(":authority", ""), (":method", "GET"), (":method", "POST")]
        let targets = [
            (":path", "/"), (":path", "/index.html"), (":scheme", "http"), (":scheme", "https"),
        ]
        let statuses = ["200", "204", "206", "304", "400", "404", "500"].map { (":status", $0) }
        let codings = [("accept-charset", ""), ("accept-encoding", "gzip, deflate")]
        let names = """
            accept-language accept-ranges accept access-control-allow-origin age allow \
            authorization cache-control content-disposition content-encoding content-language \
            content-length content-location content-range content-type cookie date etag expect \
            expires from host if-match if-modified-since if-none-match if-range \
            if-unmodified-since last-modified link location max-forwards proxy-authenticate \
            proxy-authorization range referer refresh retry-after server set-cookie \
            strict-transport-security transfer-encoding user-agent vary via www-authenticate
            """
        let others = names.split(separator: " ").map { (String($0), "") }
        return (methods + targets + statuses + codings + others).map {
            HTTP2Fields.Line($0, $1)
        }
    }()
}
