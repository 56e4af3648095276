// What the records of exchanges that are alike have in common.
import LupinCore
import LupinIO

/// The record of an exchange, for others that differ from it in little.
final class RepeatedRecord {
    /// The exchange as it ended, which is one record; what differs is that of the last one.
    ///
    /// In an array, which can be moved out and back while the record is lent.
    private var records: [ExchangeRecord]
    /// The part of its line in the log that is the same for all.
    let line: RepeatedPart
    /// Which secrets the line hides.
    private let secrets: Int
    /// By which rules the exchange ran.
    let snapshot: Snapshot
    /// As history keeps it; nil where there is none.
    let original: ExchangeHistory.Original?

    init(_ record: ExchangeRecord, _ resources: WorkerResources, by snapshot: Snapshot) {
        records = [record]
        self.snapshot = snapshot
        line = resources.sink.repeatedPart(of: record)
        secrets = resources.shared.secrets.current
        original = resources.keepsHistory ? ExchangeHistory.Original(record) : nil
    }

    /// Whether another one would be written alike now.
    func holds(in resources: WorkerResources) -> Bool {
        snapshot === resources.snapshot && secrets == resources.shared.secrets.current
    }

    /// Lends the record where it lies: its copy costs more than its line.
    func withRecord<Result>(_ body: (inout ExchangeRecord) -> Result) -> Result {
        var lent: [ExchangeRecord] = []
        swap(&lent, &records)
        let result = body(&lent[0])
        swap(&lent, &records)
        return result
    }

    /// A copy of the record.
    var copy: ExchangeRecord { records[0] }
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
            write(record, like: repeated, date: date)
        }
        flushSoon()
    }

    // One function for all of it: whoever is lent the record by somebody who may change it gets a
    // copy, who is lent it by this one does not.
    private func write(
        _ record: borrowing ExchangeRecord,
        like repeated: RepeatedRecord,
        date: String?
    ) {
        count(record)
        sink.record(record, repeating: repeated.line)
        if let original = repeated.original, record.isDue {
            shared.history.append(like: original, record, date: date)
        }
    }
}
