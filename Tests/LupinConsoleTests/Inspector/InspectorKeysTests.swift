// What keys and answers do to the inspector: selection, pause, filters, sending again.
import LupinConsole
import LupinCore
import Testing

struct InspectorKeysTests {
    private typealias Fixture = InspectedExchanges

    private func filled(_ count: Int) -> Fixture {
        var fixture = Fixture()
        fixture.poll((1...count).map { Fixture.record($0) })
        return fixture
    }

    private func selected(_ fixture: Fixture) -> String? { fixture.inspector.list.selected?.id }

    @Test func `it follows until a key moves the selection, which then stays at its exchange`() {
        var fixture = filled(30)
        #expect(selected(fixture) == Fixture.id(30))
        fixture.poll([Fixture.record(31)])
        #expect(selected(fixture) == Fixture.id(31))
        _ = fixture.press("k")
        fixture.poll([Fixture.record(32), Fixture.record(33)], live: [Fixture.live(40)])
        #expect(selected(fixture) == Fixture.id(30))
        _ = fixture.press("\u{1B}[F")
        #expect(selected(fixture) == Fixture.id(33))
    }

    @Test func `one under way stays selected when it ends`() {
        var fixture = filled(3)
        fixture.poll([], live: [Fixture.live(9), Fixture.live(10)])
        _ = fixture.press("j")
        #expect(selected(fixture) == Fixture.id(9))
        #expect(fixture.press("x") == [.ask(.cancel(id: Fixture.id(9)))])
        fixture.poll([Fixture.record(4), Fixture.record(9)], live: [Fixture.live(10)])
        #expect(selected(fixture) == Fixture.id(9))
        #expect(fixture.inspector.list.selected?.isLive == false)
        #expect(fixture.press("x") == [])
        #expect(fixture.lines[22] == "It has ended already.")
    }

    @Test func `a paused list keeps its rows, and goes on with all that came`() {
        var fixture = filled(3)
        _ = fixture.press(" ")
        fixture.poll([Fixture.record(4), Fixture.record(5)])
        #expect(fixture.list.count == 3)
        #expect(fixture.lines[0].hasPrefix(" lupin  paused, 2 new  3 exchanges"))
        _ = fixture.press(" ")
        #expect(fixture.list.count == 5)
    }

    @Test func `ten thousand rows are held, the latest ones`() {
        var fixture = Fixture()
        for start in stride(from: 0, to: 12_000, by: 1000) {
            fixture.poll((start..<start + 1000).map { Fixture.record($0) })
        }
        #expect(fixture.inspector.list.ended.count == 10_000)
        #expect(fixture.inspector.list.ended.first?.id == Fixture.id(2000))
        #expect(fixture.press("g") == [])
    }

    @Test func `older rows are fetched at the start of the list`() {
        var fixture = filled(3)
        let demands = fixture.press("g")
        let request = InspectorRequest.older(filter: "", before: Fixture.id(1), turn: 0)
        #expect(demands == [.ask(request)])
        #expect(fixture.press("k") == [])
        _ = fixture.give(Fixture.record(0) + "\n", to: request)
        #expect(selected(fixture) == Fixture.id(1) && fixture.list.count == 4)
    }

