// JSON, record lines, token answers, and texts that are searched for secrets.
import LupinCaching
import LupinCore
import LupinPolicy
import LupinRecords

enum TextTargets {
    static let all = [json, pointer, recordLine, tokenAnswer, redaction, adminQuery, filter]

    private static let record = #"""
        {"event":"exchange","ts":"2026-11-20T22:41:07.123456Z",\#
        "id":"00000000000000000000000000000001","url":{"scheme":"https",\#
        "domain":"a.dev","port":8443,"full":"https://a.dev:8443/x"},\#
        "http":{"version":"1.1","request":{"method":"GET",\#
        "header":{"accept":["*/*"]}},"response":{"status_code":200,\#
        "body":{"size":5}}},"timing":{"total":743.5},"outcome":"ok",\#
        "attempts":[{"n":1}],"dropped":3}
        """#

    static let adminQuery = FuzzTarget(
        "admin-query",
        seeds: [
            "/v1/cache/responses?url=http://a.example/b&limit=9", "/?match=a.example/**",
            "/?limit=18446744073709551616&match=%2A%2E%C3", "/?url=x&match=y", "/?a=b",
            "/?limit=-1",
        ],
        words: ["url=", "match=", "limit=", "&", "%2B", "%", "+", "?", "http://a.example/"]
    ) { input in
        let query: StoredResponseQuery
        do throws(StoredResponseQuery.Problem) {
            query = try StoredResponseQuery(input.span)
        } catch {
            return String(error.sentence.prefix(12))
        }
        try hold(query.limit ?? 0 >= 0, "a limit is not negative")
        try hold(query.url == nil || query.pattern == nil, "url and match exclude each other")
        _ = query.pattern?.matches("http://a.example/b?c")
        return [told(query.url), told(query.pattern), told(query.limit)].joined(separator: " ")
    }

    static let filter = FuzzTarget(
        "filter",
        seeds: [
            "host:*.acme.dev status:5xx", "not (duration>1s or rule:\"a \\\"b\")",
            "client:10.0.0.0/8 and cache:hit", "size:1KiB-2MiB", "age<=9223372036854775807d",
        ],
        words: FilterKey.allCases.map(\.rawValue) + [
            "and", "or", "not ", "(", ")", ":", "~", "<=", ">", "\"", "*", "5xx", "1s", "-", " ",
        ]
    ) { input in
        let text = String(decoding: input, as: UTF8.self)
        do throws(FilterProblem) {
            let filter = try ExchangeFilter(text)
            let line = JSONValue(parsing: Array(record.utf8).span) ?? .null
            return "\(filter.matches(line, now: 0)) \(filter.matches(.null, now: .min))"
        } catch {
            try hold(error.offset + error.count <= text.utf8.count, "the mistake is in the filter")
            _ = (error.text(in: text), error.sentence(in: text))
            return String(error.message.prefix(12))
        }
    }

    static let json = FuzzTarget(
        "json",
        seeds: [
            "{\"a\":[1,2.5e3,-0,true,null,\"\\u00e9\\ud83d\\ude00\"]}", "[[[[[]]]]]", "1e999",
            " {\"a\":1,\"a\":2} ", "-9223372036854775808", "\"\\ud800\"",
        ],
        words: ["{", "}", "[", "]", "\"a\":", "\\u", "\\ud800", "1e", "true", "null"]
    ) { input in
        let value = JSONValue(parsing: input.span)
        let found = JSONPointer("").flatMap { JSONScanner.find([$0], in: input.span) }
        let isText = String(validating: input, as: UTF8.self) != nil
        if isText { try hold((value == nil) == (found == nil), "both agree on what is JSON") }
        if let value {
            _ = (value.count, value.microseconds, value["a"]?.count, value["a"]?.microseconds)
        }
        return "\(value.map { "\($0)".prefix { $0 != "(" } } ?? "nil") \(told(found))"
    }

    /// A pointer and, behind a line feed, the text that it points into.
    static let pointer = FuzzTarget(
        "json-pointer",
        seeds: [
            "/a/0\n{\"a\":[1.0]}", "/~0~1\n{\"~/\":\"x\"}", "\n10e-1", "/a/01\n{\"a\":[1]}",
            "/0\n[1e99999999999999999999]",
        ],
        words: ["/", "~0", "~1", "/-", "/18446744073709551616", "1.0e-0"]
    ) { input in
        let (first, second) = halves(input)
        let number = JSONNumber(text(second))
        if let number {
            let scalar = JSONScalar.number(number)
            try hold(scalar == .number(number), "a number equals itself")
            let whole = JSONPointer("").flatMap { JSONScanner.find([$0], in: second.span)?.first }
            try hold(whole?.equals(scalar, in: second.span) == true, "a number is found as itself")
        }
        guard let pointer = JSONPointer(text(first)) else { return "nil \(told(number))" }
        let found = JSONScanner.find([pointer, pointer], in: second.span)
        try hold(found.map { $0.first == $0.last } ?? true, "both pointers find the same")
        return "\(found?.first.map { "\($0)".prefix { $0 != "(" } } ?? "nil") \(told(number))"
    }

    static let recordLine = FuzzTarget(
        "record-line",
        seeds: [
            record, #"{"event":"stage","stage":"received","ts":"9999-12-31T23:59:59.999999Z"}"#,
            #"{"event":"attempt","ts":"2026-11-20T22:41:07.123456Z","n":1e999,"status":70000}"#,
            #"{"event":"token","ts":"0000-01-01T00:00:00.000000Z","version":-1,"duration":1e300}"#,
        ],
        words: [
            "\"status_code\":", "\"port\":", "\"total\":", "\"n\":", "\"ts\":\"",
            "\"event\":\"stage\"",
            "\"event\":\"token\"", "\"event\":\"tunnel\"", "1e308", "-0.5",
        ]
    ) { input in
        guard let json = JSONValue(parsing: input.span) else { return "no JSON" }
        let (summary, stage) = (RecordSummary(json), StageRecord(json))
        var output: [UInt8] = []
        for offset in [0, 50400, -43200] as [Int64] {
            var text = SummaryText(isColoured: true, columns: 80, utcOffsetSeconds: offset)
            if let summary { text.append(summary, to: &output) }
            if let stage { text.append(stage, to: &output) }
        }
        try hold(!output.contains(0x1B) || summary != nil || stage != nil, "nothing of nothing")
        for key in FilterKey.allCases {
            _ = try ExchangeFilter(key.row.example).matches(json, now: .max)
        }
        let exchange = RecordedExchange(json)
        let original = try? exchange?.originalCommand().text
        for number in [nil, 0, 1, .min, .max] as [Int?] {
            _ = try? exchange?.adaptedCommand(attempt: number).text
        }
        return "\(told(summary)) \(told(stage)) \(told(exchange)) \(told(original))"
    }

    static let tokenAnswer = FuzzTarget(
        "token-answer",
        seeds: [
            "\n{\"access_token\":\"a\",\"token_type\":\"Bearer\",\"expires_in\":3600}",
            "120\n{\"error\":\"temporarily_unavailable\"}",
            "\n{\"access_token\":\"a\",\"token_type\":\"bearer\",\"expires_in\":\"99999999999\"}",
        ],
        words: ["\"expires_in\":", "\"access_token\":\"a\"", "\"error\":", "1e308", "-1"]
    ) { input in
        let (retryAfter, body) = halves(input)
        guard let url = HTTPURL("https://id.example/token") else { return "no URL" }
        let source = OAuth2Source(grant: .clientCredentials, url: url, clientID: "a")
        do {
            let response = try OAuth2Exchange(source).response(
                status: retryAfter.isEmpty ? 200 : 503,
                body: body,
                retryAfter: text(retryAfter),
                now: 0
            )
            for now in [0, 1 << 62] as [UInt64] {
                let credential = response.credential(now: now)
                try hold(credential.isValid(at: now), "a token that came is valid")
                _ = credential.isDue(at: now, before: nil)
            }
            return "token"
        } catch let failure as TokenFailure {
            return String("\(failure.kind)".prefix { $0 != "(" })
        }
    }

    static let redaction = FuzzTarget(
        "redaction",
        seeds: [
            "https://u:p@a.dev/?token=abc&b=c#access_token=x", "api_key=5;sig=%41",
            "c2VjcmV0LXZhbHVl secret%2Dvalue",
        ],
        words: ["token=", "://", "@", "?", "&", "secret-value", "%73ecret-value", "c2VjcmV0"]
    ) { input in
        let redaction = URLRedaction(parameters: NameSet(["token", "sig", "access_token"]))
        let findings = redaction.findings(in: input.span)
        for finding in findings {
            switch finding {
            case .userinfo(let range), .value(let range):
                try hold(range.upperBound <= input.count, "what is hidden lies in the text")
            }
        }
        var matcher = SecretMatcher()
        _ = matcher.add(Array("secret-value".utf8))
        let hits = matcher.find(in: input.span)
        var output: [UInt8] = []
        LogText.append(text(input), as: .json, to: &output)
        try hold(!output.contains { $0 < 0x20 }, "a text of the log has no control bytes")
        return "findings \(size(findings.count)) hits \(size(hits.count))"
    }
}
