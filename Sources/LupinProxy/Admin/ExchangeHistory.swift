// The exchanges that ended last, kept in memory: heads only, formatted only on request.
import LupinCore
import Synchronization

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
        private var changed: RequestHead?

        fileprivate init() {
            core = ExchangeRecord(id: ExchangeID(high: 0, low: 0), startMicroseconds: 0)
        }

        /// Takes over another exchange by swapping its record and fields for the former ones.
        fileprivate mutating func become(
            _ record: inout ExchangeRecord,
            _ fields: inout ExchangeRecord.Fields,
            changed: RequestHead?
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
            if let changed { return changed }
            return core.attempts.isEmpty ? nil : record.request
        }
    }

    private struct Ring {
        var entries: [Entry] = []
        /// The index of the next entry, once the ring is full.
        private(set) var next = 0

        /// All entries, the latest first.
        var latest: some Collection<Entry> {
            let kept = entries.count
            return (0..<kept).lazy.map { age in entries[(next + 2 * kept - 1 - age) % kept] }
        }

        /// The index of the oldest entry, once the ring is full.
        mutating func takeNext(of limit: Int) -> Int {
            defer { next = next + 1 == limit ? 0 : next + 1 }
            return next
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
        changed: RequestHead?
    ) {
        guard limit > 0 else { return }
        ring.withLock { ring in
            var place = ring.entries.count
            if place < limit {
                ring.entries.append(Entry())
            } else {
                place = ring.takeNext(of: limit)
            }
            ring.entries[place].become(&record, &fields, changed: changed)
        }
    }

    var count: Int { ring.withLock { $0.entries.count } }

    /// The last `count` entries, the latest first.
    func latest(_ count: Int) -> [Entry] {
        ring.withLock { Array($0.latest.prefix(count)) }
    }

    /// Those whose ID begins with these digits, the latest first.
    func entries(digits: String) -> [Entry] {
        // Workers wait for the lock, so texts are compared after it.
        latest(limit).filter { $0.id.text.hasPrefix(digits) }
    }

    /// The entries that ended after the one called `id`, the oldest first; all when it is not kept.
    func entries(after id: ExchangeID?) -> [Entry] {
        let all = Array(latest(limit).reversed())
        guard let id, let place = all.lastIndex(where: { $0.id == id }) else { return all }
        return Array(all[(place + 1)...])
    }
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

    /// Appends the record and the heads: the client's request, the request sent upstream, and the
    /// client's response.
    func add(to line: inout JSONLine, _ format: inout RecordFormat) {
        let redactor = format.redactor
        let record = record
        line.openObject()
        line.add("record")
        line.bytes.append(contentsOf: self.line(&format))
        if let request = record.request {
            line.openObject("request")
            line.add(request, redactor, skipsHopByHop: false)
            line.closeObject()
        }
        if let sent {
            line.openObject("sent")
            line.add(sent, redactor, skipsHopByHop: true)
            line.closeObject()
        }
        if let response = record.response {
            line.openObject("response")
            line.add("status", UInt64(response.status))
            line.add(fieldsOf: response.fields, redactor, skipsHopByHop: true)
            line.closeObject()
        }
        line.closeObject()
    }
}

extension JSONLine {
    fileprivate mutating func add(
        _ head: RequestHead,
        _ redactor: Redactor,
        skipsHopByHop: Bool
    ) {
        add("method", text: redactor.cleaned(head.method.token))
        add("target", text: redactor.recordedPath(of: head).span)
        add(fieldsOf: head.fields, redactor, skipsHopByHop: skipsHopByHop)
    }

    /// Appends `"fields":[["host","a.example"],…]`, in their order.
    mutating func add(
        fieldsOf fields: FieldSection,
        _ redactor: Redactor,
        skipsHopByHop: Bool
    ) {
        openList("fields")
        for field in fields.lines where !(skipsHopByHop && field.isHopByHop) {
            let name = fields.storage.span.extracting(field.name.range)
            let value = fields.storage.span.extracting(field.value.range)
            comma()
            bytes.append(0x5B)
            let shownName = redactor.cleaned(name) ?? [UInt8](copying: name)
            element(shownName.span)
            if redactor.hides(field: name) {
                let mark = redactor.mark(for: value)
                element(mark.span)
            } else {
                let shown = redactor.cleaned(value) ?? [UInt8](copying: value)
                element(shown.span)
            }
            closeList()
        }
        closeList()
    }
}
