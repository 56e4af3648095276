// The exchanges that ended last, kept in memory: heads only, formatted only on request.
import LupinCore
import LupinPolicy
import LupinRecords
import Synchronization

/// A request as adapters left it, which the history and its exchange hold together.
final class SentRequest: Sendable {
    let head: RequestHead

    init(_ head: RequestHead) { self.head = head }
}

/// The last exchanges of all workers, `admin.history` of them.
///
/// An exchange moves its record and fields here unchanged, secrets included, and takes over the
/// memory of an older one; they are formatted, without secrets, when they are requested.
final class ExchangeHistory: Sendable {
    /// An exchange that has ended.
    struct Entry: Sendable {
        /// Without the fields of its heads, which are stored separately.
        private var core: ExchangeRecord
        private var requestFields = FieldSection()
        private var responseFields = FieldSection()
        /// The request as adapters left it; nil when none ran.
        private var changed: SentRequest?

        fileprivate init() {
            core = ExchangeRecord(id: ExchangeID(high: 0, low: 0), startMicroseconds: 0)
        }

        /// Takes over another exchange by swapping its record and fields for the former ones.
        fileprivate mutating func become(
            _ record: inout ExchangeRecord,
            _ fields: inout ExchangeRecord.Fields,
            changed: SentRequest?
        ) {
            swap(&requestFields, &fields.request)
            swap(&responseFields, &fields.response)
            swap(&core, &record)
            self.changed = changed
        }

        var id: ExchangeID { core.id }

        var record: ExchangeRecord {
            var record = core
            record.request?.fields = requestFields
            record.response?.fields = responseFields
            return record
        }

        /// The request as it was sent upstream; nil when none was sent.
        var sent: RequestHead? {
            if let changed { return changed.head }
            return core.attempts.isEmpty ? nil : record.request
        }
    }

    private struct Ring {
        var entries: [Entry] = []
        /// How many exchanges have been added, ever; the next one has this number.
        private(set) var added = 0

        /// The numbers of the entries.
        var numbers: Range<Int> { added - entries.count..<added }

        /// The index for the next one, which is that of the oldest once the ring is full.
        mutating func takeNext(of limit: Int) -> Int {
            defer { added += 1 }
            return added % limit
        }
    }

    /// The maximum number of entries.
    let limit: Int
    private let ring = Mutex(Ring())

    /// Keeps no entries when the admin interface is off.
    init(_ settings: AdminSettings) {
        limit = settings.socket == .off && settings.http == nil ? 0 : settings.history
    }

    var isOn: Bool { limit > 0 }

    /// Adds an exchange by moving its record and fields; when full, it replaces the oldest, whose
    /// memory is returned in their place.
    func append(
        _ record: inout ExchangeRecord,
        _ fields: inout ExchangeRecord.Fields,
        changed: SentRequest?
    ) {
        guard limit > 0 else { return }
        ring.withLock { ring in
            let index = ring.takeNext(of: limit)
            if index == ring.entries.count { ring.entries.append(Entry()) }
            ring.entries[index].become(&record, &fields, changed: changed)
        }
    }

    var count: Int { ring.withLock { $0.entries.count } }

    /// The entries that ended last, or before the one with the number `end`: at most `count`, the
    /// latest first, and the number of the earliest of them.
    func latest(_ count: Int, before end: Int? = nil) -> (entries: [Entry], start: Int) {
        ring.withLock { ring in
            let numbers = ring.numbers.clamped(to: 0..<(end ?? .max))
            let wanted = numbers.suffix(count)
            return (wanted.reversed().map { ring.entries[$0 % limit] }, wanted.startIndex)
        }
    }

    /// Passes entries to `take`, the latest first, until it returns false.
    ///
    /// Workers wait for the lock, so it is held for a few entries at a time.
    func forEachLatest(_ take: (Entry) -> Bool) {
        var end: Int?
        while true {
            let (entries, start) = latest(Self.pieceCount, before: end)
            for entry in entries where !take(entry) { return }
            if entries.count < Self.pieceCount { return }
            end = start
        }
    }

    private static let pieceCount = 256
}

extension ExchangeHistory.Entry {
    /// Whether a filter keeps its line.
    func isKept(
        by filter: ExchangeFilter,
        _ format: inout RecordFormat,
        now: Int64
    ) -> Bool {
        if filter.text.isEmpty { return true }
        return JSONValue(parsing: line(&format).span).map { filter.matches($0, now: now) } ?? false
    }

    /// The record as its log line.
    func line(_ format: inout RecordFormat) -> [UInt8] {
        var line = JSONLine()
        format.appendJSON(record, dropped: 0, to: &line)
        return line.bytes.last == 0x0A ? Array(line.bytes.dropLast()) : line.bytes
    }

    /// The heads: the client's request, the request sent upstream, and the client's response.
    var heads: PackedHeads {
        let record = record
        return PackedHeads(
            request: record.request,
            sent: sent,
            received: nil,
            response: record.response
        )
    }

    /// Appends the record and the heads.
    func add(to line: inout JSONLine, _ format: inout RecordFormat) {
        line.openObject()
        line.add("record")
        line.bytes.append(contentsOf: self.line(&format))
        line.add(members: heads.bytes(format.redactor))
        line.closeObject()
    }
}
