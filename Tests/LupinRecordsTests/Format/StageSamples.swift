// Stages with everything filled in, for the tests of this folder.

import LupinCore
import LupinRecords
import LupinTestKit

/// The moment of the full record's exchange, in its second attempt.
func makeMoment(_ redactor: Redactor = makeRedactor()) -> ExchangeMoment {
    let record = makeFullRecord()
    var moment = ExchangeMoment(
        id: record.id,
        microseconds: sampleStart,
        request: record.request,
        origin: record.origin,
        redactor: redactor
    )
    moment.attempt = 2
    moment.rules = ["everyone", "github"]
    return moment
}

/// One record of every stage, in the order in which they come, attempts and tokens left out.
func makeStages() -> [StageRecord] {
    let moment = makeMoment()
    func stage(_ stage: StageRecord.Stage, _ fill: (inout StageRecord) -> Void) -> StageRecord {
        var record = StageRecord(stage, of: moment)
        fill(&record)
        return record
    }
    return [
        stage(.accepted) {
            $0.attempt = 0
            $0.rules = []
            $0.method = moment.method
            $0.url = moment.url
            $0.client = ClientSummary(address: "127.0.0.1", port: 51514, program: "curl")
        },
        stage(.matched) { $0.attempt = 0 },
        stage(.adapted) {
            $0.target = "http://staging.github.com/user"
            $0.steps = ["default accept"]
        },
        stage(.tokenWait) { $0.token = "github" },
        stage(.connecting) { $0.target = "api.github.com:80" },
        stage(.sent) {
            $0.peer = "[::1]:443"
            $0.httpVersion = "2"
            $0.isReused = true
        },
        stage(.progress) {
            $0.sentBytes = 3 << 20
            $0.receivedBytes = 0
        },
        stage(.response) { $0.status = 503 },
        stage(.retrying) {
            $0.status = 503
            $0.decision = "retry"
            $0.reason = "status \"503\"\n"
            $0.delayMicroseconds = 312_500
        },
        stage(.cached) { $0.cache = "hit; ttl=60" },
        StageRecord(makeSummary(), of: moment),
    ]
}

func makeSummary(_ change: (inout ExchangeRecord) -> Void = { _ in }) -> ExchangeSummary {
    var record = makeFullRecord()
    record.outcome = .error
    record.error = LupinError(.dnsError, detail: "no such host")
    change(&record)
    return ExchangeSummary(record, makeRedactor())
}

/// The line of a stage, without its line feed.
func jsonLine(of stage: StageRecord) -> String {
    var line = JSONLine()
    var timestamp = TimestampText()
    line.append(stage, &timestamp)
    return String(decoding: line.bytes.dropLast(), as: UTF8.self)
}

/// The line of an attempt of the full record, without its line feed.
func jsonLine(
    ofAttempt attempt: AttemptRecord,
    number: Int,
    redactor: Redactor = makeRedactor()
) -> String {
    var format = RecordFormat(redactor: redactor)
    var line = JSONLine()
    format.appendAttempt(attempt, number: number, of: makeMoment(), to: &line)
    return String(decoding: line.bytes.dropLast(), as: UTF8.self)
}
