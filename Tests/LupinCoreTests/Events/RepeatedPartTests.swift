// That a line of which a part is known is the line that is written whole.

import LupinCore
import Testing

struct RepeatedPartTests {
    /// What requests that are alike begin with.
    enum Sample: CaseIterable {
        case plain, secured, streams, streamToPlain, fromStore, overIPv6, retried, failed, tunnel

        var record: ExchangeRecord {
            var record = makeFullRecord()
            record.attempts.removeFirst()
            record.attempts[0].cause = .first
            record.attempts[0].url = nil
            record.attempts[0].delayMicroseconds = nil
            record.attempts[0].peer = .v4(0x8C52_7906)
            record.timing.blocked = nil
            switch self {
            case .plain: break
            case .secured: record.attempts[0].tls = .tls13
            case .streams, .streamToPlain:
                record.version = .http2
                record.stream = 1
                guard self == .streams else { break }
                record.attempts[0].version = .http2
                record.attempts[0].stream = 1
            case .fromStore:
                record.attempts = []
                record.timing = Timing()
                record.timing.total = 0
            case .overIPv6: record.attempts[0].peer = .v6(high: 0, low: 1)
            case .retried: record.attempts = makeFullRecord().attempts
            case .failed:
                record.error = LupinError.request(status: 400, detail: "987654321.987")
            case .tunnel: record.tunnel = TunnelRecord()
            }
            return record
        }
    }

    /// How one of them differs from the first.
    enum Change: CaseIterable {
        case nothing, time, longTime, onlyTotal, onlyWait, noTotal, blocked, stream, address, port
        case goAway, dropped

        func apply(to record: inout ExchangeRecord) {
            let isTimed = !record.attempts.isEmpty
            switch self {
            case .nothing, .dropped: break
            case .time, .longTime:
                let time: Int64 = self == .time ? 7 : 86_400_000_001
                record.timing.total = time
                if isTimed {
                    record.timing.wait = time
                    record.attempts[0].timing.wait = time
                }
            case .onlyTotal: record.timing.total = 3_600_000
            case .onlyWait: record.timing.wait = 3_600_000
            case .noTotal: record.timing.total = nil
            case .blocked: if isTimed { record.attempts[0].timing.blocked = 5 }
            case .stream:
                if record.stream != nil { record.stream = 2_147_483_647 }
                record.bytes.clientIn += 1
                if isTimed, record.attempts[0].stream != nil { record.attempts[0].stream = 99 }
            case .address: if isTimed { record.attempts[0].peer = .v4(0x0A00_0001) }
            case .port: if isTimed { record.attempts[0].peerPort = 8 }
            case .goAway: if isTimed { record.attempts[0].goAway = .noError }
            }
        }
    }

    @Test(arguments: Sample.allCases, Change.allCases)
    func `a line with a known part is the whole line`(sample: Sample, change: Change) {
        var format = RecordFormat(redactor: makeRedactor())
        let part = format.repeatedPart(of: sample.record)
        var record = sample.record
        // What requests with a line of their own on HTTP/1.1 have in common are their bytes.
        if change != .stream || record.stream != nil { change.apply(to: &record) }
        record.id = ExchangeID(high: 1, low: 2)
        record.startMicroseconds += 1_000_000
        record.client.port = 9
        let dropped = change == .dropped ? 4 : 0
        var line = JSONLine()
        format.appendJSON(record, repeating: part, dropped: dropped, to: &line)
        #expect(
            String(decoding: line.bytes, as: UTF8.self)
                == jsonLine(of: record, redactor: makeRedactor(), dropped: dropped) + "\n"
        )
    }
}
