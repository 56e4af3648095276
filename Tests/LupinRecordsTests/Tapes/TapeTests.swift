// Which recorded exchange answers a request, and what is said where none does.
import LupinCore
import LupinPolicy
import LupinRecords
import LupinTestKit
import Testing

struct TapeTests {
    private func tape(_ entries: [String], _ settings: TapeSettings = TapeSettings()) throws -> Tape
    {
        let text = #"{"log":{"entries":[\#(entries.joined(separator: ","))]}}"#
        return try Tape(Array(text.utf8).span, settings)
    }

    private func entry(_ url: String, fields: [String: String] = [:], status: Int = 200) -> String {
        entry("GET", url, fields: fields, status: status)
    }

    private func entry(
        _ method: String,
        _ url: String,
        body: String? = nil,
        fields: [String: String] = [:],
        status: Int = 200
    ) -> String {
        let data = body.map { ",\"postData\":{\"text\":\"\($0.replacing("\"", with: "\\\""))\"}" }
        let headers = fields.map { #"{"name":"\#($0.key)","value":"\#($0.value)"}"# }
            .joined(separator: ",")
        return """
            {"request":{"method":"\(method)","url":"\(url)","headers":[\(headers)]\(data ?? "")},\
            "response":{"status":\(status)}}
            """
    }

    private func request(_ url: String, fields: [String: String] = [:]) throws -> TapeRequest {
        try request("GET", url, fields: fields)
    }

    private func request(
        _ method: String,
        _ url: String,
        body: String = "",
        fields: [String: String] = [:]
    ) throws -> TapeRequest {
        let url = try #require(HTTPURL(url))
        return TapeRequest(
            method: method,
            origin: url.origin,
            target: url.path,
            fields: fields.map { ArchivedExchange.Field(name: $0.key, value: $0.value) },
            body: Array(body.utf8)
        )
    }

    @Test func `equal requests are answered in their order, and the last answer again`() throws {
        let tape = try tape([
            entry("http://a/x", status: 201), entry("http://a/y"),
            entry("http://a:80/x", status: 202),
        ])
        let asked = try request("http://A/x")
        var played: Set<Int> = []
        var statuses: [UInt16] = []
        for _ in 0..<3 {
            let index = try #require(tape.entry(for: asked, played: played))
            played.insert(index)
            statuses.append(tape.entries[index].exchange.status)
        }
        #expect(statuses == [201, 202, 202])
    }

    @Test func `entries without a response or of another scheme are left out`() throws {
        let tape = try tape([
            entry("http://a/x", status: 0), entry("http://a/x", status: 101), entry("ws://a/x"),
            entry("CONNECT", "https://a:443"), entry("nonsense"),
        ])
        #expect(tape.entries.isEmpty)
        #expect(try tape.miss(of: request("http://a/x")).text.contains("no requests"))
    }

    private static let parts: [(recorded: [String], asked: [String], difference: String)] = [
        (
            ["GET", "http://a/x", ""], ["POST", "http://a/x", ""],
            "method: GET on the tape, POST now"
        ),
        (
            ["GET", "http://a/x", ""], ["GET", "https://a/x", ""],
            "host: http://a on the tape, https://a now"
        ),
        (
            ["GET", "http://a/x/y", ""], ["GET", "http://a/x/z", ""],
            #"path: "/x/y" on the tape, "/x/z" now"#
        ),
        (
            ["GET", "http://a/x?a=1&b=2", ""], ["GET", "http://a/x?a=1&b=3", ""],
            #"query.b: "2" on the tape, "3" now"#
        ),
        (
            ["GET", "http://a/x?a=1&b=2", ""], ["GET", "http://a/x?b=2", ""],
            #"query.a: "1" on the tape, missing now"#
        ),
        (
            ["GET", "http://a/x", ""], ["GET", "http://a/x?c", ""],
            #"query.c: not on the tape, "" now"#
        ),
        (
            ["GET", "http://a/x?a=1&b=2", ""], ["GET", "http://a/x?b=2&a=1", ""],
            "query.*: in another order"
        ),
        (
            ["POST", "http://a/x", "one two"], ["POST", "http://a/x", "one 2"],
            #"body: "two" on the tape, "2" now, from byte 4 on"#
        ),
        (
            ["POST", "http://a/x", "one"], ["POST", "http://a/x", "one2"],
            #"body: its end on the tape, "2" now, from byte 3 on"#
        ),
    ]

    @Test(arguments: parts)
    func `a request that differs is told in what`(
        recorded: [String],
        asked: [String],
        difference: String
    ) throws {
        let tape = try tape([entry(recorded[0], recorded[1], body: recorded[2])])
        let asked = try request(asked[0], asked[1], body: asked[2])
        #expect(tape.entry(for: asked, played: []) == nil)
        let miss = tape.miss(of: asked)
        #expect(miss.differences == [difference])
        #expect(miss.text.contains(difference) && miss.text.contains(asked.text))
        let part = try #require(difference.split(separator: ":").first)
        #expect(miss.sentence.hasSuffix("differs in: \(part)."))
    }

    @Test func `the nearest one differs in what matters least`() throws {
        let tape = try tape([
            entry("http://b/v1/users?a=1"), entry("DELETE", "http://a/v1/users"),
            entry("http://a/v1/users?a=2"), entry("http://a/v1/groups?a=1"),
        ])
        let nearest = try tape.miss(of: request("http://a/v1/users?a=1")).nearest
        #expect(nearest == "GET http://a/v1/users?a=2")
        let other = try tape.miss(of: request("http://a/v1/groups/7")).nearest
        #expect(other == "GET http://a/v1/groups?a=1")
    }

    @Test func `nothing on a tape acts on the terminal that shows a miss`() throws {
        let escape = "\u{1B}]0;x\u{7}"
        // As JSON, which a tape is.
        let raw = #"\u001b]0;x\u0007\u202e\n"#
        let url = "http://b/\(raw)?%1B%E2%80%AE%0A=1&\(raw)=2#\(raw)"
        let recorded = entry("GET", url, body: raw)
        let tape = try tape([recorded])
        var asked = try request("POST", "http://a/x?%1bq=3", body: escape)
        asked.target += "&\u{9B}=\u{202E}"
        let miss = tape.miss(of: asked)
        for text in miss.differences + [miss.request, miss.sentence, miss.nearest ?? ""] {
            #expect(LogText.isHarmless(text), "\(text.debugDescription)")
        }
        for line in miss.text.split(separator: "\n") {
            #expect(LogText.isHarmless(String(line)), "\(line.debugDescription)")
        }
        #expect(miss.nearest?.hasPrefix(#"GET http://b/\u001b]0;x\u0007\u202e\n?"#) == true)
        #expect(miss.differences.contains { $0.hasPrefix(#"query.\u001b\u202e\n: "1" on"#) })
    }

    @Test func `what the settings ignore may differ`() throws {
        var settings = TapeSettings()
        settings.ignore = [.query("ts"), .query("utm_*"), .body]
        let tape = try tape([entry("POST", "http://a/x?ts=1&b=2", body: "1")], settings)
        for url in ["http://a/x?b=2", "http://a/x?b=2&ts=9&utm_source=z", "http://a/x?ts&b=2"] {
            let asked = try request("POST", url, body: "2")
            #expect(tape.entry(for: asked, played: []) == 0, "\(url)")
        }
        let fewer = try request("POST", "http://a/x?ts=1", body: "1")
        #expect(tape.entry(for: fewer, played: []) == nil)
    }

    @Test func `fields count where the settings say so`() throws {
        let recorded = entry("http://a/x", fields: ["Accept": "a", "Date": "1"])
        let same = try request("http://a/x", fields: ["accept": "a", "Date": "2"])
        let other = try request("http://a/x", fields: ["Accept": "b"])
        let usual = try tape([recorded])
        #expect(usual.entry(for: other, played: []) == 0)
        var settings = TapeSettings()
        settings.match = [.header("*")]
        settings.ignore = [.header("date")]
        let strict = try tape([recorded], settings)
        #expect(strict.entry(for: same, played: []) == 0)
        #expect(strict.entry(for: other, played: []) == nil)
        let differences = strict.miss(of: other).differences
        #expect(differences == [#"header.accept: "a" on the tape, "b" now"#])
    }

    /// What means the same, in two spellings.
    @Test(
        arguments: [
            ("http://a/%7Eu/%2fx", "http://a/~u/%2Fx", "", "", ""),
            ("http://a/b/../c", "http://a/c", "", "", ""),
            ("http://a/x?q=a+b%7e", "http://a/x?q=a%20b~", "", "", ""),
            ("http://a/x?%71=%2f", "http://a/x?q=%2F", "", "", ""),
            (
                "http://a/x", "http://a/x", "a=b+c&d=%7e%2f&e", "a=b%20c&%64=~%2F&e",
                "application/x-www-form-urlencoded; charset=UTF-8"
            ),
            (
                "http://a/x", "http://a/x",
                "--x1\\r\\nA: b\\r\\n\\r\\none--x1\\r\\n--x1--\\r\\n",
                "--y2z\r\nA: b\r\n\r\none--x1\r\n--y2z--\r\n", "multipart/form-data; boundary="
            ),
        ] as [(String, String, String, String, String)]
    )
    func `spellings that mean the same are the same`(
        row: (recorded: String, asked: String, body: String, now: String, type: String)
    ) throws {
        func fields(_ boundary: String) -> [String: String] {
            if row.type.isEmpty { return [:] }
            return ["Content-Type": row.type.hasSuffix("=") ? row.type + boundary : row.type]
        }
        var settings = TapeSettings()
        settings.match = [.header("content-type")]
        let entry = entry("POST", row.recorded, body: row.body, fields: fields("x1"))
        let tape = try tape([entry], settings)
        let asked = try request("POST", row.asked, body: row.now, fields: fields("\"y2z\""))
        #expect(tape.entry(for: asked, played: []) == 0, "\(tape.miss(of: asked).differences)")
        let other = try request("POST", row.asked, body: row.now + "&z", fields: fields("y2z"))
        #expect(tape.entry(for: other, played: []) == nil)
    }

    @Test func `what means something else is something else`() throws {
        let form = ["Content-Type": "application/x-www-form-urlencoded"]
        for (recorded, asked) in [("/a+b", "/a%20b"), ("/a%2Fb", "/a/b"), ("/x?a=%26b", "/x?a=&b")]
        {
            let tape = try tape([entry("http://a\(recorded)")])
            #expect(try tape.entry(for: request("http://a\(asked)"), played: []) == nil)
        }
        for (recorded, asked) in [("a=%26b", "a=&b"), ("a=1&b=2", "b=2&a=1"), ("a", "a=")] {
            let tape = try tape([entry("POST", "http://a/x", body: recorded, fields: form)])
            let request = try request("POST", "http://a/x", body: asked, fields: form)
            #expect(tape.entry(for: request, played: []) == nil, "\(recorded)")
        }
        let plain = try tape([entry("POST", "http://a/x", body: "a+b")])
        #expect(
            try plain.entry(for: request("POST", "http://a/x", body: "a%20b"), played: []) == nil
        )
    }

    @Test func `what was masked matches anything`() throws {
        let tape = try tape([
            entry("POST", "http://a/REDACTED.12ab/x?token=REDACTED.12ab", body: "k=REDACTED.00ff&z")
        ])
        let asked = try request("POST", "http://a/key/x?token=other", body: "k=secret&z")
        #expect(tape.entry(for: asked, played: []) == 0)
    }

    /// Where a mask stands on the tape, with the difference elsewhere or in the same text.
    private static let secretParts: [(url: String, body: String, now: String, nowBody: String)] = [
        ("/x?token=REDACTED.12ab&b=1", "", "/x?token=SECRET&b=2", ""),
        ("/k-REDACTED.12ab", "", "/l-SECRET", ""),
        ("/x?id=a-REDACTED.12ab", "", "/x?id=b-SECRET", ""),
        ("/x", "t=REDACTED.12ab&b=1", "/x", "t=SECRET&b=2"),
        ("/x", "b=1&t=REDACTED.12ab", "/x", "b=2&t=SECRET"),
    ]

    @Test(arguments: secretParts.indices)
    func `a miss quotes no secret for which the tape has a mask`(index: Int) throws {
        let part = Self.secretParts[index]
        let tape = try tape([entry("POST", "http://a\(part.url)", body: part.body)])
        let asked = try request("POST", "http://a\(part.now)", body: part.nowBody)
        let differences = tape.miss(of: asked).differences
        #expect(differences.count == 1 && !"\(differences)".contains("SECRET"), "\(differences)")
    }

    @Test func `a miss shows what is masked as the tape does, and the difference behind it`() throws
    {
        let recorded = #"{"token":"REDACTED.12ab","x":"one"}"#
        let tape = try tape([entry("POST", "http://a/x?token=REDACTED.12ab", body: recorded)])
        let asked = try request(
            "POST",
            "http://a/x?token=SECRET",
            body: #"{"token":"SECRET","x":"two"}"#,
            fields: ["Authorization": "Bearer SECRET"]
        )
        let miss = tape.miss(of: asked.masked(by: makeRedactor()))
        #expect(!miss.text.contains("SECRET"), "\(miss.text)")
        #expect(miss.differences == [#"body: "one"}" on the tape, "two"}" now, from byte 30 on"#])
    }

    @Test func `a body that was not recorded to its end matches what begins like it`() throws {
        let unread = #"{"name":"Content-Length","value":"3"}"#
        let text = #"""
            {"request":{"method":"PUT","url":"http://a/","headers":[\#(unread)]},\#
            "response":{"status":200}}
            """#
        let tape = try tape([text])
        #expect(try tape.entry(for: request("PUT", "http://a/", body: "abc"), played: []) == 0)
    }

    @Test(
        arguments: [
            ("query.ts", .query("ts")), ("query.a.b", .query("a.b")), ("header.X", .header("X")),
            ("body", .body), ("query.", nil), ("query", nil), ("header.a b", nil), ("Body", nil),
        ] as [(String, TapePart?)]
    )
    func `a part is read`(text: String, part: TapePart?) {
        #expect(TapePart(text) == part)
    }
}
