// What the records of exchanges that are alike have in common.
import LupinCore
import LupinIO

/// The record of an exchange, for others that differ from it in little.
final class RepeatedRecord {
    /// The exchange as it ended; what differs is that of the last one.
    private var record: ExchangeRecord
    /// The part of its line in the log that is the same for all.
    let line: RepeatedPart
    /// Which secrets the line hides.
    private let secrets: Int
    /// By which rules the exchange ran.
    let snapshot: Snapshot
    /// As history keeps it; nil where there is none.
    let entry: ExchangeHistory.Entry?

    init(_ record: ExchangeRecord, _ resources: WorkerResources, by snapshot: Snapshot) {
        self.record = record
        self.snapshot = snapshot
        line = resources.sink.repeatedPart(of: record)
        secrets = resources.shared.secrets.current
        entry = resources.keepsHistory ? ExchangeHistory.Entry(record, changed: nil) : nil
    }

    /// Whether another one would be written alike now.
    func holds(in resources: WorkerResources) -> Bool {
        snapshot === resources.snapshot && secrets == resources.shared.secrets.current
    }

    /// Lends the record where it lies: its copy costs more than its line.
    func withRecord<Result>(_ body: (inout ExchangeRecord) -> Result) -> Result { body(&record) }

    /// A copy of the record.
    var copy: ExchangeRecord { record }
}

extension WorkerResources {
    /// Writes the line of an exchange that was like another one, and remembers it.
    ///
    /// `fill` says what differs, but for the id and the client; `date` is the response's, where it
    /// is another one.
    @inline(__always)
    func record(
        _ repeated: RepeatedRecord,
        from client: Visitor,
        date: String? = nil,
        _ fill: (inout ExchangeRecord) -> Void
    ) {
        let (id, address, port) = (nextID(), client.address, client.port)
        repeated.withRecord { record in
            record.id = id
            record.client.address = address
            record.client.port = port
            fill(&record)
            count(record)
            sink.record(record, repeating: repeated.line)
            if let entry = repeated.entry, record.isDue {
                shared.history.append(ExchangeHistory.Entry(like: entry, record, date: date))
            }
        }
        flushSoon()
    }
}
