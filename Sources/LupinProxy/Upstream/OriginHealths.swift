// How the origins fared that retry policies count for.
import LupinCore
import LupinIO
import Synchronization

/// How every origin fared lately.
///
/// Retries for its budget, failures in a row, times to a response: all workers share it, so a
/// hundred tools have one budget.
final class OriginHealths: Sendable {
    /// One origin's.
    final class Record: Sendable {
        private let state: Mutex<OriginHealth>
        /// False once it was dropped, so that whoever keeps it looks again.
        fileprivate let isListed = Atomic<Bool>(true)

        fileprivate init(now: UInt64) { state = Mutex(OriginHealth(now: now)) }

        /// Asks or notes something, while nobody else does.
        func use<Answer: Sendable>(_ body: (inout OriginHealth) -> Answer) -> Answer {
            state.withLock { body(&$0) }
        }
    }

    /// More origins than this nobody talks to at a time.
    private static let recordsMax = 4096

    private let records = Mutex<[Origin: Record]>([:])

    /// What is known of `origin`.
    func record(of origin: Origin, now: UInt64) -> Record {
        records.withLock { records in
            if let record = records[origin] { return record }
            if records.count >= Self.recordsMax { Self.makeRoom(in: &records, now) }
            let record = Record(now: now)
            records[origin] = record
            return record
        }
    }

    private static func makeRoom(in records: inout [Origin: Record], _ now: UInt64) {
        for (origin, record) in records where record.use({ $0.isIdle(now: now) }) {
            record.isListed.store(false, ordering: .relaxed)
            records[origin] = nil
        }
        // All busy: what was learnt is learnt anew.
        guard records.count >= recordsMax else { return }
        for record in records.values { record.isListed.store(false, ordering: .relaxed) }
        records = [:]
    }
}

extension KnownTarget {
    /// What is known of the target's origin.
    func health(in healths: OriginHealths, now: UInt64) -> OriginHealths.Record {
        if let healthRecord, healthRecord.isListed.load(ordering: .relaxed) { return healthRecord }
        let record = healths.record(of: origin, now: now)
        healthRecord = record
        return record
    }
}
