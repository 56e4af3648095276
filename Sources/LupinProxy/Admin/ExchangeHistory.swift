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
        private enum Content {
            /// A record, and the request as adapters have left it; nil where there was none.
            // Elsewhere: entries that are like others would have room for it, which is a lot.
            indirect case whole(ExchangeRecord, changed: RequestHead?)
            /// As another one, but for what differs in all.
            case like(Entry, Difference)
        }

        private let content: Content
        let id: ExchangeID

        var record: ExchangeRecord {
            switch content {
            case .whole(let record, _): return record
            case .like(let other, let difference):
                var record = other.record
                difference.apply(to: &record)
                return record
            }
        }

        /// The request as it went upstream; nil where nothing did.
        var sent: RequestHead? {
            if case .whole(_, let changed?) = content { return changed }
            let record = record
            return record.attempts.isEmpty ? nil : record.request
        }

        /// `changed` is the request as adapters have left it; nil where there was none.
        init(_ record: consuming ExchangeRecord, changed: RequestHead?) {
            id = record.id
            content = .whole(record, changed: changed)
        }

        /// An exchange that was answered as `other` was; `record` says when, and to whom.
        ///
        /// `date` is what its response had for Date, if that is another one.
        init(like other: Entry, _ record: borrowing ExchangeRecord, date: String? = nil) {
            id = record.id
            content = .like(other, Difference(record, date: date))
        }
    }

    /// What differs in exchanges that were answered alike.
    private struct Difference {
        private let id: ExchangeID
        private let startMicroseconds: Int64
        private let address: IPAddress?
        private let port: UInt16
        private let stream: UInt32?
        private let bytes: ByteCounts
        private let wait: Int64?
        private let total: Int64?
        private let peer: (address: IPAddress, port: UInt16)?
        private let date: String?

        init(_ record: borrowing ExchangeRecord, date: String?) {
            id = record.id
            startMicroseconds = record.startMicroseconds
            address = record.client.address
            port = record.client.port
            stream = record.stream
            bytes = record.bytes
            wait = record.timing.wait
            total = record.timing.total
            self.date = date
            if let last = record.attempts.last, let address = last.peer {
                peer = (address, last.peerPort)
            } else {
                peer = nil
            }
        }

        func apply(to record: inout ExchangeRecord) {
            record.id = id
            record.startMicroseconds = startMicroseconds
            record.client.address = address
            record.client.port = port
            record.stream = stream
            record.bytes = bytes
            record.timing.wait = wait
            record.timing.total = total
            if let peer, !record.attempts.isEmpty {
                record.attempts[record.attempts.count - 1].timing.wait = wait
                record.attempts[record.attempts.count - 1].peer = peer.address
                record.attempts[record.attempts.count - 1].peerPort = peer.port
            }
            if let date { record.response?.fields.set(date: date) }
        }
    }

    private struct Ring {
        var entries: [Entry] = []
        /// Where the next one goes, once all places are taken.
        var next = 0
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
        // What gives way is let go of outside the lock.
        _ = ring.withLock { ring -> Entry? in
            guard ring.entries.count == limit else {
                ring.entries.append(entry)
                return nil
            }
            var old = entry
            swap(&old, &ring.entries[ring.next])
            ring.next = ring.next + 1 == limit ? 0 : ring.next + 1
            return old
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
