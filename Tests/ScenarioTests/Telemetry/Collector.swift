// An OpenTelemetry collector that answers as a test says, and keeps what it got.
import Glibc
import LupinCore
import LupinTestKit
import Synchronization
import Testing

/// Takes messages on a port of the kernel's choice.
///
/// It is there before the proxy, whose rules name it.
final class Collector: Sendable {
    enum Answer: Sendable {
        case take
        /// The connection stays open, and the next message may come on it.
        case keep
        /// The same, but then the connection is closed, and nobody was told that.
        case leave
        /// Closes the connection in the place of an answer.
        case drop
        case status(Int, [String])
        /// Nothing at all.
        case hang
    }

    private struct State {
        var answers: [Answer]
        var messages: [ScriptedMessage] = []
        /// Connections that are over, wait in vain, or have had an answer.
        var settled = 0
    }

    private let state: Mutex<State>
    private let origin: ScriptedOrigin
    private let scheme: String

    /// Answers one message after the other; the last answer is for all that follow.
    private init(_ answers: [Answer], _ security: SecureSocket.Server?) throws {
        let box = CollectorBox()
        scheme = security == nil ? "http" : "https"
        origin = try ScriptedOrigin(security: security) { try box.collector()?.serve($0) }
        state = Mutex(State(answers: answers))
        box.set(self)
    }

    /// Runs `body` with a collector that is gone afterwards.
    static func run(
        _ answers: Answer...,
        security: SecureSocket.Server? = nil,
        body: (Collector) async throws -> Void
    ) async throws {
        let collector = try Collector(answers, security)
        defer { collector.origin.stop() }
        try await body(collector)
    }

    var url: String { "\(scheme)://\(origin.authority)" }
    var address: String { origin.authority }

    /// Everything that came so far.
    var messages: [ScriptedMessage] { state.withLock { $0.messages } }
    /// Whether a message is on its way, or its answer.
    var isBusy: Bool { origin.connections.count > state.withLock { $0.settled } }
    /// How many connections there were so far.
    var connectionCount: Int { origin.connections.count }
    /// Every byte of it.
    var text: String { origin.receivedText }

    func messages(to path: String) -> [ScriptedMessage] { messages.filter { $0.target == path } }

    /// The spans of all messages, in the order in which they came.
    var spans: [ReceivedSpan] {
        messages(to: "/v1/traces").flatMap { message in
            JSONValue.items("resourceSpans", "scopeSpans", "spans", of: message)
                .map(ReceivedSpan.init)
        }
    }

    /// The names of all metrics.
    var metricNames: Set<String> {
        Set(
            messages(to: "/v1/metrics").flatMap {
                JSONValue.items("resourceMetrics", "scopeMetrics", "metrics", of: $0)
            }.compactMap { $0["name"]?.string }
        )
    }

    var logs: [JSONValue] {
        messages(to: "/v1/logs").flatMap {
            JSONValue.items("resourceLogs", "scopeLogs", "logRecords", of: $0)
        }
    }

    private func serve(_ connection: OriginConnection) throws {
        var isSettled = false
        func settleOnce() {
            if !isSettled { settle() }
            isSettled = true
        }
        defer { settleOnce() }
        while let request = try connection.nextRequest() {
            switch take(request) {
            case .take:
                let fields = ["Content-Type: application/json", "Connection: close"]
                try connection.reply(200, fields[0], fields[1], body: "{}")
            case .keep:
                try connection.reply(200, "Content-Type: application/json", body: "{}")
                settleOnce()
            case .leave:
                try connection.reply(200, "Content-Type: application/json", body: "{}")
                return connection.shutdownWrite()
            case .drop: return connection.shutdownWrite()
            case .status(let status, let fields):
                let lines = (fields + ["Connection: close"]).map { $0 + "\r\n" }.joined()
                try connection.send("HTTP/1.1 \(status) X\r\nContent-Length: 0\r\n\(lines)\r\n")
            case .hang: settleOnce()
            }
        }
    }

    private func settle() { state.withLock { $0.settled += 1 } }

    private func take(_ request: ScriptedMessage) -> Answer {
        state.withLock { state in
            state.messages.append(request)
            guard let answer = state.answers.first else { return .take }
            if state.answers.count > 1 { state.answers.removeFirst() }
            return answer
        }
    }
}

/// The collector for the script of its own origin.
private final class CollectorBox: Sendable {
    private let content = Mutex<Collector?>(nil)

    func set(_ collector: Collector) { content.withLock { $0 = collector } }

    func collector() -> Collector? { content.withLock { $0 } }
}

/// A span as it came to the collector.
struct ReceivedSpan {
    let json: JSONValue

    var name: String { json["name"]?.string ?? "" }
    var trace: String { json["traceId"]?.string ?? "" }
    var id: String { json["spanId"]?.string ?? "" }
    var parent: String { json["parentSpanId"]?.string ?? "" }
    var isServer: Bool { json["kind"]?.number == 2 }
    var isClient: Bool { json["kind"]?.number == 3 }

    /// An attribute as text.
    subscript(_ name: String) -> String? {
        let all = json["attributes"]?.list ?? []
        guard let value = all.first(where: { $0["key"]?.string == name })?["value"] else {
            return nil
        }
        return value["stringValue"]?.string ?? value["intValue"]?.string
    }
}

extension JSONValue {
    /// The items of a message of OTLP: groups of groups of them.
    static func items(
        _ resources: String,
        _ scopes: String,
        _ items: String,
        of message: ScriptedMessage
    ) -> [JSONValue] {
        guard let value = JSONValue(parsing: message.body.span) else { return [] }
        return (value[resources]?.list ?? [])
            .flatMap { $0[scopes]?.list ?? [] }
            .flatMap { $0[items]?.list ?? [] }
    }
}

extension ProxyFixture {
    /// Moves time until the collector has what the test waits for.
    ///
    /// Time stands still while a message is on its way: a busy machine must not make it late.
    func export(
        to collector: Collector,
        by step: Duration = .milliseconds(250),
        until what: String,
        _ condition: () -> Bool
    ) throws {
        let clock = try #require(clock)
        try eventually(what) {
            if condition() { return true }
            if !collector.isBusy { try? clock.advance(by: step) }
            usleep(1000)
            return condition()
        }
    }
}
