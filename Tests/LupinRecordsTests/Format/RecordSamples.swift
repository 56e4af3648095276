// Records with fixed clocks and ids, for the tests of this folder.

import LupinCore
import LupinRecords
import LupinTestKit

/// 2026-11-20T22:41:07.123456Z.
let sampleStart: Int64 = 1_795_214_467_123_456

/// A record as of one retried request with everything filled in.
func makeFullRecord() -> ExchangeRecord {
    var record = ExchangeRecord(
        id: ExchangeID(high: 0x6F1C_0E0B_2A9D_4B7F, low: 0xA3C5_D6E7_F809_1A2B),
        startMicroseconds: sampleStart
    )
    record.client.address = .v4(0x7F00_0001)
    record.client.port = 51514
    record.client.program = "curl"
    record.client.pid = 8123
    record.request = makeRequest("/user?code=abc&page=2")
    record.origin = Host("api.github.com").map { Origin(scheme: .http, host: $0, port: 80) }
    record.requestBodyBytes = 0
    var response = ResponseHead(status: 200)
    response.fields = makeFields([("Content-Type", "text/plain"), ("ETag", "\"x\"")])
    record.response = response
    record.responseBodyBytes = 5120
    record.bytes.clientIn = 412
    record.bytes.clientOut = 5390
    record.bytes.upstreamOut = 1236
    record.bytes.upstreamIn = 5877
    record.rules.version = "3f2a91c0"
    record.rules.matched = ["everyone", "github"]
    record.rules.steps = ["default accept"]
    record.attempts = [makeFirstAttempt(), makeSecondAttempt()]
    record.timing.blocked = 200
    record.timing.wait = 740_900
    record.timing.receive = 2200
    record.timing.total = 743_300
    return record
}

func makeRequest(_ target: String) -> RequestHead {
    var request = RequestHead()
    request.fields = makeFields([("Accept", "*/*"), ("X-Trace", "1")])
    request.pathAndQuery = request.fields.store(target)
    return request
}

private func makeFirstAttempt() -> AttemptRecord {
    var attempt = AttemptRecord()
    attempt.error = LupinError(.connectionRefused, detail: "connect: Connection refused")
    attempt.decision = .retry
    attempt.reason = "connect"
    attempt.isReplayable = false
    attempt.timing.dns = 3100
    attempt.timing.tcp = 11_200
    return attempt
}

private func makeSecondAttempt() -> AttemptRecord {
    var attempt = AttemptRecord()
    attempt.cause = .retry
    attempt.url = "http://staging.github.com/user"
    attempt.status = 200
    attempt.delayMicroseconds = 312_000
    attempt.isReused = true
    attempt.version = .http11
    attempt.peer = .v6(high: 0, low: 1)
    attempt.peerPort = 443
    attempt.timing.send = 100
    attempt.timing.wait = 60_200
    return attempt
}

/// The line of a record, without its line feed.
func jsonLine(of record: ExchangeRecord, redactor: Redactor, dropped: Int = 0) -> String {
    var format = RecordFormat(redactor: redactor)
    var line = JSONLine()
    format.appendJSON(record, dropped: dropped, to: &line)
    return String(decoding: line.bytes.dropLast(), as: UTF8.self)
}

// A span can't pass through `#expect`, so this takes a string.

func parseSummary(_ line: String) -> RecordSummary? {
    parseJSON(line).flatMap { RecordSummary($0) }
}
