// An origin that fails as a test says, request after request, and keeps what it was asked.
import LupinTestKit
import Synchronization
import Testing

/// Serves one request after the other with the next of its deeds, whatever connection it comes on;
/// the last deed is for all that follow.
final class FlakyOrigin: Sendable {
    enum Deed: Sendable, CustomTestStringConvertible {
        /// Read it whole, then RST.
        case reset
        /// Read it whole, then FIN.
        case close
        /// These bytes and FIN behind them.
        case breakOff(String)
        /// These bytes.
        case say(String)
        /// Nothing more.
        case stall

        var testDescription: String {
            switch self {
            case .reset: "RST"
            case .close: "FIN"
            case .breakOff(let text): "breaks off: \(text.prefix(24).debugDescription)"
            case .say(let text): text.prefix { $0 != "\r\n" }.debugDescription
            case .stall: "silence"
            }
        }

        static func status(_ status: Int, _ fields: String..., body: String = "") -> Deed {
            let lines = fields.map { $0 + "\r\n" }.joined()
            return .say(
                "HTTP/1.1 \(status) X\r\nContent-Length: \(body.utf8.count)\r\n\(lines)\r\n\(body)"
            )
        }

        static let good = status(200, body: "good")
    }

    private struct State {
        var deeds: [Deed]
        var requests: [ScriptedMessage] = []
    }

    private let state: Mutex<State>
    private let resets = Mutex(0)

    /// How many connections have been reset.
    var resetCount: Int { resets.withLock { $0 } }

    init(_ deeds: [Deed]) { state = Mutex(State(deeds: deeds)) }

    /// All requests that came whole, in the order of their ends.
    var requests: [ScriptedMessage] { state.withLock { $0.requests } }
    /// How many came whole.
    var asked: Int { requests.count }

    func serve(_ connection: OriginConnection) {
        while let request = try? connection.nextRequest() {
            switch take(request) {
            case .reset:
                connection.reset()
                return resets.withLock { $0 += 1 }
            case .close: return connection.close()
            case .breakOff(let text):
                try? connection.send(text)
                return connection.close()
            case .say(let text):
                // Whoever asked may have left.
                guard (try? connection.send(text)) != nil else { return connection.close() }
            case .stall: continue
            }
        }
    }

    private func take(_ request: ScriptedMessage) -> Deed {
        state.withLock { state in
            state.requests.append(request)
            guard let deed = state.deeds.first else { return .good }
            if state.deeds.count > 1 { state.deeds.removeFirst() }
            return deed
        }
    }
}

extension ProxyFixture {
    /// An origin that does one deed after the other, and where it is.
    func flaky(_ deeds: FlakyOrigin.Deed...) throws -> (FlakyOrigin, ScriptedOrigin) {
        let flaky = FlakyOrigin(deeds)
        return (flaky, try origin { flaky.serve($0) })
    }
}

/// Rules with one rule for every request.
func everywhere(_ keys: String, _ settings: String = "") -> String {
    "\(settings)\nrules: [{name: all, match: {path: /**}, \(keys)}]"
}
