// Whole screens of the inspector as lines of text, at 80 × 24 and 40 × 10.
import LupinConsole
import LupinCore
import Testing

struct InspectorScreenTests {
    private typealias Fixture = InspectedExchanges

    @Test func `the list fits 80 columns`() {
        var fixture = Fixture()
        let wide = Fixture.record(2, url: "http://例え.example/日本語/とても長い道/の/終わり?x=1")
        fixture.poll(
            [
                Fixture.record(1), wide,
                Fixture.record(3, url: "http://h/", status: 502, outcome: "error"),
            ],
            live: [Fixture.live(9)]
        )
        let lines = fixture.lines
        #expect(lines.count == 24)
        #expect(lines[0].hasPrefix(" lupin  following  3 exchanges  1 under way  "))
        #expect(lines[0].count == 80)
        let title = "time         method  host and path                     took   size rules"
        #expect(lines[1].hasPrefix(title))
        let first = "22:41:01 200 GET     api.acme.dev/v1/users/1           10ms   5.0K everyone"
        #expect(lines[2].hasPrefix(first))
        #expect(lines[3].hasPrefix("22:41:02 200 GET     例え.example/日本語/…"))
        #expect(ScreenText.width(of: lines[3]) == 80)
        #expect(lines[3].contains(" 20ms   5.0K everyone"))
        #expect(lines[4].hasPrefix("22:41:03 502 GET     h/ "))
        #expect(lines[5].hasPrefix("22:41:00 …   GET     slow.example/9 "))
        #expect(lines[6...22].allSatisfy { $0.isEmpty })
        #expect(lines[23].hasPrefix(" Enter open  / filter  Space pause "))
        #expect(lines[23].hasSuffix(" ? keys  q quit "))
        #expect(fixture.inspector.screen().lines[4].isSelected)
    }

    @Test func `the list fits 40 columns and 10 rows`() {
        var fixture = Fixture(rows: 10, columns: 40)
        fixture.poll((1...20).map { Fixture.record($0) })
        let lines = fixture.lines
        #expect(lines.count == 10)
        #expect(lines.allSatisfy { ScreenText.width(of: $0) <= 40 })
        #expect(lines[0].hasPrefix(" lupin  following  20 exchanges"))
        #expect(lines[1].hasPrefix("    method  host and path           took"))
        #expect(lines[2] == "200 GET     api.acme.dev/v…ers/15  150ms")
        #expect(lines[7].hasSuffix(" 200ms"))
        #expect(lines[9].hasSuffix(" ? keys  q quit "))
    }

    @Test(arguments: [(24, 80), (10, 40), (50, 200), (6, 20), (3, 10), (1, 1)])
    func `every screen has its size, whatever is open`(sample: (rows: Int, columns: Int)) {
        var fixture = Fixture(rows: sample.rows, columns: sample.columns)
        func check(_ name: String) {
            let lines = fixture.lines
            #expect(lines.count == sample.rows, "\(name)")
            for line in lines {
                #expect(ScreenText.width(of: line) <= sample.columns, "\(name): \(line)")
            }
        }
        check("empty")
        fixture.poll((1...30).map { Fixture.record($0) }, live: (40...60).map(Fixture.live))
        check("list")
        _ = fixture.press("/hots:x\r")
        check("filter")
        _ = fixture.press("\u{3}\u{15}\r?")
        check("keys")
        _ = fixture.press("q\r")
        let id = fixture.inspector.list.selected?.id ?? ""
        _ = fixture.give(Fixture.detail(30), to: .detail(id: id))
        for tab in 1...6 {
            _ = fixture.press("\(tab)")
            check("tab \(tab)")
        }
    }

