// Reads an HTTP Archive of any program, entry by entry.

import LupinCore

/// Why a text is no HTTP Archive that lupin reads.
package struct ArchiveProblem: Error, Sendable, Equatable {
    /// Without a full stop.
    package var sentence: String

    package init(_ sentence: String) { self.sentence = sentence }
}

/// A reader of HTTP Archives (HAR 1.1 and 1.2).
///
/// Only one entry is in memory as values at a time, and no entry has more than `valuesMax` of them:
/// a hostile text costs little more than its own length.
package struct ArchiveReader {
    /// The length of an archive.
    package static let bytesMax = 256 << 20
    package static let entriesMax = 100_000
    /// JSON values in one entry, and in what surrounds the entries.
    static let valuesMax = 200_000

    private var reader: JSONReader
    private var values = 0
    private var entries = 0
    private var hasEntries = false

    /// Passes the exchanges of an archive to `take`, in their order.
    ///
    /// Entries that tell no request are left out.
    /// - Throws: Why it is no archive; what came before was taken.
    package static func read(
        _ bytes: Span<UInt8>,
        _ take: (ArchivedExchange) throws(ArchiveProblem) -> Void
    ) throws(ArchiveProblem) {
        guard bytes.count <= bytesMax else {
            throw ArchiveProblem("the archive is longer than \(bytesMax >> 20) MiB")
        }
        var reader = ArchiveReader(reader: JSONReader(bytes))
        try reader.read(bytes, take)
    }

    /// Checks that a text is an archive.
    package static func check(_ bytes: Span<UInt8>) throws(ArchiveProblem) {
        try read(bytes) { _ in }
    }

    private mutating func read(
        _ bytes: Span<UInt8>,
        _ take: (ArchivedExchange) throws(ArchiveProblem) -> Void
    ) throws(ArchiveProblem) {
        try members(bytes, depth: 0) { reader, name throws(ArchiveProblem) in
            guard name == "log" else { return try reader.skip(bytes, depth: 1) }
            try reader.members(bytes, depth: 1) { reader, name throws(ArchiveProblem) in
                guard name == "entries" else { return try reader.skip(bytes, depth: 2) }
                try reader.readEntries(bytes, take)
            }
        }
        guard reader.isAtEnd(bytes) else { throw broken }
        guard hasEntries else { throw ArchiveProblem("it has no list log.entries, as a HAR has") }
    }

    /// Reads an object; `read` reads the value of each member.
    private mutating func members(
        _ bytes: Span<UInt8>,
        depth: Int,
        _ read: (inout ArchiveReader, String) throws(ArchiveProblem) -> Void
    ) throws(ArchiveProblem) {
        guard case .object? = reader.value(bytes, depth: depth) else { throw broken }
        var isFirst = true
        while let hasMore = reader.hasMore(bytes, until: 0x7D, isFirst: isFirst) {
            guard hasMore else { return }
            isFirst = false
            try count()
            guard let name = reader.name(bytes) else { throw broken }
            try read(&self, JSONText.string(name, in: bytes))
        }
        throw broken
    }

    private mutating func readEntries(
        _ bytes: Span<UInt8>,
        _ take: (ArchivedExchange) throws(ArchiveProblem) -> Void
    ) throws(ArchiveProblem) {
        guard case .list? = reader.value(bytes, depth: 2) else { throw broken }
        hasEntries = true
        var isFirst = true
        while let hasMore = reader.hasMore(bytes, until: 0x5D, isFirst: isFirst) {
            guard hasMore else { return }
            isFirst = false
            entries += 1
            guard entries <= Self.entriesMax else {
                throw ArchiveProblem("it has more than \(Self.entriesMax) entries")
            }
            reader.skipWhitespace(bytes)
            let start = reader.position
            values = 0
            try skip(bytes, depth: 3)
            guard let entry = JSONValue(parsing: bytes.extracting(start..<reader.position)) else {
                throw broken
            }
            if let exchange = ArchivedExchange(entry) { try take(exchange) }
        }
        throw broken
    }

    /// Skips a value.
    private mutating func skip(_ bytes: Span<UInt8>, depth: Int) throws(ArchiveProblem) {
        try count()
        guard let token = reader.value(bytes, depth: depth) else { throw broken }
        let close: UInt8
        switch token {
        case .object: close = 0x7D
        case .list: close = 0x5D
        case .string, .number, .bool, .null: return
        }
        var isFirst = true
        while let hasMore = reader.hasMore(bytes, until: close, isFirst: isFirst) {
            guard hasMore else { return }
            isFirst = false
            if close == 0x7D, reader.name(bytes) == nil { throw broken }
            try skip(bytes, depth: depth + 1)
        }
        throw broken
    }

    private mutating func count() throws(ArchiveProblem) {
        values += 1
        guard values <= Self.valuesMax else {
            throw ArchiveProblem("an entry has more than \(Self.valuesMax) values")
        }
    }

    private var broken: ArchiveProblem {
        ArchiveProblem("it is not valid JSON, or no HAR, at byte \(reader.position)")
    }
}
