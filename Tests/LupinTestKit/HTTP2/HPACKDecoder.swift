// What a header block says, for a reader that takes RFC 7541 at its word.

/// Why a block is none.
package struct HPACKProblem: Error, CustomStringConvertible {
    package let description: String

    init(_ description: String) { self.description = "header block: \(description)" }
}

/// One direction of a connection: the dynamic table lives on between the blocks.
package struct HPACKDecoder: Sendable {
    /// What each entry weighs besides its octets (RFC 7541 §4.1).
    private static let entryOverhead = 32

    /// The newest first, each with its weight: what its octets were, the text may not tell.
    private var table: [(line: HTTP2Fields.Line, weight: Int)] = []
    /// What the table may weigh now, and what the settings allow.
    private var sizeMax = 4096
    private var settingsMax = 4096
    /// Whether the next block must begin with an update, since the settings allow less than before
    /// (§4.2).
    private var owesUpdate = false

    package init() {}

    /// Takes a SETTINGS_HEADER_TABLE_SIZE that the peer has acknowledged.
    package mutating func allow(_ size: Int) {
        settingsMax = size
        if size < sizeMax { owesUpdate = true }
    }

    /// - Throws: What RFC 7541 calls a decoding error.
    package mutating func decode(_ block: [UInt8]) throws(HPACKProblem) -> HTTP2Fields {
        var rest = block[...]
        var fields = HTTP2Fields()
        while let first = rest.first {
            if first >> 5 == 1 {
                guard fields.lines.isEmpty else {
                    throw HPACKProblem("a size update behind a field")
                }
                try update(try Self.integer(&rest, prefix: 5))
                continue
            }
            if owesUpdate { throw HPACKProblem("no size update after smaller settings") }
            fields.lines.append(try field(&rest, first))
        }
        return fields
    }

    private mutating func update(_ size: Int) throws(HPACKProblem) {
        guard size <= settingsMax else {
            throw HPACKProblem("a size update to \(size), \(settingsMax) at most")
        }
        owesUpdate = false
        sizeMax = size
        evict()
    }

    private mutating func field(
        _ rest: inout ArraySlice<UInt8>,
        _ first: UInt8
    ) throws(HPACKProblem) -> HTTP2Fields.Line {
        if first & 0x80 != 0 { return try entry(try Self.integer(&rest, prefix: 7)) }
        let isIncremental = first & 0x40 != 0
        let index = try Self.integer(&rest, prefix: isIncremental ? 6 : 4)
        let name = index == 0 ? try Self.string(&rest) : try self.name(at: index)
        let value = try Self.string(&rest)
        let line = HTTP2Fields.Line(name.text, value.text)
        if isIncremental {
            table.insert((line, name.count + value.count + Self.entryOverhead), at: 0)
            evict()
        }
        return line
    }

    private func name(at index: Int) throws(HPACKProblem) -> (text: String, count: Int) {
        let name = try entry(index).name
        return (name, name.utf8.count)
    }

    private func entry(_ index: Int) throws(HPACKProblem) -> HTTP2Fields.Line {
        let known = HPACK.staticTable.count
        guard index > 0, index <= known + table.count else {
            throw HPACKProblem("index \(index) of \(known + table.count)")
        }
        return index <= known ? HPACK.staticTable[index - 1] : table[index - known - 1].line
    }

    private mutating func evict() {
        var size = table.reduce(0) { $0 + $1.weight }
        while size > sizeMax, let last = table.popLast() { size -= last.weight }
    }

    private static func integer(
        _ rest: inout ArraySlice<UInt8>,
        prefix: Int
    ) throws(HPACKProblem) -> Int {
        guard let first = rest.popFirst() else { throw HPACKProblem("cut in an integer") }
        let full = 1 << prefix - 1
        var value = Int(first) & full
        if value < full { return value }
        for shift in [0, 7, 14, 21] {
            guard let octet = rest.popFirst() else { throw HPACKProblem("cut in an integer") }
            value += Int(octet & 0x7F) << shift
            if octet & 0x80 == 0 { return value }
        }
        throw HPACKProblem("an integer of more than five octets")
    }

    private static func string(
        _ rest: inout ArraySlice<UInt8>
    ) throws(HPACKProblem) -> (text: String, count: Int) {
        let isHuffman = (rest.first ?? 0) & 0x80 != 0
        let count = try integer(&rest, prefix: 7)
        guard count <= rest.count else { throw HPACKProblem("cut in a string") }
        let octets = rest.prefix(count)
        rest = rest.dropFirst(count)
        let text = isHuffman ? try HPACKHuffman.decode(octets) : Array(octets)
        return (String(decoding: text, as: UTF8.self), text.count)
    }
}