    @Test func `an open exchange shows what the rules changed`() {
        var fixture = Fixture()
        fixture.poll([Fixture.record(1)])
        #expect(fixture.press("\r") == [.ask(.detail(id: Fixture.id(1)))])
        _ = fixture.give(Fixture.detail(1), to: .detail(id: Fixture.id(1)))
        let lines = fixture.lines
        #expect(lines[0].hasPrefix(" GET 200 api.acme.dev/v1/users/1 "))
        #expect(lines[0].hasSuffix("  10ms  5.0KiB  00000001 "))
        #expect(lines[1] == " 1 Request  2 Response  3 Body  4 Waterfall  5 Explain ")
        #expect(lines[2] == "GET https://api.acme.dev/v1/users/1")
        #expect(lines.contains("request of the client, and what became of it"))
        let marked = lines.drop { !$0.hasPrefix("request of") }.dropFirst().prefix { !$0.isEmpty }
        #expect(
            Array(marked) == [
                "− GET /v1/users", "+ GET /v2/users", "  Host: api.acme.dev",
                "~ User-Agent: lupin", "      was: curl/8", "· Connection: close",
                "− Cookie: a=b", "+ X-Team: blue",
            ]
        )
        _ = fixture.press("2")
        #expect(fixture.lines.contains("  Content-Type: application/json"))
        _ = fixture.press("4")
        #expect(fixture.lines[2...6].contains { $0.hasPrefix("  wait       200ms  ") })
        _ = fixture.inspector.take(.escape)
        #expect(fixture.lines[0].hasPrefix(" lupin "))
    }

    @Test func `a body is fetched when it is shown, and says what it is`() {
        var fixture = Fixture()
        fixture.poll([Fixture.record(1)])
        _ = fixture.press("\r3")
        _ = fixture.give(Fixture.detail(1), to: .detail(id: Fixture.id(1)))
        #expect(fixture.lines[2] == "No body is captured of this exchange.")
        #expect(fixture.lines[3].hasPrefix("Press c to turn capture on for api.acme.dev: "))
        let bodies = """
            ,"bodies":[{"side":"request","bytes":3,"kept":3,"type":"text/plain"},\
            {"side":"response","bytes":99,"kept":40,"truncated":"limit",\
            "type":"application/json","coding":"gzip"}]
            """
        let demands = fixture.give(Fixture.detail(1, bodies), to: .detail(id: Fixture.id(1)))
        let request = InspectorRequest.body(id: Fixture.id(1), side: "response")
        #expect(demands == [.ask(request)])
        _ = fixture.give(#"{"a":[1.10,{}],"b":"x\u001b"}"#, to: request)
        #expect(
            Array(fixture.lines[2...10]) == [
                " request 3B   response 99B  ",
                "application/json, gzip undone, the first 40B are kept (limit), shown as JSON", "",
                "{", "  \"a\": [", "    1.10,", "    {}", "  ],", "  \"b\": \"x\\u001b\"",
            ]
        )
        _ = fixture.press("vv")
        #expect(fixture.lines[5].hasPrefix("00000000  7b 22 61 22 3a 5b 31 2e "))
        #expect(
            fixture.press("\u{1B}[C") == [.ask(.body(id: Fixture.id(1), side: "request"))]
        )
    }

    @Test func `messages and an explanation have tabs of their own`() {
        var fixture = Fixture()
        fixture.poll([Fixture.record(1)])
        _ = fixture.press("\r")
        _ = fixture.give(Fixture.detail(1, #","messages":2"#), to: .detail(id: Fixture.id(1)))
        #expect(fixture.lines[1].hasSuffix(" 6 Messages "))
        let request = InspectorRequest.messages(id: Fixture.id(1), after: 0)
        #expect(fixture.press("6") == [.ask(request)])
        _ = fixture.give(
            """
            {"messages":[{"number":1,"time":"2026-11-20T22:41:07.123456Z","from":"client",\
            "kind":"text","bytes":2,"truncated":false,"text":"hi"},{"number":2,\
            "time":"2026-11-20T22:41:08.123456Z","from":"origin","kind":"binary","bytes":2,\
            "truncated":true,"base64":"AAE="}]}
            """,
            to: request
        )
        #expect(
            Array(fixture.lines[2...6]) == [
                "22:41:07.123 → to the origin text 2B", "  hi", "",
                "22:41:08.123 ← to the client binary 2B, not whole",
                "  00000000  00 01\(String(repeating: " ", count: 44))..",
            ]
        )
        #expect(fixture.press("5") == [.ask(.explain(id: Fixture.id(1)))])
        _ = fixture.give("end\n  \u{1B}[2Jdone\n", to: .explain(id: Fixture.id(1)))
        #expect(Array(fixture.lines[2...3]) == ["end", "  \\u001b[2Jdone"])
    }

    @Test func `a message of gRPC shows its fields, and other bytes their digits`() {
        var fixture = Fixture()
        fixture.poll([Fixture.record(1)])
        _ = fixture.press("\r")
        _ = fixture.give(Fixture.detail(1, #","messages":2"#), to: .detail(id: Fixture.id(1)))
        let request = InspectorRequest.messages(id: Fixture.id(1), after: 0)
        _ = fixture.press("6")
        func message(_ number: Int, _ bytes: [UInt8]) -> String {
            let base64 = Base64Text.encode(bytes)
            return """
                {"number":\(number),"time":"2026-11-20T22:41:07.123456Z","from":"origin",\
                "kind":"protobuf","bytes":\(bytes.count),"truncated":false,"base64":"\(base64)"}
                """
        }
        let list = [message(1, [0x08, 0x96, 0x01]), message(2, [0x00, 0x01])]
        _ = fixture.give(#"{"messages":[\#(list.joined(separator: ","))]}"#, to: request)
        let text = fixture.lines.joined(separator: "\n")
        #expect(text.contains("protobuf 3B") && text.contains("  1: 150"))
        #expect(text.contains("00000000  00 01"))
    }
}