    @Test func `a wrong filter stays in the prompt, a right one is asked for`() {
        var fixture = filled(3)
        #expect(fixture.press("/statu:1\r") == [])
        #expect(fixture.lines[20].contains("did you mean status?"))
        #expect(fixture.lines[22] == "/statu:1")
        #expect(fixture.press("\u{15}status:5xx rule:\"a b\"\r") == [.ask(.live)])
        #expect(fixture.inspector.filter == "status:5xx rule:\"a b\"")
        let next = fixture.give("{}", to: .live)
        guard case .ask(let request)? = next.first else {
            Issue.record("no question")
            return
        }
        #expect(
            request.path == "/v1/exchanges?format=lines&limit=1000"
                + "&filter=status%3A5xx%20rule%3A%22a%20b%22"
        )
        // What comes late for the filter before.
        _ = fixture.give(
            Fixture.record(7) + "\n",
            to: .rows(filter: "", after: "last", turn: 0)
        )
        #expect(fixture.inspector.list.count == 0)
        _ = fixture.give(Fixture.record(8, status: 500) + "\n", to: request)
        #expect(fixture.list.count == 1)
        #expect(fixture.lines[0].contains("filter status:5xx"))
        #expect(fixture.press("/\u{15}\r") == [.ask(.live)])
        #expect(fixture.inspector.filter == "")
    }

    @Test func `a request is sent again, and its exchange is selected when it comes`() {
        var fixture = filled(3)
        let json = Array("{\"of\":\"\(Fixture.id(3))\"}".utf8)
        #expect(fixture.press("s") == [.ask(.send(json: json))])
        _ = fixture.give(
            "{\"id\":\"\(Fixture.id(5))\"}",
            status: 202,
            to: .send(json: json)
        )
        #expect(fixture.lines[22] == "Sent again as 00000005.")
        _ = fixture.press("k")
        fixture.poll([Fixture.record(4), Fixture.record(5), Fixture.record(6)])
        #expect(selected(fixture) == Fixture.id(5))
        _ = fixture.give("{\"error\":\"no\"}", status: 503, to: .send(json: json))
        #expect(fixture.lines[22] == "no")
    }

    @Test func `a request is copied as a command and shown`() {
        var fixture = filled(3)
        let request = InspectorRequest.detailForCurl(id: Fixture.id(3))
        #expect(fixture.press("y") == [.ask(request)])
        guard case .copy(let text)? = fixture.give(Fixture.detail(3), to: request).first else {
            Issue.record("nothing is copied")
            return
        }
        #expect(text.hasPrefix("curl -X GET"))
        #expect(fixture.lines[2] == " curl -X GET \\")
        let copied = String(decoding: ScreenPainter.clipboard("hi"), as: UTF8.self)
        #expect(copied == "\u{1B}]52;c;aGk=\u{1B}\\")
    }

    @Test func `capture is turned on for a host, and off`() {
        var fixture = filled(1)
        let request = InspectorRequest.capture(host: "api.acme.dev")
        #expect(fixture.press("c") == [.ask(request)])
        let on = InspectorRequest.setCapture(hosts: ["a", "api.acme.dev"], host: "api.acme.dev")
        #expect(fixture.give(#"{"hosts":["a"]}"#, to: request) == [.ask(on)])
        #expect(on.body == Array(#"{"hosts":["a","api.acme.dev"]}"#.utf8))
        _ = fixture.give("{}", to: on)
        #expect(fixture.lines[22].hasPrefix("Capture is on for api.acme.dev"))
        let off = InspectorRequest.setCapture(hosts: [], host: "api.acme.dev")
        #expect(fixture.give(#"{"hosts":["api.acme.dev"]}"#, to: request) == [.ask(off)])
    }

    @Test func `a lupin that is gone is told of, and asked again`() {
        var fixture = filled(1)
        #expect(fixture.inspector.tick(now: 0) == [.ask(.live)])
        #expect(fixture.inspector.tick(now: 0) == [])
        fixture.inspector.take(failure: "no lupin answers", of: .live)
        #expect(fixture.lines[22] == "no lupin answers; trying again")
        #expect(fixture.inspector.tick(now: 0) == [.ask(.live)])
        fixture.answerLive([])
        #expect(fixture.lines[22].isEmpty)
    }

    @Test func `q and Ctrl-C leave, but a paste does nothing`() {
        var fixture = filled(1)
        #expect(fixture.press("q") == [.leave])
        #expect(fixture.press("\u{3}") == [.leave])
        #expect(fixture.press("\u{1A}") == [.suspend])
        #expect(fixture.press("/q") == [])
        #expect(fixture.press("\u{3}") == [.leave])
        var other = filled(1)
        #expect(other.press("\u{1B}[200~qxs\u{1B}[201~") == [])
    }
}
