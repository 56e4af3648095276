// The exchanges that ended last, kept in memory for who asks: heads only, and text only when asked.
import LupinCore
import Synchronization

/// The last exchanges of all workers, `admin.history` of them.
///
/// An exchange hands its record and its fields over as they are, secrets too, and takes the memory
/// of an earlier one for them; they become text without secrets when somebody asks.
final class ExchangeHistory: Sendable {
    /// An exchange that has ended.
    struct Entry: Sendable {
        /// Without the fields of its heads, which lie beside it.
        private var core: ExchangeRecord
        private var requestFields = FieldSection()
        private var responseFields = FieldSection()
        /// The request as adapters have left it; nil where there was none.
        private var changed: RequestHead?

        fileprivate init() {
            core = ExchangeRecord(id: ExchangeID(high: 0, low: 0), startMicroseconds: 0)
        }

        /// Becomes another exchange, whose record and fields are moved and leave those before.
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
        var host: String? { core.origin?.host.text }

        var record: ExchangeRecord {
            var record = core
            record.request?.fields = requestFields
            record.response?.fields = responseFields
            return record
        }

        /// The request as it went upstream; nil where nothing did.
        var sent: RequestHead? {
            if let changed { return changed }
            return core.attempts.isEmpty ? nil : record.request
        }
    }

    private struct Ring {
        var entries: [Entry] = []
        /// Where the next one goes, once all places are taken.
        private(set) var next = 0

        /// All of them, the latest first.
        var latest: some Collection<Entry> {
            let kept = entries.count
            return (0..<kept).lazy.map { age in entries[(next + 2 * kept - 1 - age) % kept] }
        }

        /// The place of the oldest one, once all places are taken.
        mutating func takeNext(of limit: Int) -> Int {
            defer { next = next + 1 == limit ? 0 : next + 1 }
            return next
        }
    }

    /// How many are kept.
    let limit: Int
    private let ring = Mutex(Ring())

    /// Keeps none where nobody could ask.
    init(_ settings: AdminSettings) {
        limit = settings.socket == .off && settings.http == nil ? 0 : settings.history
    }

    var isOn: Bool { limit > 0 }

    /// Keeps an exchange, whose record and fields are moved; the oldest gives way, and what it had
    /// comes back in their place.
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

    /// The last `count` of them, the latest first.
    func latest(_ count: Int) -> [Entry] {
        ring.withLock { Array($0.latest.prefix(count)) }
    }

    /// Those that `reference` names: several where digits of an ID fit more than one.
    func entries(_ reference: ExchangeReference) -> [Entry] {
        // Workers wait for the lock, so texts are compared after it.
        let all = latest(limit)
        switch reference {
        case .id(let digits): return all.filter { $0.id.text.hasPrefix(digits) }
        case .last(let place, let host):
            return all.lazy.filter { host == nil || $0.host == host }
                .dropFirst(place - 1).first.map { [$0] } ?? []
        }
    }

    /// Those that ended after the one called `id`, the oldest first; all where that is forgotten.
    func entries(after id: ExchangeID?) -> [Entry] {
        let all = Array(latest(limit).reversed())
        guard let id, let place = all.lastIndex(where: { $0.id == id }) else { return all }
        return Array(all[(place + 1)...])
    }
}

extension ExchangeHistory.Entry {
    /// The record as its line in the log has it.
    func line(_ format: inout RecordFormat) -> [UInt8] {
        var line = JSONLine()
        format.appendJSON(record, dropped: 0, to: &line)
        return line.bytes.last == 0x0A ? Array(line.bytes.dropLast()) : line.bytes
    }

    /// Appends the record and the heads: what the client sent, what went upstream, and what the
    /// client got.
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
