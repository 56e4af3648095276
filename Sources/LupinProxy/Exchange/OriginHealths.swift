// The health of origins, which retry policies count by.
import LupinCore
import LupinIO
import LupinPolicy
import Synchronization

/// The recent health of every origin.
///
/// It counts retries for the retry budget, consecutive failures and times to a response. All
/// workers share it, so a hundred clients have one budget.
final class OriginHealths: Sendable {
    /// The health of one origin.
    final class Record: Sendable {
        private let state: Mutex<OriginHealth>
        /// False once the record was dropped, so that holders look it up again.
        fileprivate let isListed = Atomic<Bool>(true)

        fileprivate init(now: UInt64) { state = Mutex(OriginHealth(now: now)) }

        /// Reads or changes the health under its lock.
        func use<Answer: Sendable>(_ body: (inout OriginHealth) -> Answer) -> Answer {
            state.withLock { body(&$0) }
        }
    }

    /// The maximum number of records.
    private static let recordsMax = 4096

    private let records = Mutex<[Origin: Record]>([:])

    /// The record of `origin`; made when there is none.
    func record(of origin: Origin, now: UInt64) -> Record {
        records.withLock { records in
            if let record = records[origin] { return record }
            if records.count >= Self.recordsMax { Self.makeRoom(in: &records, now) }
            let record = Record(now: now)
            records[origin] = record
            return record
        }
    }

    /// The figures of every origin that was in use lately, by name.
    func figures(window: Duration, now: UInt64) -> [(origin: Origin, figures: OriginHealth.Figures)]
    {
        let all = records.withLock { $0 }
        return all.compactMap { origin, record in
            record.use { $0.isIdle(now: now) ? nil : $0.figures(window: window, now) }
                .map { (origin, $0) }
        }
        .sorted { $0.origin.hostAndPort < $1.origin.hostAndPort }
    }

    private static func makeRoom(in records: inout [Origin: Record], _ now: UInt64) {
        for (origin, record) in records where record.use({ $0.isIdle(now: now) }) {
            record.isListed.store(false, ordering: .relaxed)
            records[origin] = nil
        }
        // All are busy: all records are dropped, and health is learnt again.
        guard records.count >= recordsMax else { return }
        for record in records.values { record.isListed.store(false, ordering: .relaxed) }
        records = [:]
    }
}

extension KnownTarget {
    /// The health record of the target's origin.
    func health(in healths: OriginHealths, now: UInt64) -> OriginHealths.Record {
        if let healthRecord, healthRecord.isListed.load(ordering: .relaxed) { return healthRecord }
        let record = healths.record(of: origin, now: now)
        healthRecord = record
        return record
    }
}
