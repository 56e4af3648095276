// That the line of a usual exchange, written in runs of fields, says what the fields say.

import LupinCore
import LupinRecords
import LupinTestKit
import Testing

struct UsualLineTests {
    /// What nearly all exchanges leave: a GET over a kept connection, without rules.
    private func makeUsualRecord() -> ExchangeRecord {
        var record = makeFullRecord()
        record.client.program = nil
        record.client.pid = nil
        record.rules.matched = []
        record.rules.steps = []
        var attempt = AttemptRecord()
        attempt.status = 200
        attempt.isReused = true
        attempt.version = .http11
        attempt.peer = .v4(0x7F00_0002)
        attempt.peerPort = 80
        attempt.timing.wait = 60_200
        record.attempts = [attempt]
        return record
    }

    @Test func `a usual line is written in runs, and reads like any other`() {
        #expect(
            jsonLine(of: makeUsualRecord(), redactor: makeRedactor())
                == #"{"schema":1,"ts":"2026-11-20T22:41:07.123456Z","event":"exchange","#
                + #""id":"6f1c0e0b2a9d4b7fa3c5d6e7f8091a2b","outcome":"ok","#
                + #""client":{"address":"127.0.0.1","port":51514},"#
                + #""mode":"http","http":{"request":{"method":"GET","body":{"size":0},"#
                + #""names":["accept","x-trace"]},"#
                + #""response":{"status_code":200,"body":{"size":5120},"#
                + #""names":["content-type","etag"]}},"#
                + #""url":{"full":"http://api.github.com/user?code=REDACTED.0126&page=2","#
                + #""scheme":"http","domain":"api.github.com","port":80,"path":"/user"},"#
                + #""network":{"protocol":{"name":"http","version":"1.1"}},"#
                + #""bytes":{"client_in":412,"client_out":5390,"upstream_out":1236,"#
                + #""upstream_in":5877},"rules":{"version":"3f2a91c0","matched":[]},"#
                + #""attempts":[{"n":1,"why":"first","status":200,"decision":"deliver","#
                + #""reused":true,"protocol":"1.1","peer":"127.0.0.2:80","#
                + #""timing":{"wait":60.200}}],"#
                + #""timing":{"blocked":0.200,"wait":740.900,"receive":2.200,"total":743.300}}"#
        )
    }

    @Test(arguments: [ExchangeRecord.Mode.http, .intercept, .upgrade])
    func `the mode is that of the exchange`(mode: ExchangeRecord.Mode) throws {
        var record = makeUsualRecord()
        record.mode = mode
        let line = try json(of: record)
        #expect(line[field: .mode]?.string == mode.rawValue)
        #expect(line[field: .method]?.string == "GET")
    }

    @Test func `what differs from the usual is told`() throws {
        let changes: [(AttemptField, (inout AttemptRecord) -> Void)] = [
            (.start, { $0.start = 5 }), (.url, { $0.url = "http://b.dev/" }),
            (.errorType, { $0.error = .request(status: 400, detail: "x") }),
            (.reason, { $0.reason = "why" }), (.delay, { $0.delayMicroseconds = 7 }),
            (.isReplayable, { $0.isReplayable = false }), (.stream, { $0.stream = 3 }),
            (.reset, { $0.reset = .cancel }), (.goAway, { $0.goAway = .noError }),
            (.tlsVersion, { $0.tls = .tls13 }),
        ]
        for (field, change) in changes {
            var record = makeUsualRecord()
            change(&record.attempts[0])
            let line = try json(of: record)
            let attempt = try #require(line[field: .attempts]?.list?.first)
            #expect(attempt[attempt: field] != nil, "\(field)")
            #expect(attempt[attempt: .status] != nil && attempt[attempt: .peer] != nil)
        }
        var record = makeUsualRecord()
        record.attempts[0].isReused = false
        record.attempts[0].decision = .giveUp
        record.attempts[0].version = .http2
        let line = try json(of: record)
        let attempt = try #require(line[field: .attempts]?.list?.first)
        #expect(attempt[attempt: .isReused] == nil)
        #expect(attempt[attempt: .decision]?.string == "give-up")
        #expect(attempt[attempt: .version]?.string == "2")
    }

    @Test func `names of any length are listed in lower case, the first time and later`() throws {
        var names = (1...80).map { String(repeating: "X", count: $0) }
        // The same at both ends, and not in between.
        names += (0..<30).map { i in
            String((0..<32).map { $0 == i + 1 ? "Z" : "X" })
        }
        names += ["Accept", "ETag", "x-api-key", "a\"b"]
        var record = makeUsualRecord()
        record.response?.fields = makeFields(names.shuffled().map { ($0, "v") })
        let wanted = try #require(record.response).fields.pairs.map { $0.name.lowercased() }
        var format = RecordFormat(redactor: makeRedactor())
        for _ in 0..<3 {
            var line = JSONLine()
            format.appendJSON(record, dropped: 0, to: &line)
            let value = try json(line.bytes)
            #expect(value[field: .responseNames]?.list?.map { $0.string ?? "" } == wanted)
        }
    }

    private func json(of record: ExchangeRecord) throws -> JSONValue {
        try json(Array(jsonLine(of: record, redactor: makeRedactor()).utf8))
    }

    private func json(_ line: [UInt8]) throws -> JSONValue {
        let value = JSONValue(parsing: line.span)
        return try #require(value)
    }
}
