// Answers of the admin interface for tests of the inspector, and a way to press keys.
import LupinConsole

/// An inspector with the answers that a test gives it.
struct InspectedExchanges {
    var inspector: ExchangeInspector
    private var decoder = KeyDecoder()

    init(rows: Int = 24, columns: Int = 80) {
        inspector = ExchangeInspector(rows: rows, columns: columns)
    }

    /// The screen as text.
    var lines: [String] { inspector.screen().lines.map(\.text) }

    var list: [String] { Array(lines.dropFirst(2).prefix { !$0.isEmpty }) }

    /// Presses keys; returns what the inspector wants done.
    mutating func press(_ text: String) -> [InspectorDemand] {
        decoder.feed(Array(text.utf8)).flatMap { inspector.take($0) }
    }

    /// Answers the questions of a second with these records.
    mutating func poll(_ records: [String], live: [String] = []) {
        for demand in inspector.tick(now: 0) {
            guard case .ask(.live) = demand else { continue }
            answerLive(records, live: live)
        }
    }

    mutating func answerLive(_ records: [String], live: [String] = []) {
        let answer = "{\"exchanges\":[\(live.joined(separator: ","))]}"
        for next in give(answer, to: .live) {
            guard case .ask(let request) = next else { continue }
            let lines = records.map { "\($0)\n" }.joined()
            _ = inspector.take(
                InspectorAnswer(status: 200, lastID: "last", body: Array(lines.utf8)),
                to: request
            )
        }
    }

    mutating func give(
        _ body: String,
        status: Int = 200,
        to request: InspectorRequest
    ) -> [InspectorDemand] {
        inspector.take(InspectorAnswer(status: status, body: Array(body.utf8)), to: request)
    }

    static func id(_ number: Int) -> String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: 8 - digits.count) + digits
            + String(repeating: "f", count: 24)
    }

    static func record(
        _ number: Int,
        url: String? = nil,
        status: Int = 200,
        outcome: String = "ok"
    ) -> String {
        let second = number % 60 < 10 ? "0\(number % 60)" : "\(number % 60)"
        let address = url ?? "https://api.acme.dev/v1/users/\(number)"
        return """
            {"schema":1,"ts":"2026-11-20T22:41:\(second).123456Z","event":"exchange",\
            "id":"\(id(number))","outcome":"\(outcome)","client":{"address":"127.0.0.1"},\
            "http":{"request":{"method":"GET"},"response":{"status_code":\(status),\
            "body":{"size":5120}}},"url":{"full":"\(address)","scheme":"https",\
            "domain":"api.acme.dev"},"rules":{"matched":["everyone"]},\
            "attempts":[{"n":1,"why":"first","timing":{"dns":10,"wait":200,"total":210}}],\
            "timing":{"total":\(number * 10)}}
            """
    }

    static func live(_ number: Int) -> String {
        """
        {"id":"\(id(number))","ts":"2026-11-20T22:41:00.000000Z","elapsed":1500,\
        "waits_for":"response_head","method":"GET","url":"http://slow.example/\(number)",\
        "host":"slow.example","bytes":{"client_in":1,"client_out":0}}
        """
    }

    static func detail(_ number: Int, _ more: String = "") -> String {
        """
        {"record":\(record(number)),\
        "request":{"method":"GET","target":"/v1/users","fields":[["Host","api.acme.dev"],\
        ["User-Agent","curl/8"],["Connection","close"],["Cookie","a=b"]]},\
        "sent":{"method":"GET","target":"/v2/users","fields":[["Host","api.acme.dev"],\
        ["User-Agent","lupin"],["X-Team","blue"]]},\
        "response":{"status":200,"fields":[["Content-Type","application/json"]]}\(more)}
        """
    }
}
