// The exchanges that ended last, kept in memory for who asks: heads only, and text only when asked.
import LupinCore
import Synchronization

/// The last exchanges of all workers, `admin.history` of them.
///
/// An exchange pays one append under a lock; what it made of itself is kept as it is, secrets too,
/// and becomes text without them when somebody asks.
final class ExchangeHistory: Sendable {
    /// An exchange that has ended.
    final class Entry: Sendable {
        let record: ExchangeRecord
        /// The request as adapters have left it; nil where there was none.
        private let changed: RequestHead?

        /// Takes the record, which is moved and not copied.
        init(taking record: inout ExchangeRecord, changed: RequestHead?) {
            var taken = ExchangeRecord(id: record.id, startMicroseconds: 0)
            swap(&taken, &record)
            self.record = taken
            self.changed = changed
        }

        var id: ExchangeID { record.id }

        /// The request as it went upstream; nil where nothing did.
        var sent: RequestHead? {
            if let changed { return changed }
            return record.attempts.isEmpty ? nil : record.request
        }
    }

    private struct Ring {
        var entries: [Entry] = []
        /// Where the next one goes, once all places are taken.
        private(set) var next = 0

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

    /// Keeps an exchange; the oldest gives way.
    func append(_ entry: Entry) {
        guard limit > 0 else { return }
        var entry = entry
        ring.withLock { ring in
            guard ring.entries.count == limit else { return ring.entries.append(entry) }
            swap(&entry, &ring.entries[ring.takeNext(of: limit)])
        }
    }

    var count: Int { ring.withLock { $0.entries.count } }

    /// The last `count` of them, the latest first.
    func latest(_ count: Int) -> [Entry] {
        ring.withLock { ring in
            let kept = ring.entries.count
            return (0..<min(count, kept)).map { age in
                ring.entries[(ring.next + 2 * kept - 1 - age) % kept]
            }
        }
    }

    /// The one of that name.
    func entry(_ id: ExchangeID) -> Entry? {
        ring.withLock { ring in ring.entries.first { $0.id == id } }
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
