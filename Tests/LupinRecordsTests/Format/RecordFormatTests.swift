// That a record becomes exactly the line that its documentation promises.

import LupinCore
import LupinRecords
import LupinTestKit
import Testing

struct RecordFormatTests {
    @Test func `a full record has every name in its place`() {
        #expect(
            jsonLine(of: makeFullRecord(), redactor: makeRedactor(), dropped: 3)
                == #"{"schema":1,"ts":"2026-11-20T22:41:07.123456Z","event":"exchange","#
                + #""id":"6f1c0e0b2a9d4b7fa3c5d6e7f8091a2b","outcome":"ok","#
                + #""client":{"address":"127.0.0.1","port":51514,"program":"curl","pid":8123},"#
                + #""mode":"http","http":{"request":{"method":"GET","body":{"size":0},"#
                + #""names":["accept","x-trace"],"resend_count":1},"#
                + #""response":{"status_code":200,"body":{"size":5120},"#
                + #""names":["content-type","etag"]}},"#
                + #""url":{"full":"http://api.github.com/user?code=REDACTED.0126&page=2","#
                + #""scheme":"http","domain":"api.github.com","port":80,"path":"/user"},"#
                + #""network":{"protocol":{"name":"http","version":"1.1"}},"#
                + #""bytes":{"client_in":412,"client_out":5390,"upstream_out":1236,"#
                + #""upstream_in":5877},"rules":{"version":"3f2a91c0","#
                + #""matched":["everyone","github"],"steps":["default accept"]},"#
                + #""attempts":[{"n":1,"why":"first","error":{"type":"connection_refused","#
                + #""detail":"connect: Connection refused","side":"upstream"},"#
                + #""decision":"retry","reason":"connect","replayable":false,"#
                + #""timing":{"dns":3.100,"tcp":11.200}},"#
                + #"{"n":2,"why":"retry","url":"http://staging.github.com/user","status":200,"#
                + #""decision":"deliver","delay":312.000,"reused":true,"protocol":"1.1","#
                + #""peer":"[::1]:443","timing":{"send":0.100,"wait":60.200}}],"#
                + #""timing":{"blocked":0.200,"wait":740.900,"receive":2.200,"total":743.300},"#
                + #""dropped":3}"#
        )
    }

    @Test func `what is unknown is absent`() {
        var record = ExchangeRecord(id: ExchangeID(high: 0, low: 1), startMicroseconds: -1)
        record.outcome = .error
        record.error = LupinError.request(status: 400, detail: "bare CR")
        #expect(
            jsonLine(of: record, redactor: makeRedactor())
                == #"{"schema":1,"ts":"1970-01-01T00:00:00.999999Z","event":"exchange","#
                + #""id":"00000000000000000000000000000001","outcome":"error","mode":"http","#
                + #""network":{"protocol":{"name":"http","version":"1.1"}},"#
                + #""bytes":{"client_in":0,"client_out":0,"upstream_out":0,"upstream_in":0},"#
                + #""error":{"type":"http_request_error","detail":"bare CR","side":"client"}}"#
        )
    }

    @Test func `a tunnel shows host, port and bytes, and no path`() throws {
        var record = makeFullRecord()
        record.mode = .tunnel
        record.request?.form = .authority
        record.request?.method = .connect
        record.tunnel = TunnelRecord()
        record.tunnel?.sentBytes = 7
        record.tunnel?.receivedBytes = 9
        record.tunnel?.closedBy = .client
        #expect(try self.json(of: record)["tunnel", "ech"] == nil)
        record.tunnel?.serverName = "A.example."
        record.tunnel?.protocols = ["h2", "a\"b"]
        record.tunnel?.offeredECH = true
        let json = try json(of: record)
        #expect(json["tunnel", "sni"]?.string == "A.example.")
        #expect(json["tunnel", "alpn"]?.list?.map(\.string) == ["h2", "a\"b"])
        #expect(json["tunnel", "ech"]?.bool == true)
        #expect(json["url", "full"] == nil)
        #expect(json["url", "port"]?.count == 80)
        #expect(json["tunnel", "sent"]?.count == 7)
        #expect(json["tunnel", "received"]?.count == 9)
        #expect(json["tunnel", "closed_by"]?.string == "client")
    }

    @Test func `an exchange over HTTP/2 shows its streams`() throws {
        var record = makeFullRecord()
        record.version = .http2
        record.stream = 5
        record.attempts.removeFirst()
        record.attempts[0].version = .http2
        record.attempts[0].stream = 7
        let line = jsonLine(of: record, redactor: makeRedactor())
        #expect(
            line.contains(
                #""network":{"protocol":{"name":"http","version":"2"},"stream":5},"bytes":{"#
            )
        )
        #expect(line.contains(#""reused":true,"protocol":"2","stream":7,"peer":"[::1]:443","#))
    }

    @Test func `a stream that was reset says by whom and why`() throws {
        var record = makeFullRecord()
        record.version = .http2
        record.stream = .max
        record.reset = HTTP2Reset(.cancel, by: .client)
        record.attempts[0].version = .http2
        record.attempts[0].stream = 1
        record.attempts[0].reset = .refusedStream
        record.attempts[1].goAway = HTTP2ErrorCode(rawValue: 0x1F)
        var json = try json(of: record)
        #expect(json["network", "stream"]?.count == UInt64(UInt32.max))
        #expect(json["network", "reset"]?.string == "CANCEL")
        #expect(json["network", "reset_by"]?.string == "client")
        let attempts = try #require(json["attempts"]?.list)
        #expect(attempts.first?["stream"]?.count == 1)
        #expect(attempts.first?["reset"]?.string == "REFUSED_STREAM")
        #expect(attempts.first?["goaway"] == nil)
        #expect(attempts.last?["goaway"]?.string == "0x1f")
        #expect(attempts.last?["stream"] == nil)
        record.reset = HTTP2Reset(.enhanceYourCalm, by: .lupin)
        json = try self.json(of: record)
        #expect(json["network", "reset"]?.string == "ENHANCE_YOUR_CALM")
        #expect(json["network", "reset_by"]?.string == "proxy")
    }

    @Test func `an unknown method is _OTHER with its token beside it`() throws {
        var record = makeFullRecord()
        record.request?.method = .other("PROPFIND")
        let json = try json(of: record)
        #expect(json["http", "request", "method"]?.string == "_OTHER")
        #expect(json["http", "request", "method_original"]?.string == "PROPFIND")
    }

    @Test(
        arguments: [
            (LogSettings.Headers.none, nil, nil), (.names, ["accept", "cookie", "accept"], nil),
            (.listed(["ACCEPT"]), ["accept", "cookie", "accept"], ["a", "b"]),
            (.all, nil, ["a", "b"]),
        ] as [(LogSettings.Headers, [String]?, [String]?)]
    )
    func `headers are shown as the settings say`(
        headers: LogSettings.Headers,
        names: [String]?,
        accept: [String]?
    ) throws {
        var record = makeFullRecord()
        record.headers = headers
        record.request?.fields = makeFields([("Accept", "a"), ("Cookie", "c"), ("ACCEPT", "b")])
        record.request?.pathAndQuery = .empty
        let request = try #require(try json(of: record)["http", "request"])
        #expect(request["names"]?.list?.compactMap(\.string) == names)
        #expect(request["header", "accept"]?.list?.compactMap(\.string) == accept)
        let cookie = request["header", "cookie"]?.list?.compactMap(\.string)
        #expect(cookie == (headers == .all ? ["REDACTED.0063"] : nil))
    }

    @Test(
        arguments: [
            (0, "1970-01-01T00:00:00.000000Z"),
            (951_782_399_999_999, "2000-02-28T23:59:59.999999Z"),
            (951_782_400_000_000, "2000-02-29T00:00:00.000000Z"),
            (1_709_251_200_000_000, "2024-03-01T00:00:00.000000Z"),
            (4_107_542_400_000_000, "2100-03-01T00:00:00.000000Z"),
            (Int64.max, "9999-12-31T23:59:59.775807Z"), (Int64.min, "1970-01-01T00:00:00.224192Z"),
        ] as [(Int64, String)]
    )
    func `times are written in UTC with microseconds`(time: Int64, text: String) {
        var timestamp = TimestampText()
        var bytes: [UInt8] = []
        timestamp.append(date: time, to: &bytes)
        #expect(String(decoding: bytes, as: UTF8.self) == text)
    }

    @Test(
        arguments: [
            (0, "0.000"), (1, "0.001"), (999, "0.999"), (1000, "1.000"), (-5, "0.000"),
            (Int64.max, "9223372036854775.807"),
        ] as [(Int64, String)]
    )
    func `durations are milliseconds with three decimals`(duration: Int64, text: String) {
        var bytes: [UInt8] = []
        bytes.append(milliseconds: duration)
        #expect(String(decoding: bytes, as: UTF8.self) == text)
    }

    @Test func `the largest numbers are written in full`() {
        var bytes: [UInt8] = []
        bytes.append(decimal: .max)
        #expect(String(decoding: bytes, as: UTF8.self) == "18446744073709551615")
    }

    @Test func `the largest numbers fit their line`() throws {
        var record = makeFullRecord()
        record.client.address = .v4(.max)
        record.client.port = .max
        record.bytes.clientIn = .max
        record.bytes.clientOut = .max
        record.bytes.upstreamOut = .max
        record.bytes.upstreamIn = .max
        record.responseBodyBytes = .max
        for path: WritableKeyPath<Timing, Int64?> in [
            \.blocked, \.dns, \.tcp, \.send, \.wait, \.receive, \.total,
        ] {
            record.timing[keyPath: path] = .max
        }
        record.version = .http2
        record.stream = .max
        record.reset = HTTP2Reset(.inadequateSecurity, by: .client)
        record.attempts[1].stream = .max
        record.attempts[1].reset = .inadequateSecurity
        record.attempts[1].goAway = HTTP2ErrorCode(rawValue: .max)
        record.attempts[1].cause = .collapseLeader
        record.attempts[1].delayMicroseconds = .max
        record.attempts[1].timing = record.timing
        let json = try json(of: record)
        #expect(json["client", "address"]?.string == "255.255.255.255")
        #expect(json["timing", "total"]?.number == 9_223_372_036_854_775.807)
        record.attempts = [AttemptRecord()]
        record.attempts[0].status = .max
        record.attempts[0].isReused = true
        record.attempts[0].isReplayable = false
        record.attempts[0].version = .http2
        record.attempts[0].stream = .max
        record.attempts[0].peer = .v4(.max)
        record.attempts[0].peerPort = .max
        record.attempts[0].tls = .tls13
        record.attempts[0].delayMicroseconds = .max
        record.timing.tls = .max
        record.attempts[0].timing = record.timing
        let attempt = try #require(try self.json(of: record)["attempts"]?.list?.first)
        #expect(attempt["stream"]?.count == UInt64(UInt32.max))
        #expect(attempt["timing", "tls"]?.number == 9_223_372_036_854_775.807)
    }

    @Test func `addresses of four bytes are written as four numbers`() throws {
        var record = makeFullRecord()
        for byte in UInt32(0)...255 {
            let other = 255 - byte
            record.client.address = .v4(byte << 24 | other << 16 | other << 8 | byte)
            let address = try json(of: record)["client", "address"]?.string
            #expect(address == "\(byte).\(other).\(other).\(byte)")
        }
    }

    @Test func `a line of an exchange without rules has an empty list of them`() throws {
        var record = makeFullRecord()
        record.rules.matched = []
        record.rules.steps = []
        let rules = try #require(try json(of: record)["rules"])
        #expect(rules["version"]?.string == "3f2a91c0")
        #expect(rules["matched"]?.list?.isEmpty == true)
        #expect(rules["steps"] == nil)
        record.rules.steps = ["default accept"]
        #expect(try json(of: record)["rules", "steps"]?.list?.count == 1)
    }

    @Test func `what a format remembers changes no line`() {
        var format = RecordFormat(redactor: makeRedactor())
        // The same known names; other names of the same length, case and order apart.
        let lists = [
            [("Accept", ""), ("X-One", "")], [("Accept", ""), ("X-Two", "")],
            [("ACCEPT", ""), ("x-one", "")], [("X-One", ""), ("Accept", "")],
            [("Accept", "")], [], [("X-One", ""), ("X-Two", "")], [("X-OneX-Two", "")],
        ]
        let hosts = ["a.example", "b.example", "::1"]
        for round in 0..<48 {
            var record = makeFullRecord()
            var request = makeRequest("")
            request.fields = makeFields(lists[round % 8])
            request.pathAndQuery = request.fields.store("/user?page=\(round)")
            record.request = request
            record.response?.fields = makeFields(lists[round % 5])
            record.origin = Host(hosts[round % 3]).map {
                Origin(scheme: round % 2 == 0 ? .http : .https, host: $0, port: 443)
            }
            record.client.address = .v6(high: 0, low: UInt64(round % 7))
            record.rules.matched = round % 4 == 0 ? ["ab", "c"] : ["a", "bc"]
            record.rules.steps = round % 8 == 0 ? [] : ["d"]
            var line = JSONLine()
            format.appendJSON(record, dropped: 0, to: &line)
            let text = String(decoding: line.bytes.dropLast(), as: UTF8.self)
            #expect(text == jsonLine(of: record, redactor: makeRedactor()))
        }
    }

    @Test func `a new redactor also hides what was shown before`() {
        var record = makeFullRecord()
        record.rules.matched = ["with-secret"]
        record.request?.fields = makeFields([("X-With-Secret", "")])
        record.request?.pathAndQuery = .empty
        record.origin = Host("with-secret.example").map {
            Origin(scheme: .http, host: $0, port: 80)
        }
        var format = RecordFormat(redactor: makeRedactor())
        var line = JSONLine()
        format.appendJSON(record, dropped: 0, to: &line)
        #expect(String(decoding: line.bytes, as: UTF8.self).contains("with-secret"))
        format.redactor = makeRedactor(secrets: ["with-secret", "With-Secret"])
        line.bytes = []
        format.appendJSON(record, dropped: 0, to: &line)
        #expect(!String(decoding: line.bytes, as: UTF8.self).contains("with-secret"))
    }

    @Test func `log off silences complete exchanges only`() {
        var record = makeFullRecord()
        record.isLogOff = true
        #expect(!record.isDue)
        for outcome in ExchangeRecord.Outcome.allCases where outcome != .ok {
            record.outcome = outcome
            #expect(record.isDue)
        }
    }

    private func json(of record: ExchangeRecord) throws -> JSONValue {
        let line = jsonLine(of: record, redactor: makeRedactor())
        return try #require(parseJSON(line))
    }
}
